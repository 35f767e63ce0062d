/** Sorting a part of a column, whatever its length and order. */
import { expect, test } from 'vitest';
import { sortRange } from '../../../generator/order/sort-range.ts';
import { makeRandom } from '../../catalogue/random.ts';

test('sorts as `sort` does, and leaves the rest of the column as it was', () => {
  const random = makeRandom(7);
  for (let round = 0; round < 200; round++) {
    const column = Uint32Array.from({ length: random.below(600) }, () => random.below(300));
    // Some are in order but for a few entries.
    if (round % 3 === 0) column.sort().set([5], column.length >> 1);
    const from = random.below(column.length + 1);
    const to = from + random.below(column.length - from + 1);
    const expected = column.slice();
    expected.subarray(from, to).sort((a, b) => b - a);
    sortRange(column, from, to, (a, b) => b - a);
    expect(column).toEqual(expected);
  }
});

test('keeps the order of equal entries', () => {
  const column = Uint32Array.from({ length: 1000 }, (_, index) => index);
  sortRange(column, 0, column.length, (a, b) => (a % 7) - (b % 7));
  const expected = [...Array(1000).keys()].sort((a, b) => (a % 7) - (b % 7));
  expect([...column]).toEqual(expected);
});
