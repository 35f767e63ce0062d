/** The content hashes of lists, from which their ETags are made. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { hashBytes, hexOf } from '#lib/format/content-hash.ts';
import { BodyWriter } from '#proxy/api/bodies.ts';

function hashOfList(entries: readonly string[], numbers: readonly number[]): string {
  const body = new BodyWriter();
  for (const entry of entries) body.addJson(Buffer.from(entry));
  return hexOf(body.finish(numbers).hash);
}

test('the hash of a list changes with its entries, their order, and each digit of its numbers', () => {
  const lists: [string[], number[]][] = [[[], []]];
  for (const entries of [['1'], ['1', '2'], ['2', '1'], ['2', '1', '1']]) {
    for (const total of [0, 1, 2 ** 32, 2 ** 40 + 1, 2 ** 53 - 1]) {
      lists.push(
        [entries, [1, 50, total]],
        [entries, [50, 1, total]],
        [entries, [1, 50, total, 0]],
      );
    }
  }
  expect(new Set(lists.map((list) => hashOfList(...list))).size).toBe(lists.length);
});

test('the hash of a list is the same in every release, so that clients can keep their copies', () => {
  const hashed = Uint32Array.from([...hashBytes('{"id":1}'), 0, 3, 2 ** 8, 7]);
  const expected = createHash('sha256').update(hashed).digest('hex').slice(0, 16);
  expect(hashOfList(['{"id":1}'], [3, 2 ** 40 + 7])).toBe(expected);
});

test('bodies that are written at the same time do not mix', () => {
  const [one, other] = [new BodyWriter(), new BodyWriter()];
  for (const text of ['a', 'b']) {
    one.addText(text);
    other.addText(text.toUpperCase());
  }
  expect([`${other.finish([]).bytes}`, `${one.finish([]).bytes}`]).toEqual(['AB', 'ab']);
});
