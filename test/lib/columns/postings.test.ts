/** Postings that are merged with further entries: as if all entries had been written at once. */
import { expect, test } from 'vitest';
import { NONE } from '#lib/columns/numbers.ts';
import { makePostings, mergePostings } from '#lib/columns/postings.ts';

const postings = (lists: Readonly<Record<string, readonly number[]>>) =>
  makePostings(new Map(Object.entries(lists)));

test('merged postings are those of all entries, under their new numbers', () => {
  const before = postings({ b: [0, 2], gone: [1], mario: [0, 1, 3], z: [3] });
  // Number 1 is gone, and 2 and 4 are new.
  const numberNow = Uint32Array.of(0, NONE, 1, 3);
  const added = new Map([
    ['zelda', [4]],
    ['a', [2]],
    ['mario', [2, 4]],
    ['ゼルダ', [2, 4]],
  ]);
  const { now, indexNow } = mergePostings(before, numberNow, added);
  expect(now).toEqual(
    postings({ a: [2], b: [0, 1], mario: [0, 2, 3, 4], z: [3], zelda: [4], ゼルダ: [2, 4] }),
  );
  expect([...indexNow]).toEqual([1, NONE, 2, 3]);
});

test('a text that had no entry left is there again if one is added', () => {
  const { now, indexNow } = mergePostings(
    postings({ once: [0] }),
    Uint32Array.of(NONE),
    new Map([['once', [0]]]),
  );
  expect([now, [...indexNow]]).toEqual([postings({ once: [0] }), [0]]);
});
