/**
 * Writes packs. Records that are stored are copied as runs of bytes, and a pack in which nothing has changed is
 * linked. All other records are hashed when they are written, so that they need not be read again.
 */
import { hashBytes } from '../../lib/format/content-hash.ts';
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
import type { Catalogue } from '../reuse/reuse.ts';
import type { StoredGeneration } from '../reuse/stored-generation.ts';
import { at, type Column, NONE, numbersOf } from '../rows/columns.ts';
import type { RecordTarget } from '../rows/records.ts';
import type { Output } from './file-writer.ts';

/** What the files of a generation are written from. */
export interface WriteSource extends Catalogue {
  readonly numbering: Numbering;
  /** The alternative titles of each game, by its id in decimal digits. */
  readonly titles: ReadonlyMap<string, readonly string[]>;
  readonly externalIds: ExternalIds;
  /** Where the records are in their packs, once these are written. */
  readonly positions: { readonly games: RecordColumns; readonly covers: RecordColumns };
}

/** Links a file that is not a pack, if it would be written as it is stored. */
export function linkSame({ sameFiles, stored }: WriteSource, name: string) {
  return sameFiles.has(name) ? stored?.link(name) : undefined;
}

/** Makes the columns that get their values when the packs are written. */
export function makePositions({ itemOfGame, itemOfCover }: Numbering): WriteSource['positions'] {
  const columns = (count: number): RecordColumns => ({
    byteOffset: new Uint32Array(count),
    byteLength: new Uint32Array(count),
    hash: new Uint32Array(count * 2),
  });
  return { games: columns(itemOfGame.length), covers: columns(itemOfCover.length) };
}

/** Records that are written one after another: those with the numbers from `from` to `to` (exclusive). */
interface Pack<Number extends number, Item extends number> {
  readonly name: string;
  readonly from: Number;
  readonly to: Number;
  readonly itemOf: Column<Number, Item>;
  /** The stored record of each item, or none. */
  readonly record: Column<Item, number>;
  /** Where the stored records are in their packs. */
  readonly before: RecordColumns | undefined;
  /** Gets the positions of the records. */
  readonly positions: RecordColumns;
  /** Writes the record of an item that is not stored, after a single `reserve`. */
  add(target: RecordTarget, item: Item, number: Number): void;
}

/** Writes a pack, or links it. */
export async function writePack<Number extends number, Item extends number>(
  output: Output,
  stored: StoredGeneration | undefined,
  { name, from, to, itemOf, record, before, positions, add }: Pack<Number, Item>,
): Promise<ManifestFile> {
  if (from === to) return output.write(name, [EMPTY_PACK]);
  const items = numbersOf(itemOf);
  const recordOf = numbersOf(record);
  /** How many records are stored one after another, from that of a number on. */
  const countStored = (number: number) => {
    const first = recordOf[items[number]];
    let count = 0;
    if (first !== NONE)
      while (number + count < to && recordOf[items[number + count]] === first + count) count++;
    return count;
  };
  if (before !== undefined && countStored(from) === to - from) {
    const first = recordOf[items[from]];
    const { byteOffset } = before;
    const isWhole = [first, first + to - from].every(
      (at) => at === byteOffset.length || byteOffset[at] === PACK_HEAD.length,
    );
    const linked = isWhole ? stored?.link(name) : undefined;
    if (linked !== undefined) {
      copyPositions(before, first, to - from, positions, from, 0);
      return linked;
    }
  }
  let content: Buffer | undefined;
  const writer = output.begin(name);
  writer.add(PACK_HEAD);
  for (let number: number = from; number < to; ) {
    if (number > from) writer.add(RECORD_SEPARATOR);
    const offset = writer.end();
    const count = countStored(number);
    if (count > 0 && stored !== undefined && before !== undefined) {
      const first = recordOf[items[number]];
      const last = first + count - 1;
      const { byteOffset, byteLength } = before;
      // Its hash covers all records at once, which takes a fraction of the time of hashing them one by one.
      content ??= stored.read(name);
      writer.add(content.subarray(byteOffset[first], byteOffset[last] + byteLength[last]));
      copyPositions(before, first, count, positions, number, offset - byteOffset[first]);
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
