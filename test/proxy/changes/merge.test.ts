/** Merging sorted lists: like sorting all of them together, and stable. */
import { expect, test } from 'vitest';
import { mergeSorted } from '../../../proxy/changes/merge.ts';
import { makeRandom } from '../../catalogue/random.ts';

const byNumber = (a: number, b: number) => a - b;

test('gives every item in order, and equal ones in the order of their lists', () => {
  const random = makeRandom(1);
  for (let round = 0; round < 500; round++) {
    const lists = Array.from({ length: random.below(9) }, () =>
      Array.from({ length: random.below(12) }, () => random.below(10)).sort(byNumber),
    );
    const expected = lists
      .flatMap((items, list) => items.map((item) => ({ item, list })))
      .sort((a, b) => a.item - b.item || a.list - b.list);
    expect([...mergeSorted(lists, byNumber)], JSON.stringify(lists)).toEqual(expected);
  }
});

test('reads one item ahead of each list, no more', () => {
  let read = 0;
  function* endless(start: number) {
    for (let number = start; ; number += 2) {
      read++;
      yield number;
    }
  }
  const merged = mergeSorted([endless(0), endless(1)], byNumber);
  const first = Array.from({ length: 10 }, () => merged.next().value?.item);
  expect(first).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(read).toBe(11);
});
