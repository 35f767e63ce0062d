/**
 * Writes packs. Records that the source has are copied as runs of bytes, and a pack in which nothing has changed is
 * linked. All other records are hashed when they are written, so that they need not be read again.
 */

import type { Column } from '../../lib/columns/columns.ts';
import { NONE, numberAt } from '../../lib/columns/numbers.ts';
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
import type { NumberedCatalogue, Numbering } from '../order/numbering.ts';
import type { RecordTarget, Source } from '../rows/catalogue.ts';
import type { Output } from './file-writer.ts';

/** A catalogue whose records are written: what the other files are made from. */
export interface PackedCatalogue extends NumberedCatalogue {
  /** Where the records are in their packs. */
  readonly positions: { readonly games: RecordColumns; readonly covers: RecordColumns };
}

/** Links a file that is not a pack, if it would be written as it is in the source. */
export function linkSame({ sameFiles, source }: PackedCatalogue, name: string) {
  return sameFiles.has(name) ? source?.link(name) : undefined;
}

/** Makes the columns that get their values while the packs are written. */
export function makePositions({
  itemOfGame,
  itemOfCover,
}: Numbering): PackedCatalogue['positions'] {
  const columns = (count: number): RecordColumns => ({
    byteOffset: new Uint32Array(count),
    byteLength: new Uint32Array(count),
    hash: new Uint32Array(count * 2),
  });
  return { games: columns(itemOfGame.length), covers: columns(itemOfCover.length) };
}

/** The records of all games, or of all covers. */
export interface PackRecords<N extends number, Item extends number> {
  readonly itemOf: Column<N, Item>;
  /** The record of each item in the source, or none. */
  readonly record: Column<Item, number>;
  /** Where the records of the source are in their packs. */
  readonly before: RecordColumns | undefined;
  /** Gets the positions of the records. */
  readonly positions: RecordColumns;
  /** Writes the record of an item that the source does not have, after a single `reserve`. */
  add(target: RecordTarget, item: Item, number: N): void;
}

/** Writes a pack of the records from `from` to `to` (exclusive), or links it. */
export async function writePack<N extends number, Item extends number>(
  output: Output,
  source: Source | undefined,
  name: string,
  { itemOf, record, before, positions, add }: PackRecords<N, Item>,
  from: N,
  to: N,
): Promise<ManifestFile> {
  if (from === to) return output.write(name, [EMPTY_PACK]);
  const stop: number = to;
  const recordAt = (number: number) => record[itemOf[numberAt<N>(number)]];
  /** The end of the records that the source has one after another, from that of a number on. */
  const endOfSame = (number: number) => {
    const first = recordAt(number);
    let end = number;
    if (first !== NONE) while (end < stop && recordAt(end) === first + end - number) end++;
    return end;
  };
  const copyPositions = (columns: RecordColumns, number: number, end: number, shift: number) => {
    const [first, last] = [recordAt(number), recordAt(number) + end - number];
    for (let i = number; i < end; i++)
      positions.byteOffset[i] = columns.byteOffset[first + i - number] + shift;
    positions.byteLength.set(columns.byteLength.subarray(first, last), number);
    positions.hash.set(columns.hash.subarray(first * 2, last * 2), number * 2);
  };
  if (before !== undefined && endOfSame(from) === stop) {
    const first = recordAt(from);
    const isStart = (at: number) =>
      (before.byteOffset[at] ?? PACK_HEAD.length) === PACK_HEAD.length;
    const isWhole = isStart(first) && isStart(first + to - from);
    const linked = isWhole ? source?.link(name) : undefined;
    if (linked !== undefined) {
      copyPositions(before, from, to, 0);
      return linked;
    }
  }
  let content: Buffer | undefined;
  return output.fill(name, (writer) => {
    writer.add(PACK_HEAD);
    for (let number: number = from; number < stop; ) {
      if (number > from) writer.add(RECORD_SEPARATOR);
      const offset = writer.end();
      const end = endOfSame(number);
      if (end > number && source !== undefined && before !== undefined) {
        const first = before.byteOffset[recordAt(number)];
        const last = recordAt(end - 1);
        // Its hash covers all records at once, which takes a fraction of the time of hashing them one by one.
        content ??= source.read(name);
        writer.add(content.subarray(first, before.byteOffset[last] + before.byteLength[last]));
        copyPositions(before, number, end, offset - first);
        number = end;
        continue;
      }
      add(writer, itemOf[numberAt<N>(number)], numberAt(number));
      const length = writer.end() - offset;
      positions.byteOffset[number] = offset;
      positions.byteLength[number] = length;
      positions.hash.set(
        hashBytes(writer.buffer.subarray(writer.at - length, writer.at)),
        number * 2,
      );
      number++;
    }
    writer.add(PACK_TAIL);
    if (writer.end() > LARGEST_PACK)
      throw new Error(`${name} is larger than ${LARGEST_PACK} bytes`);
  });
}
