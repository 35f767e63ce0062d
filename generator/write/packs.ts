/**
 * Writes packs. Each record is hashed as it is written, so that nothing is read twice.
 */
import { hashBytes } from '../../format/content-hash.ts';
import type { Columns } from '../../format/index/columns.ts';
import type { CoverColumns, GameColumns, RecordColumns } from '../../format/index/record-index.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../../format/pack.ts';
import { numbers } from '../columns/row-columns.ts';
import { type FileWriter, writeFile, writeWhole } from './file-writer.ts';

/** The positions of records in their packs, filled by the threads that write the packs. */
export function makeRecordColumns(count: number): RecordColumns {
  return {
    byteOffset: numbers(Float64Array, count),
    byteLength: numbers(Uint32Array, count),
    hash: numbers(Uint32Array, count * 2),
  };
}

/** The columns of games or covers under the names that they have in the file. */
export function namedAsInFile({
  byteOffset,
  byteLength,
  ...others
}: GameColumns | CoverColumns): Columns {
  return { offset: byteOffset, length: byteLength, ...others };
}

const SEPARATOR_BYTES = Buffer.from(RECORD_SEPARATOR);

/**
 * @param columns take the positions of the records from `from` to before `to`
 * @param addRecord writes the record with a number, in one piece
 */
export async function writePack(
  dir: string,
  name: string,
  from: number,
  to: number,
  columns: RecordColumns,
  addRecord: (writer: FileWriter, number: number) => void,
): Promise<ManifestFile> {
  if (from === to) return writeWhole(dir, name, [EMPTY_PACK]);
  const writer = writeFile(dir, name);
  writer.add(PACK_HEAD);
  for (let number = from; number < to; number++) {
    if (number > from) {
      writer.reserve(SEPARATOR_BYTES.length);
      for (const byte of SEPARATOR_BYTES) writer.buffer[writer.at++] = byte;
    }
    const offset = writer.end();
    addRecord(writer, number);
    const length = writer.end() - offset;
    const [high, low] = hashBytes(writer.buffer.subarray(writer.at - length, writer.at));
    columns.byteOffset[number] = offset;
    columns.byteLength[number] = length;
    columns.hash[number * 2] = high;
    columns.hash[number * 2 + 1] = low;
  }
  writer.add(PACK_TAIL);
  return writer.finish();
}
