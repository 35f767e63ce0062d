/** Content hashes, and the names that become paths. */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { combineHashes, hashBytes, hexOf } from '#lib/format/content-hash.ts';
import { coversPack, gamesPack, generationId, isGenerationId, isSlug } from '#lib/format/layout.ts';

test('a content hash is the first 64 bits of the SHA-256, the same for a text and its bytes', () => {
  const texts = ['', 'a', 'é𠮷', '\0', 'x'.repeat(100_000), ...Array.from({ length: 200 }, String)];
  for (const text of texts) {
    const bytes = Buffer.from(text);
    const expected = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    expect(hexOf(hashBytes(text))).toBe(expected);
    expect(hashBytes(bytes)).toEqual(hashBytes(text));
  }
  expect(hexOf([1, 2 ** 32 - 1])).toBe('00000001ffffffff');
});

test('the hash of a list changes with its records, their order, the page and the total', () => {
  const random = makeRandom(1);
  const seen = new Map<string, string>();
  const note = (hashes: readonly number[], numbers: readonly number[]) => {
    const hex = hexOf(combineHashes(Uint32Array.from(hashes), numbers));
    expect(hex).toMatch(/^[0-9a-f]{16}$/);
    expect(hexOf(combineHashes(hashes, numbers))).toBe(hex);
    const content = JSON.stringify([hashes, numbers]);
    expect(seen.get(hex) ?? content).toBe(content);
    seen.set(hex, content);
  };
  for (let i = 0; i < 2_000; i++) {
    const count = random.below(6) * 2;
    const hashes = Array.from({ length: count }, () => random.below(2 ** 32));
    const numbers = [1 + random.below(9), 50, random.pick([0, 1, 2 ** 32, 2 ** 40 + i])];
    note(hashes, numbers);
    note(hashes.toReversed(), numbers);
    note([...hashes, 0, 0], numbers);
    note(hashes, [...numbers, 0]);
    if (count > 0) note(hashes.with(random.below(count), random.below(2 ** 32)), numbers);
    note(hashes, numbers.with(2, numbers[2] + 2 ** 32));
  }
  expect(seen.size).toBeGreaterThan(8_000);
});

test('the hash of a list is the same in every release, so that clients can keep their copies', () => {
  const hashes = [0x01234567, 0x89abcdef, 2 ** 32 - 1, 0];
  expect(hexOf(combineHashes([], []))).toBe('1a49c369cb72770f');
  expect(hexOf(combineHashes([], [1, 50, 0]))).toBe('5a1f4cb378ce3aae');
  expect(hexOf(combineHashes(hashes, []))).toBe('df66ce3c6f5f65cc');
  expect(hexOf(combineHashes(hashes, [3, 100, 2 ** 40 + 7]))).toBe('ba13342a68a73b56');
});

test('only slugs and ids that are safe in paths are valid', () => {
  for (const slug of ['a', 'A.b~c_d-9', '-', '~', 'a'.repeat(191)]) {
    expect(isSlug(slug), slug).toBe(true);
    expect(path.normalize(gamesPack(slug))).toBe(`games/${slug}.json`);
    expect(path.normalize(coversPack(slug))).toBe(`covers/${slug}.json`);
  }
  const unsafe = ['', '.', '..', '.a', 'a/b', 'a\\b', 'a b', 'a\n', 'é', '%41', 'a'.repeat(192)];
  for (const slug of unsafe) expect(isSlug(slug), slug).toBe(false);
  const hash = 'abcdef0123456789';
  for (const sequence of [0, 1, 999_999, 1_000_000, 1e14]) {
    expect(isGenerationId(generationId(sequence, hash))).toBe(true);
  }
  const others = ['', '1-abcdef012345', '../000001-abcdef012345', '000001-ABCDEF012345', 'current'];
  for (const name of others) expect(isGenerationId(name), name).toBe(false);
  expect(isGenerationId(`${generationId(1, hash)}\n`)).toBe(false);
});
