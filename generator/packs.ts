/**
 * Writes packs: records that are put together from pieces, each hashed as it is written, so that
 * nothing is read twice.
 */
import { type ContentHash, hashBytes } from '../format/content-hash.ts';
import type { ManifestFile } from '../format/manifest.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../format/pack.ts';
import type { RecordColumns } from '../format/record-index.ts';
import { type FileWriter, writeFile, writeWhole } from './file-writer.ts';
import { numbers } from './row-columns.ts';

/** Where each record stands, filled by the threads that write the packs. */
export function makeRecordColumns(count: number): RecordColumns {
  return {
    offset: numbers(Float64Array, count),
    length: numbers(Uint32Array, count),
    hash: numbers(Uint32Array, count * 2),
  };
}

/**
 * @param columns take where each record from `from` to before `to` stands
 * @param addRecord writes the record of a number and gives its length in bytes
 */
export async function writePack(
  dir: string,
  name: string,
  from: number,
  to: number,
  columns: RecordColumns,
  addRecord: (writer: FileWriter, number: number) => number,
): Promise<ManifestFile> {
  if (from === to) return writeWhole(dir, name, [EMPTY_PACK]);
  const writer = writeFile(dir, name);
  writer.add(PACK_HEAD);
  for (let number = from; number < to; number++) {
    if (number > from) writer.add(RECORD_SEPARATOR);
    columns.offset[number] = writer.end;
    const length = addRecord(writer, number);
    columns.length[number] = length;
    columns.hash.set(hashLast(writer, length), number * 2);
  }
  writer.add(PACK_TAIL);
  return writer.finish();
}

/** The hash of the bytes that were committed last. */
function hashLast(writer: FileWriter, length: number): ContentHash {
  const { buffer, at } = writer.reserve(0);
  return hashBytes(buffer.subarray(at - length, at));
}
