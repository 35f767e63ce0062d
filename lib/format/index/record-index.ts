/**
 * The index of games and covers. It finds the pack and the byte range of a record by the path of a game,
 * or by the id of a game or cover (`ids.ts`).
 *
 * Games are numbered platform by platform, and in title order within a platform. Covers are numbered in
 * the order of their games, and within a game in the order in which the API lists them. So every list
 * is a range of numbers, and a range of numbers of one platform is a range of bytes of its pack.
 */

import { crc32 } from 'node:zlib';
import { compareText, firstIndex } from '../../columns/arrays.ts';
import { damaged } from '../../columns/checks.ts';
import type { ColumnFile, ColumnReader } from '../../columns/container.ts';
import { type GameNumber, type Lookup, lookupOf, type Rank } from '../../columns/numbers.ts';
import { type ContentHash, hashBytes } from '../content-hash.ts';
import { parseObject, readMembers } from '../json/parse-file.ts';
import { isCount, isString } from '../json/values.ts';
import { COVER_INDEX, GAME_INDEX, isSlug, PATH_INDEX, PLATFORMS } from '../layout.ts';
import { listHead, listTail, RECORD_SEPARATOR } from '../pack.ts';
import { type IdColumns, idColumns } from './ids.ts';
import { openIndexFile } from './index-file.ts';

/** A platform. Its number is its index in `platforms.json`. */
export interface PlatformEntry {
  readonly slug: string;
  readonly name: string;
  /** The number of the platform's first game, and how many games it has. */
  readonly firstGame: number;
  readonly games: number;
  /** The number of the platform's first cover, and how many covers it has. */
  readonly firstCover: number;
  readonly covers: number;
  readonly record: Buffer;
  readonly hash: ContentHash;
}

/**
 * For a cover whose region or type is unknown. It also stands for the values from this index on; no
 * catalogue has nearly as many.
 */
export const NO_VALUE = 0xffff;

/** For the number of each game, or of each cover: the position of its record. */
export interface RecordColumns {
  /** Where the record starts in its pack. */
  readonly byteOffset: Uint32Array;
  /** The length without the separator. */
  readonly byteLength: Uint32Array;
  /** The content hash: two entries per record. */
  readonly hash: Uint32Array;
}

/** The columns of `index/games.bin`, which change with a record. */
interface GameRecords extends RecordColumns {
  /** The number of the game's first cover, and at the end the number of all covers. */
  readonly firstCover: Uint32Array;
}

/** The columns of `index/paths.bin`, which change with a title, a path, or the number of games. */
interface GamePaths extends IdColumns<GameNumber> {
  readonly rank: Lookup<GameNumber, Rank>;
  readonly gameOfRank: Lookup<Rank, GameNumber>;
  /** Where the game's slug starts in `slugText`, and at the end the length of `slugText`. */
  readonly slugStart: Uint32Array;
  /** The slugs in ASCII, concatenated. */
  readonly slugText: Uint8Array;
  /** The games, platform by platform, and within a platform by {@link hashSlug}, then by slug. */
  readonly bySlug: Lookup<number, GameNumber>;
  /** The {@link hashSlug} of each game of `bySlug`. */
  readonly slugHash: Uint32Array;
}

/** The columns of `index/covers.bin`. */
interface CoverColumns extends RecordColumns, IdColumns {
  /** The index of the cover's region in the regions of the search index, or {@link NO_VALUE}. */
  readonly region: Uint16Array;
  /** The index of the cover's type in the types of the search index, or {@link NO_VALUE}. */
  readonly type: Uint16Array;
  /** The index of the cover among those of its game in the order of their ids, at most 65,535. */
  readonly orderOfId: Uint16Array;
}

export interface RecordIndex {
  readonly platforms: readonly PlatformEntry[];
  /** For each slug, the number of the platform. */
  readonly platformBySlug: ReadonlyMap<string, number>;
  readonly games: GameRecords & GamePaths;
  readonly covers: CoverColumns;
}

/**
 * @param contentOf returns the content of a file of the generation by its name
 * @throws Error that names the damaged file
 */
export function openRecordIndex(contentOf: (name: string) => Uint8Array): RecordIndex {
  const platforms = readPlatforms(contentOf(PLATFORMS));
  const last = platforms.at(-1);
  const games = last === undefined ? 0 : last.firstGame + last.games;
  const covers = last === undefined ? 0 : last.firstCover + last.covers;
  return {
    platforms,
    platformBySlug: new Map(platforms.map(({ slug }, number) => [slug, number])),
    games: {
      ...openGames(openIndexFile(contentOf, GAME_INDEX), games),
      ...openPaths(openIndexFile(contentOf, PATH_INDEX), games),
    },
    covers: openCovers(openIndexFile(contentOf, COVER_INDEX), covers),
  };
}

