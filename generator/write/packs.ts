/**
 * Writes packs. Records that are stored are copied as runs of bytes, and a pack in which nothing has changed is
 * linked. All other records are hashed when they are written, so that they need not be read again.
 */
import { hashBytes } from '../../lib/format/content-hash.ts';
import { sharedZeros } from '../../lib/format/index/arrays.ts';
import type { RecordColumns } from '../../lib/format/index/record-index.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import {
  EMPTY_PACK,
  LARGEST_PACK,
  PACK_HEAD,
  PACK_TAIL,
  RECORD_SEPARATOR,
} from '../../lib/format/pack.ts';
import type { Numbering } from '../order/numbering.ts';
import type { ExternalIds } from '../read/optional-tables.ts';
import type { Catalogue, FileRows, Stored, StoredRecords } from '../rows/catalogue.ts';
import { at, type Column, NONE, numbersOf } from '../rows/columns.ts';
import type { RecordTarget } from '../rows/records.ts';
import type { Output } from './file-writer.ts';

/** What the files of a generation are written from. Its columns are in memory that threads share. */
export interface WriteSource extends Catalogue {
  readonly numbering: Numbering;
  /** The alternative titles of each game, by its id in decimal digits. */
  readonly titles: ReadonlyMap<string, readonly string[]>;
  readonly externalIds: ExternalIds;
  /** Where the records are in their packs, once these are written. */
  readonly positions: { readonly games: RecordColumns; readonly covers: RecordColumns };
}

/** The source of the packs of covers, which are written last. */
export interface CoverSource extends WriteSource {
  readonly files: FileRows;
}

/** Makes the columns that the threads which write the packs fill. */
export function makePositions({ itemOfGame, itemOfCover }: Numbering): WriteSource['positions'] {
  const columns = (count: number): RecordColumns => ({
    byteOffset: sharedZeros(Uint32Array, count),
    byteLength: sharedZeros(Uint32Array, count),
    hash: sharedZeros(Uint32Array, count * 2),
  });
  return { games: columns(itemOfGame.length), covers: columns(itemOfCover.length) };
}

/** Records that are written one after another: those with the numbers from `from` to `to` (exclusive). */
interface Pack<Number extends number, Item extends number> {
  readonly name: string;
  readonly from: Number;
  readonly to: Number;
  readonly itemOf: Column<Number, Item>;
  readonly records: StoredRecords<Item> | undefined;
  /** Gets the positions of the records. */
  readonly positions: RecordColumns;
  /** Writes the record of an item that is not stored, after a single `reserve`. */
  add(target: RecordTarget, item: Item, number: Number): void;
}

/** Writes a pack, or links it. */
export async function writePack<Number extends number, Item extends number>(
  output: Output,
  stored: Stored | undefined,
  { name, from, to, itemOf, records, positions, add }: Pack<Number, Item>,
): Promise<ManifestFile> {
  if (from === to) return output.write(name, [EMPTY_PACK]);
  const items = numbersOf(itemOf);
  const recordOf = records && numbersOf(records.numberOf);
  const linked = stored?.link(name);
  if (linked !== undefined && records !== undefined && recordOf !== undefined) {
    copyPositions(records.columns, recordOf[items[from]], to - from, positions, from, 0);
    return linked;
  }
  let content: Buffer | undefined;
  const writer = output.begin(name);
  writer.add(PACK_HEAD);
  for (let number: number = from; number < to; ) {
    if (number > from) writer.add(RECORD_SEPARATOR);
    const offset = writer.end();
    const first = recordOf?.[items[number]] ?? NONE;
    if (stored !== undefined && records !== undefined && recordOf !== undefined && first !== NONE) {
      let count = 1;
      while (number + count < to && recordOf[items[number + count]] === first + count) count++;
      const { byteOffset, byteLength } = records.columns;
      const last = first + count - 1;
      // Its hash covers all records at once, which takes a fraction of the time of hashing them one by one.
      content ??= stored.read(name);
      writer.add(content.subarray(byteOffset[first], byteOffset[last] + byteLength[last]));
      copyPositions(records.columns, first, count, positions, number, offset - byteOffset[first]);
      number += count;
      continue;
    }
    add(writer, at(items[number]), at(number));
    const length = writer.end() - offset;
    const [high, low] = hashBytes(writer.buffer.subarray(writer.at - length, writer.at));
    positions.byteOffset[number] = offset;
    positions.byteLength[number] = length;
    positions.hash[number * 2] = high;
    positions.hash[number * 2 + 1] = low;
    number++;
  }
  writer.add(PACK_TAIL);
  if (writer.end() > LARGEST_PACK) throw new Error(`${name} is larger than ${LARGEST_PACK} bytes`);
  return writer.finish();
}

/** @param shift what is added to the offsets */
function copyPositions(
  before: RecordColumns,
  first: number,
  count: number,
  positions: RecordColumns,
  to: number,
  shift: number,
): void {
  const { byteOffset, byteLength, hash } = positions;
  for (let i = 0; i < count; i++) byteOffset[to + i] = before.byteOffset[first + i] + shift;
  byteLength.set(before.byteLength.subarray(first, first + count), to);
  hash.set(before.hash.subarray(first * 2, (first + count) * 2), to * 2);
}
