/**
 * Writes the packs, the bodies that stand alone and the index of both. Every record is hashed as it
 * is written, so nothing is read twice.
 */

import { encodeColumns } from '../format/columns.ts';
import { type ContentHash, hashBytes } from '../format/content-hash.ts';
import {
  COVER_INDEX,
  COVERS_RECENT,
  coversPack,
  GAME_INDEX,
  gamesPack,
  PLATFORM_INDEX,
  PLATFORMS,
} from '../format/layout.ts';
import type { ManifestFile, Settings } from '../format/manifest.ts';
import {
  EMPTY_PACK,
  listHead,
  listTail,
  PACK_HEAD,
  PACK_TAIL,
  RECORD_SEPARATOR,
} from '../format/pack.ts';
import {
  type CoverColumns,
  encodePlatforms,
  type GameColumns,
  makeSlots,
  type PlatformEntry,
  type RecordColumns,
} from '../format/record-index.ts';
import { type FileWriter, writeFile, writeWhole } from './file-writer.ts';
import type { Numbering } from './numbering.ts';
import type { SourceCatalogue } from './read-catalogue.ts';
import * as records from './records.ts';
import type { Spool } from './spool.ts';

const MOST_RECENT_COVERS = 100;

/** Called after each pack. */
export type OnPack = (packs: number, ofPacks: number) => void;

export function writeRecords(
  dir: string,
  source: SourceCatalogue,
  numbering: Numbering,
  settings: Settings,
  onPack: OnPack,
): ManifestFile[] {
  const { platforms, games, covers } = source;
  const { placeOfGame, placeOfCover, firstGame, firstCover } = numbering;
  const gameColumns = makeRecordColumns(placeOfGame.length);
  const coverColumns = makeRecordColumns(placeOfCover.length);
  const platformRefs = platforms.map(({ slug, name }) => records.encodePlatformRef(slug, name));
  const platformUrls = platforms.map(({ slug }) => records.platformUrl(settings, slug));
  const files: ManifestFile[] = [];
  // Plain arrays: the loops below run once a record.
  const platformOf = games.platform.values();
  const headStart = games.headStart.values();
  const headLength = games.headLength.values();
  const gameOf = covers.game.values();
  const regionOf = covers.region.values();
  const typeOf = covers.type.values();
  const approvedAt = covers.approvedAt.values();
  const filesStart = covers.filesStart.values();
  const filesLength = covers.filesLength.values();

  const coverPieces = (number: number): Pieces => {
    const place = placeOfCover[number] as number;
    const game = gameOf[place] as number;
    const platform = platformOf[game] as number;
    return {
      platform,
      head: records.encodeCoverHead(
        covers.ids.text(place),
        covers.regions.values[regionOf[place] as number] ?? null,
        covers.types.values[typeOf[place] as number] ?? null,
        records.encodeTime(approvedAt[place] as number),
        games.slugs[game] as string,
        games.titles[game] as string,
        platformRefs[platform] as string,
      ),
      spool: covers.spool,
      start: filesStart[place] as number,
      length: filesLength[place] as number,
      tail: records.COVER_TAIL,
    };
  };

  platforms.forEach(({ slug }, platform) => {
    const fromGame = firstGame[platform] as number;
    const toGame = firstGame[platform + 1] as number;
    const gamePieces = (number: number): Pieces => {
      const place = placeOfGame[number] as number;
      const coverCount = (firstCover[number + 1] as number) - (firstCover[number] as number);
      return {
        platform,
        head: '',
        spool: games.spool,
        start: headStart[place] as number,
        length: headLength[place] as number,
        tail: records.encodeGameTail(
          coverCount,
          platformRefs[platform] as string,
          platformUrls[platform] as string,
          games.slugs[place] as string,
        ),
      };
    };
    files.push(writePack(dir, gamesPack(slug), fromGame, toGame, gameColumns, gamePieces));
    const fromCover = firstCover[fromGame] as number;
    const toCover = firstCover[toGame] as number;
    files.push(writePack(dir, coversPack(slug), fromCover, toCover, coverColumns, coverPieces));
    onPack((platform + 1) * 2, platforms.length * 2);
  });

  files.push(...writePlatforms(dir, source, numbering, platformUrls));
  files.push(writeRecentCovers(dir, source, numbering, coverPieces));
  files.push(writeGameIndex(dir, source, numbering, gameColumns));
  files.push(writeCoverIndex(dir, source, numbering, coverColumns));
  return files;
}

/** A record: text, then a piece of a spool, then text. */
interface Pieces {
  readonly platform: number;
  readonly head: string;
  readonly spool: Spool;
  readonly start: number;
  readonly length: number;
  readonly tail: string;
}

function writePack(
  dir: string,
  name: string,
  from: number,
  to: number,
  columns: RecordColumns,
  piecesOf: (number: number) => Pieces,
): ManifestFile {
  if (from === to) return writeWhole(dir, name, [EMPTY_PACK]);
  const writer = writeFile(dir, name);
  writer.add(PACK_HEAD);
  for (let number = from; number < to; number++) {
    if (number > from) writer.add(RECORD_SEPARATOR);
    columns.offset[number] = writer.end;
    const { length, hash } = writeRecord(writer, piecesOf(number));
    columns.length[number] = length;
    columns.hash.set(hash, number * 2);
  }
  writer.add(PACK_TAIL);
  return writer.finish();
}

