/** Columns of ascending ids, and the search for the row of an id. */
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { findId } from '#generator/rows/ids.ts';
import { columnOf } from '#lib/columns/columns.ts';
import type { Id } from '#lib/format/index/ids.ts';

const random = makeRandom(7);
const halvesOf = (id: number): Id => [Math.floor(id / 2 ** 32), id >>> 0];

/** Ascending ids with random gaps of limited size. The second half needs more than 32 bits. */
function makeIds(rows: number, gap: number): number[] {
  let id = random.below(100);
  return Array.from({ length: rows }, (_, row) => {
    id += 1 + random.below(gap) + (row === rows >> 1 ? 2 ** 33 : 0);
    return id;
  });
}

test.each([
  ['without gaps', 1],
  ['with small gaps', 3],
  ['with large gaps', 1_000_000],
])('every id of a column %s is found, and no other id', (_, gap) => {
  for (const rows of [0, 1, 2, 3, 50, 5000]) {
    const ids = makeIds(rows, gap);
    const high = columnOf<number, number>(Uint32Array.from(ids, (id) => halvesOf(id)[0]));
    const low = columnOf<number, number>(Uint32Array.from(ids, (id) => halvesOf(id)[1]));
    const rowOf = new Map(ids.map((id, row) => [id, row]));
    for (let i = 0; i < 3000; i++) {
      const id = i % 3 && rows ? (random.pick(ids) as number) + (i % 2) : random.below(2 ** 31) * 8;
      expect(findId({ high, low }, rows, halvesOf(id))).toBe(rowOf.get(id));
    }
  }
});
