/**
 * Writes packs. Records of unchanged games are copied from the earlier generation as runs of bytes, and packs
 * without a change are linked. All other records are hashed when they are written, so that they need not be
 * read again.
 */

import { hashBytes } from '../../lib/format/content-hash.ts';
import { sharedZeros } from '../../lib/format/index/arrays.ts';
import type { RecordColumns } from '../../lib/format/index/record-index.ts';
import { coversPack, gamesPack } from '../../lib/format/layout.ts';
import type { ManifestFile } from '../../lib/format/manifest.ts';
import {
  EMPTY_PACK,
  LARGEST_PACK,
  PACK_HEAD,
  PACK_TAIL,
  RECORD_SEPARATOR,
} from '../../lib/format/pack.ts';
import type { Numbering } from '../order/numbering.ts';
import type { Files } from '../read/catalogue.ts';
import type { ExternalIds } from '../read/optional-tables.ts';
import type { EarlierGeneration } from '../reuse/earlier-generation.ts';
import { FileWriter, writeWhole } from './file-writer.ts';
import type { RecordSource, RecordTarget } from './records.ts';

/** What the files of a generation are written from. Its columns are in memory that threads share. */
export interface WriteSource extends RecordSource {
  /** The folder of the generation. */
  readonly dir: string;
  readonly numbering: Numbering;
  readonly titles: Titles;
  readonly externalIds: ExternalIds;
  /** Where the records are in their packs, once these are written. */
  readonly positions: { readonly games: RecordColumns; readonly covers: RecordColumns };
  /** Undefined if all rows were read; therefore, always undefined in a worker. */
  readonly earlier: EarlierGeneration | undefined;
}

/** The source of the packs of covers, which are written last. */
export interface CoverSource extends WriteSource {
  readonly files: Files;
}

/** Alternative titles. */
export interface Titles {
  /** By the id of the game, in decimal digits. */
  readonly of: ReadonlyMap<string, readonly string[]>;
  /** Whether they are those of the earlier generation. */
  readonly areSame: boolean;
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

/**
 * Writes the pack of a platform, or links it.
 * @param addRecord writes the record of a row, after a single `reserve`
 */
export async function writePack(
  { dir, platforms, numbering, positions, earlier }: WriteSource,
  kind: 'games' | 'covers',
  platform: number,
  addRecord: (target: RecordTarget, row: number, number: number) => void,
): Promise<ManifestFile> {
  const isOfGames = kind === 'games';
  const { slug } = platforms[platform];
  const name = isOfGames ? gamesPack(slug) : coversPack(slug);
  const items = isOfGames ? numbering.itemOfGame : numbering.itemOfCover;
  const starts = isOfGames ? numbering.firstGame : numbering.firstCoverOf;
  const [from, to] = [starts[platform], starts[platform + 1]];
  if (from === to) return writeWhole(dir, name, [EMPTY_PACK]);
  const columns = positions[kind];
  const before = earlier?.index[kind];
  const kept = before?.byteLength.length ?? 0;
  /** How many records from a number on follow one another in the earlier pack. */
  const runAt = (number: number) => {
    const item = items[number];
    let count = 0;
    while (number + count < to && item + count < kept && items[number + count] === item + count)
      count++;
    return count;
  };
  if (before !== undefined && runAt(from) === to - from) {
    const known = earlier?.index.platforms[platform];
    const linked = known?.[kind] === to - from ? earlier?.link(dir, name) : undefined;
    if (linked !== undefined) {
      copyPositions(before, items[from], to - from, columns, from, 0);
      return linked;
    }
  }
  // Its hash covers all records at once, which takes a fraction of the time of hashing them one by one.
  let source: Buffer | undefined;
  const writer = new FileWriter(dir, name);
  writer.add(PACK_HEAD);
  for (let number = from; number < to; ) {
    if (number > from) writer.add(RECORD_SEPARATOR);
    const item = items[number];
    const offset = writer.end();
    if (before !== undefined && earlier !== undefined && item < kept) {
      const count = runAt(number);
      source ??= earlier.read(name);
      const [start, last] = [before.byteOffset[item], item + count - 1];
      writer.add(source.subarray(start, before.byteOffset[last] + before.byteLength[last]));
      copyPositions(before, item, count, columns, number, offset - start);
      number += count;
      continue;
    }
    addRecord(writer, item - kept, number);
    const length = writer.end() - offset;
    const [high, low] = hashBytes(writer.buffer.subarray(writer.at - length, writer.at));
    columns.byteOffset[number] = offset;
    columns.byteLength[number] = length;
    columns.hash[number * 2] = high;
    columns.hash[number * 2 + 1] = low;
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
  columns: RecordColumns,
  to: number,
  shift: number,
): void {
  for (let i = 0; i < count; i++) columns.byteOffset[to + i] = before.byteOffset[first + i] + shift;
  columns.byteLength.set(before.byteLength.subarray(first, first + count), to);
  columns.hash.set(before.hash.subarray(first * 2, (first + count) * 2), to * 2);
}
