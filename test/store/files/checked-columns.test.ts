/** Columns that are read from a file without the others. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Columns, encodeColumns } from '../../../format/index/columns.ts';
import { readColumns } from '../../../store/files/checked-columns.ts';
import { makeFolder } from '../../support/product.ts';

const COLUMNS: Columns = {
  zeros: new Uint32Array(400_000),
  bytes: Uint8Array.of(1, 2, 3),
  none: new Uint16Array(0),
  // Longer than the pieces in which files are read, with long runs of zeros.
  numbers: Float64Array.from({ length: 500_000 }, (_, at) => (at % 100_000 < 50_000 ? 0 : at / 3)),
};

function store(columns: Columns) {
  const dir = makeFolder();
  const content = Buffer.concat([...encodeColumns(columns)]);
  writeFileSync(path.join(dir, 'some.bin'), content);
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { dir, content, file: { path: 'some.bin', size: content.length, sha256 } };
}

test('all columns are as they were written, each in memory of its own', () => {
  for (const columns of [COLUMNS, { bytes: COLUMNS.bytes }, {}]) {
    const { dir, file } = store(columns);
    const found = readColumns(dir, file, SharedArrayBuffer);
    expect(found).toEqual(columns);
    const buffers = new Set(Object.values(found).map(({ buffer }) => buffer));
    expect(buffers.size).toBe(Object.keys(columns).length);
  }
});

test('only the named columns are read', () => {
  const { dir, file } = store(COLUMNS);
  const { bytes, numbers } = COLUMNS;
  expect(readColumns(dir, file, ArrayBuffer, ['numbers', 'bytes'])).toEqual({ bytes, numbers });
});

test('a change of any byte is found, also of one in another column', () => {
  const { dir, content, file } = store(COLUMNS);
  for (const at of [3, 20, 5_000, content.length - 1]) {
    const damaged = Buffer.from(content);
    damaged[at] ^= 1;
    writeFileSync(path.join(dir, 'some.bin'), damaged);
    expect(() => readColumns(dir, file, ArrayBuffer, ['bytes'])).toThrow('some.bin');
  }
});
