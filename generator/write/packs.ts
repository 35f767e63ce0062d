/**
 * Writes packs. Records of unchanged games are copied from the earlier generation as runs of bytes, and packs
 * without a change are linked. All other records are made from the rows, and hashed when they are written, so
 * that they need not be read again.
 */

import { hashBytes } from '../../format/content-hash.ts';
import type { Column } from '../../format/index/columns.ts';
import type { RecordColumns } from '../../format/index/record-index.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import { coversPack, gamesPack } from '../../format/layout.ts';
import type { ManifestFile, Settings } from '../../format/manifest.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../../format/pack.ts';
import type { EarlierGeneration } from '../changes/earlier-generation.ts';
import type { Numbering } from '../order/numbering.ts';
import { type Catalogue, LEFT_OUT } from '../read/catalogue.ts';
import { putId } from '../read/ids.ts';
import { type FileWriter, writeFile, writeWhole } from './file-writer.ts';
import { putAscii, putBytes, putInteger, putText } from './json-bytes.ts';
import {
  encodePlatformRef,
  encodeText,
  encodeTime,
  FIXED_BYTES,
  makeRecordWriter,
  platformUrl,
} from './records.ts';

/** The positions of the records of all packs. */
export interface Positions {
  readonly games: RecordColumns;
  readonly covers: RecordColumns;
}

/** Makes the columns, which the threads that write the packs fill. */
export function makePositions({ itemOfGame, itemOfCover }: Numbering): Positions {
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

export interface PackSource {
  readonly catalogue: Catalogue;
  readonly numbering: Numbering;
  readonly settings: Settings;
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

export function writeGamePack(
  dir: string,
  { catalogue: { platforms, games }, numbering, settings }: PackSource,
  columns: RecordColumns,
  platform: number,
  earlier?: EarlierGeneration,
): Promise<ManifestFile> {
  const { slug, name } = platforms[platform];
  const { firstGame, itemOfGame, firstCover, earlierGames } = numbering;
  const records = makeRecordWriter(games);
  const reference = encodePlatformRef(slug, name);
  const tail = Buffer.from(`,"platform":${reference},"url":"${platformUrl(settings, slug)}/game/`);
  const { first_game = 0, games: count = 0 } = earlier?.index.platforms[platform] ?? {};
  return writePack(dir, {
    name: gamesPack(slug),
    from: firstGame[platform],
    to: firstGame[platform + 1],
    items: itemOfGame,
    columns,
    addRecord(writer, number) {
      const row = itemOfGame[number] - earlierGames;
      writer.reserve(FIXED_BYTES + records.lengthOf(row) * 2 + tail.length);
      const { buffer } = writer;
      let end = records.putGame(buffer, writer.at, row);
      end = putAscii(buffer, end, ',"cover_count":');
      end = putInteger(buffer, end, firstCover[number + 1] - firstCover[number]);
      end = putBytes(buffer, end, tail);
      end = records.putSlug(buffer, end, row);
      writer.at = putAscii(buffer, end, '"}');
    },
    earlier: earlier && { ...earlier.index.games, read: earlier.read, link: earlier.link },
    before: [first_game, first_game + count],
  });
}

export function writeCoverPack(
  dir: string,
  { catalogue: { platforms, games, covers, files }, numbering, settings }: PackSource,
  columns: RecordColumns,
  platform: number,
  earlier?: EarlierGeneration,
): Promise<ManifestFile> {
  const { slug, name } = platforms[platform];
  const { firstCoverOf, itemOfCover, earlierCovers } = numbering;
  const ofGames = makeRecordWriter(games);
  const ofFiles = makeRecordWriter(files);
  const reference = Buffer.from(`,"platform":${encodePlatformRef(slug, name)}},"files":[`);
  const filesUrl = Buffer.from(JSON.stringify(settings.files_url).slice(1, -1));
  const regions = covers.regions.map((value) => Buffer.from(encodeText(value)));
  const types = covers.types.map((value) => Buffer.from(encodeText(value)));
  const { first_cover = 0, covers: count = 0 } = earlier?.index.platforms[platform] ?? {};
  return writePack(dir, {
    name: coversPack(slug),
    from: firstCoverOf[platform],
    to: firstCoverOf[platform + 1],
    items: itemOfCover,
    columns,
    addRecord(writer, number) {
      const row = itemOfCover[number] - earlierCovers;
      const game = covers.game[row];
      const region = regions[covers.region[row]];
      const type = types[covers.type[row]];
      const first = covers.firstFile[row];
      let most =
        FIXED_BYTES + region.length + type.length + ofGames.lengthOf(game) + reference.length;
      for (let file = first; file !== LEFT_OUT; file = files.next[file])
        most += FIXED_BYTES + filesUrl.length + ofFiles.lengthOf(file);
      writer.reserve(most);
      const { buffer } = writer;
      let end = putAscii(buffer, writer.at, '{"id":');
      end = putId(buffer, end, covers.ids, row);
      end = putAscii(buffer, end, ',"region":');
      end = putBytes(buffer, end, region);
      end = putAscii(buffer, end, ',"type":');
      end = putBytes(buffer, end, type);
      end = putAscii(buffer, end, ',"approved_at":');
      end = putText(buffer, end, encodeTime(covers.approvedAt[row]));
      end = putAscii(buffer, end, ',"game":');
      end = ofGames.putSlugAndTitle(buffer, end, game);
      end = putBytes(buffer, end, reference);
      for (let file = first; file !== LEFT_OUT; file = files.next[file]) {
        if (file !== first) buffer[end++] = 0x2c;
        end = ofFiles.putFile(buffer, end, file, filesUrl);
      }
      writer.at = putAscii(buffer, end, ']}');
    },
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
  const writer = writeFile(dir, name);
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
