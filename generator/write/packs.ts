/**
 * Writes packs. Records of unchanged games are copied from the earlier generation as runs of bytes, and packs
 * without a change are linked. All other records are hashed when they are written, so that they need not be
 * read again.
 */

import { hashBytes } from '../../format/content-hash.ts';
import type { Column } from '../../format/index/columns.ts';
import type { RecordColumns } from '../../format/index/record-index.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import { coversPack, gamesPack } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../../format/pack.ts';
import type { EarlierGeneration } from '../changes/earlier-generation.ts';
import type { Numbering } from '../order/numbering.ts';
import type { Files } from '../read/catalogue.ts';
import { FileWriter, writeWhole } from './file-writer.ts';
import type { makeCoverRecords, makeGameRecords, RecordSource } from './records.ts';

/** What the files of a generation are written from. Its columns are in memory that threads share. */
export interface WriteSource extends RecordSource {
  /** The folder of the generation. */
  readonly dir: string;
  readonly numbering: Numbering;
  readonly titles: Titles;
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
    byteOffset: sharedZeros(Float64Array, count),
    byteLength: sharedZeros(Uint32Array, count),
    hash: sharedZeros(Uint32Array, count * 2),
  });
  return { games: columns(itemOfGame.length), covers: columns(itemOfCover.length) };
}

/** Record columns under the names that they have in the files. */
export function namedAsInFile({
  byteOffset,
  byteLength,
  hash,
}: RecordColumns): Record<string, Column> {
  const needs64Bits = byteOffset.some((offset) => offset > 0xffff_ffff);
  return {
    offset: needs64Bits ? byteOffset : Uint32Array.from(byteOffset),
    length: byteLength,
    hash,
  };
}

/** A pack to write. */
interface Pack {
  readonly name: string;
  /** The number of its first record, and of the one after the last. */
  readonly from: number;
  readonly to: number;
  /** For each number, the item of the record. */
  readonly items: Uint32Array;
  readonly columns: RecordColumns;
  /** Writes a record, after a single `reserve`. */
  addRecord(writer: FileWriter, number: number): void;
  /** The records of the earlier generation, if there is one; items below their number are copied. */
  readonly earlier: (RecordColumns & Pick<EarlierGeneration, 'read' | 'link'>) | undefined;
  /** The pack of the earlier generation: its first record, and the one after the last. */
  readonly before: readonly [first: number, end: number];
}

/** @param addRecord writes the record of a row */
export function writeGamePack(
  { dir, platforms, numbering, positions, earlier }: WriteSource,
  addRecord: ReturnType<typeof makeGameRecords>,
  platform: number,
): Promise<ManifestFile> {
  const { firstGame, itemOfGame, firstCover, earlierGames } = numbering;
  const { first_game = 0, games: count = 0 } = earlier?.index.platforms[platform] ?? {};
  return writePack(dir, {
    name: gamesPack(platforms[platform].slug),
    from: firstGame[platform],
    to: firstGame[platform + 1],
    items: itemOfGame,
    columns: positions.games,
    addRecord: (writer, number) =>
      addRecord(
        writer,
        itemOfGame[number] - earlierGames,
        firstCover[number + 1] - firstCover[number],
      ),
    earlier: earlier && { ...earlier.index.games, read: earlier.read, link: earlier.link },
    before: [first_game, first_game + count],
  });
}

/** @param addRecord writes the record of a row */
export function writeCoverPack(
  { dir, platforms, numbering, positions, earlier }: WriteSource,
  addRecord: ReturnType<typeof makeCoverRecords>,
  platform: number,
): Promise<ManifestFile> {
  const { firstCoverOf, itemOfCover, earlierCovers } = numbering;
  const { first_cover = 0, covers: count = 0 } = earlier?.index.platforms[platform] ?? {};
  return writePack(dir, {
    name: coversPack(platforms[platform].slug),
    from: firstCoverOf[platform],
    to: firstCoverOf[platform + 1],
    items: itemOfCover,
    columns: positions.covers,
    addRecord: (writer, number) => addRecord(writer, itemOfCover[number] - earlierCovers),
    earlier: earlier && { ...earlier.index.covers, read: earlier.read, link: earlier.link },
    before: [first_cover, first_cover + count],
  });
}

async function writePack(dir: string, pack: Pack): Promise<ManifestFile> {
  const { name, from, to, items, columns, addRecord, earlier } = pack;
  if (from === to) return writeWhole(dir, name, [EMPTY_PACK]);
  const linked = linkPack(dir, pack);
  if (linked !== undefined) return linked;
  const kept = earlier?.byteLength.length ?? 0;
  // Its hash covers all records at once, which takes a fraction of the time of hashing them one by one.
  let source: Buffer | undefined;
  const writer = new FileWriter(dir, name);
  writer.add(PACK_HEAD);
  for (let number = from; number < to; ) {
    if (number > from) writer.add(RECORD_SEPARATOR);
    const item = items[number];
    if (earlier !== undefined && item < kept) {
      let count = 1;
      while (number + count < to && items[number + count] === item + count && item + count < kept)
        count++;
      const shift = writer.end() - earlier.byteOffset[item];
      source ??= earlier.read(name);
      const last = item + count - 1;
      writer.add(
        source.subarray(
          earlier.byteOffset[item],
          earlier.byteOffset[last] + earlier.byteLength[last],
        ),
      );
      copyPositions(earlier, item, count, columns, number, shift);
      number += count;
      continue;
    }
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

/** @returns undefined if the pack must be written */
function linkPack(
  dir: string,
  { name, from, to, items, columns, earlier, before: [first, end] }: Pack,
): ManifestFile | undefined {
  if (earlier === undefined || end - first !== to - from) return undefined;
  for (let number = from; number < to; number++)
    if (items[number] !== first + number - from) return undefined;
  const linked = earlier.link(dir, name);
  if (linked !== undefined) copyPositions(earlier, first, to - from, columns, from, 0);
  return linked;
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
