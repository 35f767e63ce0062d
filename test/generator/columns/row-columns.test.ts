/** Columns grow with the rows that are added, however many these are. */
import { expect, test } from 'vitest';
import { growingColumns } from '../../../generator/columns/row-columns.ts';

test.each([
  ['within the memory of the first rows', 1000],
  ['within the addresses that a column reserves', 5_000_000],
  ['beyond them', 17_000_000],
])('a column keeps its values while it grows %s', (_, rows) => {
  const { columns, reserve } = growingColumns({ flag: Uint8Array, number: Uint32Array });
  for (let row = 0; row < rows; row += 997) {
    reserve(row);
    columns.flag[row] = row % 251;
    columns.number[row] = row;
  }
  for (let row = 0; row < rows; row++) {
    const isSet = row % 997 === 0;
    if (columns.flag[row] !== (isSet ? row % 251 : 0)) throw new Error(`flag of row ${row}`);
    if (columns.number[row] !== (isSet ? row : 0)) throw new Error(`number of row ${row}`);
  }
  expect(columns.number.length).toBeGreaterThanOrEqual(rows);
});

test('threads share the memory of a column', () => {
  const { columns, reserve } = growingColumns({ number: Uint32Array });
  reserve(200_000);
  expect(columns.number.buffer).toBeInstanceOf(SharedArrayBuffer);
});
