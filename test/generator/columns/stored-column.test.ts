/** Columns in files have the values that were added, however many these are. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { storedColumnsIn } from '../../../generator/columns/stored-column.ts';
import { makeFolder } from '../../support/product.ts';

// A file gets 16,384 numbers of 32 bits at a time.
test.each([0, 1, 16_383, 16_384, 16_385, 100_000])('%i values', (count) => {
  const dir = makeFolder();
  const storeColumn = storedColumnsIn(dir);
  const ids = storeColumn('id', 'u32');
  const times = storeColumn('time', 'f64');
  for (let id = 0; id < count; id++) {
    ids.add(7);
    ids.replaceLast(id);
    times.add(id % 3 === 0 ? Number.NaN : id / 4);
  }
  ids.addAll(Uint32Array.of(1, 2));
  expect([ids.length, times.length]).toEqual([count + 2, count]);
  const expected = Uint32Array.from({ length: count + 2 }, (_, id) =>
    id < count ? id : id - count + 1,
  );
  expect(bytesOf(ids).equals(Buffer.from(expected.buffer))).toBe(true);
  const expectedTimes = Float64Array.from({ length: count }, (_, id) =>
    id % 3 === 0 ? Number.NaN : id / 4,
  );
  expect(bytesOf(times).equals(Buffer.from(expectedTimes.buffer))).toBe(true);
  expect(readdirSync(dir).length).toBeLessThanOrEqual(2);
});

function bytesOf(column: { pieces(): Iterable<Uint8Array> }): Buffer {
  return Buffer.concat(Array.from(column.pieces(), (piece) => Buffer.from(piece)));
}
