/**
 * Writes packs. Each record is hashed when it is written, so that it need not be read again.
 */
import { hashBytes } from '../../format/content-hash.ts';
import type { Columns } from '../../format/index/columns.ts';
import type {
  CoverColumns,
  GamePositions,
  RecordColumns,
} from '../../format/index/record-index.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../../format/pack.ts';
import { LEFT_OUT } from '../columns/catalogue.ts';
import type { RecordReader } from '../reuse/earlier-records.ts';
import { type FileWriter, writeFile, writeWhole } from './file-writer.ts';

const LARGEST_32_BITS = 0xffff_ffff;

/** Makes empty columns for the positions of records. The threads that write the packs fill them. */
export function makeRecordColumns(count: number): RecordColumns {
  return {
    byteOffset: sharedZeros(Float64Array, count),
    byteLength: sharedZeros(Uint32Array, count),
    hash: sharedZeros(Uint32Array, count * 2),
  };
}

/** The columns of games or covers under the names that they have in the file. */
export function namedAsInFile({
  byteOffset,
  byteLength,
  ...others
}: GamePositions | CoverColumns): Columns {
  const needs64Bits = byteOffset.some((offset) => offset > LARGEST_32_BITS);
  const offset = needs64Bits ? byteOffset : Uint32Array.from(byteOffset);
  return { offset, length: byteLength, ...others };
}

const SEPARATOR_BYTES = Buffer.from(RECORD_SEPARATOR);

/** Where records that are still the same are copied from. */
export interface CopySource {
  /** The number that a record had in the earlier generation, or LEFT_OUT if it must be written. */
  earlierNumberOf(number: number): number;
  readonly records: RecordColumns;
  /** Only used for records for which `earlierNumberOf` returns a number. */
  readonly pack: RecordReader;
}

/**
 * Writes the pack with the records from number `from` (inclusive) to `to` (exclusive).
 * @param columns receive the positions of these records
 * @param addRecord writes the record with a number into the writer's buffer, after a single `reserve`
 */
export async function writePack(
  dir: string,
  name: string,
  from: number,
  to: number,
  columns: RecordColumns,
  addRecord: (writer: FileWriter, number: number) => void,
  source?: CopySource,
): Promise<ManifestFile> {
  if (from === to) return writeWhole(dir, name, [EMPTY_PACK]);
  const writer = writeFile(dir, name);
  writer.add(PACK_HEAD);
  for (let number = from; number < to; ) {
    if (number > from) {
      writer.reserve(SEPARATOR_BYTES.length);
      for (const byte of SEPARATOR_BYTES) writer.buffer[writer.at++] = byte;
    }
    const copied = source === undefined ? 0 : copyRun(writer, source, number, to, columns);
    number += copied;
    if (copied > 0) continue;
    const offset = writer.end();
    addRecord(writer, number);
    const length = writer.end() - offset;
    const [high, low] = hashBytes(writer.buffer.subarray(writer.at - length, writer.at));
    columns.byteOffset[number] = offset;
    columns.byteLength[number] = length;
    columns.hash[number * 2] = high;
    columns.hash[number * 2 + 1] = low;
    number++;
  }
  writer.add(PACK_TAIL);
  return writer.finish();
}

/**
 * Copies the records from `from` on that follow one another in the earlier generation, too.
 * @param to the number after the last record of the pack
 * @param columns receive the positions of the copied records
 * @returns how many were copied
 */
function copyRun(
  writer: FileWriter,
  { earlierNumberOf, records, pack }: CopySource,
  from: number,
  to: number,
  columns: RecordColumns,
): number {
  const first = earlierNumberOf(from);
  if (first === LEFT_OUT) return 0;
  let count = 1;
  while (from + count < to && earlierNumberOf(from + count) === first + count) count++;
  const shift = writer.end() - records.byteOffset[first];
  for (const piece of pack.readRun(first, first + count - 1)) {
    writer.reserve(piece.length);
    writer.at += piece.copy(writer.buffer, writer.at);
  }
  for (let i = 0; i < count; i++) {
    columns.byteOffset[from + i] = records.byteOffset[first + i] + shift;
  }
  columns.byteLength.set(records.byteLength.subarray(first, first + count), from);
  columns.hash.set(records.hash.subarray(first * 2, (first + count) * 2), from * 2);
  return count;
}