function writeRecord(
  writer: FileWriter,
  { platform, head, spool, start, length, tail }: Pieces,
): { length: number; hash: ContentHash } {
  const { buffer, at } = writer.reserve(head.length * 3 + length + tail.length * 3);
  let end = at + buffer.write(head, at);
  spool.copy(platform, start, length, buffer, end);
  end += length;
  end += buffer.write(tail, end);
  writer.commit(end - at);
  return { length: end - at, hash: hashBytes(buffer.subarray(at, end)) };
}

function writePlatforms(
  dir: string,
  { platforms }: SourceCatalogue,
  { firstGame, firstCover }: Numbering,
  urls: readonly string[],
): ManifestFile[] {
  const entries: PlatformEntry[] = [];
  const writer = writeFile(dir, PLATFORMS);
  writer.add(listHead(platforms.length));
  platforms.forEach(({ slug, name }, platform) => {
    const first_game = firstGame[platform] as number;
    const games = (firstGame[platform + 1] as number) - first_game;
    const first_cover = firstCover[first_game] as number;
    const covers = (firstCover[first_game + games] as number) - first_cover;
    const record = records.encodePlatform(slug, name, games, covers, urls[platform] as string);
    if (platform > 0) writer.add(RECORD_SEPARATOR);
    const offset = writer.end;
    const length = Buffer.byteLength(record);
    const hash = hashBytes(record);
    entries.push({ slug, name, first_game, games, first_cover, covers, offset, length, hash });
    writer.add(record);
  });
  writer.add(listTail(platforms.length));
  return [writer.finish(), writeWhole(dir, PLATFORM_INDEX, [encodePlatforms(entries)])];
}

/** The newest first, ties by the higher id first; those without a time never appear. */
function writeRecentCovers(
  dir: string,
  { covers }: SourceCatalogue,
  { placeOfCover }: Numbering,
  piecesOf: (number: number) => Pieces,
): ManifestFile {
  const timeOf = (number: number) => covers.approvedAt.at(placeOfCover[number] as number);
  const isNewer = (a: number, b: number) =>
    timeOf(a) > timeOf(b) ||
    (timeOf(a) === timeOf(b) && (placeOfCover[a] as number) > (placeOfCover[b] as number));
  const recent: number[] = [];
  for (let number = 0; number < placeOfCover.length; number++) {
    if (Number.isNaN(timeOf(number))) continue;
    const last = recent.at(-1);
    if (recent.length === MOST_RECENT_COVERS && last !== undefined && !isNewer(number, last))
      continue;
    const at = recent.findIndex((other) => isNewer(number, other));
    recent.splice(at < 0 ? recent.length : at, 0, number);
    if (recent.length > MOST_RECENT_COVERS) recent.pop();
  }
  const writer = writeFile(dir, COVERS_RECENT);
  writer.add(listHead(recent.length));
  recent.forEach((number, place) => {
    if (place > 0) writer.add(RECORD_SEPARATOR);
    writeRecord(writer, piecesOf(number));
  });
  writer.add(listTail(recent.length));
  return writer.finish();
}

function writeGameIndex(
  dir: string,
  { games }: SourceCatalogue,
  { placeOfGame, placeOfRank, numberOfGame, rankOfGame, firstCover }: Numbering,
  columns: RecordColumns,
): ManifestFile {
  const count = placeOfGame.length;
  const slugOf = (number: number) => games.slugs[placeOfGame[number] as number] as string;
  const slugStart = new Uint32Array(count + 1);
  for (let number = 0; number < count; number++) {
    slugStart[number + 1] = (slugStart[number] as number) + slugOf(number).length;
  }
  const slugText = Buffer.alloc(slugStart[count] as number);
  for (let number = 0; number < count; number++) {
    slugText.write(slugOf(number), slugStart[number], 'latin1');
  }
  const platformOf = (number: number) => games.platform.at(placeOfGame[number] as number);
  const all: GameColumns = {
    ...columns,
    rank: rankOfGame,
    gameOfRank: placeOfRank.map((place) => numberOfGame[place] as number),
    firstCover,
    slugStart,
    slugText: new Uint8Array(slugText.buffer, slugText.byteOffset, slugText.length),
    slots: makeSlots(count, platformOf, slugOf),
  };
  return writeWhole(dir, GAME_INDEX, encodeColumns(all));
}

function writeCoverIndex(
  dir: string,
  { covers }: SourceCatalogue,
  { placeOfCover }: Numbering,
  columns: RecordColumns,
): ManifestFile {
  const coverOfId = new Uint32Array(placeOfCover.length);
  for (let number = 0; number < coverOfId.length; number++) coverOfId[number] = number;
  // Places ascend with ids.
  coverOfId.sort((a, b) => (placeOfCover[a] as number) - (placeOfCover[b] as number));
  const all: CoverColumns = {
    ...columns,
    idHigh: coverOfId.map((number) => covers.ids.high(placeOfCover[number] as number)),
    idLow: coverOfId.map((number) => covers.ids.low(placeOfCover[number] as number)),
    coverOfId,
  };
  return writeWhole(dir, COVER_INDEX, encodeColumns(all));
}

function makeRecordColumns(count: number): RecordColumns {
  return {
    offset: new Float64Array(count),
    length: new Uint32Array(count),
    hash: new Uint32Array(count * 2),
  };
}