function openGames({ column }: ColumnFile, games: number): GameRecords {
  return { ...recordColumns(column, games), firstCover: column('firstCover', 'u32', games + 1) };
}

function openPaths({ column }: ColumnFile, games: number): GamePaths {
  const slugStart = column('slugStart', 'u32', games + 1);
  return {
    rank: lookupOf(column('rank', 'u32', games)),
    gameOfRank: lookupOf(column('gameOfRank', 'u32', games)),
    slugStart,
    slugText: column('slugText', 'u8', slugStart[games]),
    bySlug: lookupOf(column('bySlug', 'u32', games)),
    slugHash: column('slugHash', 'u32', games),
    ...idColumns<GameNumber>(column, games),
  };
}

function openCovers({ column }: ColumnFile, covers: number): CoverColumns {
  return {
    ...recordColumns(column, covers),
    ...idColumns(column, covers),
    region: column('region', 'u16', covers),
    type: column('type', 'u16', covers),
    orderOfId: column('orderOfId', 'u16', covers),
  };
}

function recordColumns(column: ColumnReader, records: number): RecordColumns {
  return {
    byteOffset: column('offset', 'u32', records),
    byteLength: column('length', 'u32', records),
    hash: column('hash', 'u32', records * 2),
  };
}

/** What is needed of the record of a platform. A slug becomes part of headers and of names of packs. */
const PLATFORM = { slug: isSlug, name: isString, game_count: isCount, cover_count: isCount };

/** Reads `platforms.json`, the body that the API sends, with a record on each line. */
function readPlatforms(body: Uint8Array): PlatformEntry[] {
  // Latin-1 keeps every byte as a character.
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1');
  const lines = text.split('\n').slice(1, -1);
  const records = lines.map((line) => line.replace(/,$/, ''));
  const head = listHead(records.length);
  if (head + records.join(RECORD_SEPARATOR) + listTail(records.length) !== text) {
    throw damaged(PLATFORMS, 'it is not a list of platforms');
  }
  let firstGame = 0;
  let firstCover = 0;
  return records.map((line) => {
    const record = Buffer.from(line, 'latin1');
    const found = readMembers(parseObject(record, PLATFORMS), PLATFORMS, PLATFORM);
    const { slug, name, game_count: games, cover_count: covers } = found;
    const hash = hashBytes(record);
    const platform = { slug, name, firstGame, games, firstCover, covers, record, hash };
    firstGame += games;
    firstCover += covers;
    return platform;
  });
}

export function gameSlug({ games }: RecordIndex, game: GameNumber): string {
  const start = games.slugStart[game];
  const end = games.slugStart[game + 1];
  return Buffer.from(
    games.slugText.buffer,
    games.slugText.byteOffset + start,
    end - start,
  ).toString('latin1');
}

/** The path of a game in the API. */
export function pathOfGame(index: RecordIndex, game: GameNumber): string {
  const { slug } = index.platforms[platformOf(index.platforms, 'firstGame', game)];
  return `/games/${slug}/${gameSlug(index, game)}`;
}

/** The slugs of the platforms in ascending order, which is not that of `platforms.json`. */
export function sortedSlugs({ platforms }: RecordIndex): string[] {
  return platforms.map(({ slug }) => slug).sort();
}

/** The platform that has a slug; undefined if there is none. */
export function findPlatform(index: RecordIndex, slug: string): PlatformEntry | undefined {
  return index.platforms[index.platformBySlug.get(slug) ?? -1];
}

/**
 * The CRC-32 of a slug. A request for a game takes 29 µs of processor time if hashes are bisected, and 38 µs
 * if slugs are.
 */
export function hashSlug(slug: string | Uint8Array): number {
  return crc32(slug);
}

/** The game of a platform that has a slug; undefined if there is none. */
export function findGame(
  { games, platforms }: RecordIndex,
  platform: number,
  slug: string,
): GameNumber | undefined {
  const { bySlug, slugHash } = games;
  const slugs = { text: games.slugText, textStart: games.slugStart };
  const { firstGame, games: count } = platforms[platform];
  const hash = hashSlug(slug);
  const compare = (at: number) => slugHash[at] - hash || compareText(slugs, bySlug[at], slug);
  const at = firstIndex(firstGame, firstGame + count, (index) => compare(index) >= 0);
  return at < firstGame + count && compare(at) === 0 ? bySlug[at] : undefined;
}

/** The platform that has the game (or the cover) with a number. */
export function platformOf(
  platforms: readonly PlatformEntry[],
  first: 'firstGame' | 'firstCover',
  number: number,
): number {
  // Several platforms can start at the same number: all of them but the last are empty.
  return firstIndex(1, platforms.length, (at) => platforms[at][first] > number) - 1;
}
