/**
 * Checks all values of the record index that a reader relies on: every number refers to something that
 * exists, and every record lies inside its pack. A valid SHA-256 shows only that a file is the one that
 * the manifest names, not that a generator made it. The time grows linearly with the index.
 */
import {
  COVER_INDEX,
  coversPack,
  GAME_INDEX,
  gamesPack,
  isSlug,
  PATH_INDEX,
  PLATFORM_INDEX,
  PLATFORMS,
} from '../layout.ts';
import { EMPTY_PACK, PACK_HEAD, PACK_TAIL, RECORD_SEPARATOR } from '../pack.ts';
import { checkStarts, damaged } from './damaged.ts';
import { compareIdsAt, type IdColumns } from './ids.ts';
import type { PlatformEntry, RecordColumns, RecordIndex } from './record-index.ts';

/**
 * @param sizeOf returns the size of a file of the generation in bytes; undefined if it does not exist
 * @throws Error that names the file and its first fault
 */
export function checkRecordIndex(
  index: RecordIndex,
  sizeOf: (path: string) => number | undefined,
): void {
  checkPlatforms(index.platforms, sizeOf(PLATFORMS) ?? 0);
  for (const { slug, first_game, games, first_cover, covers } of index.platforms) {
    const gameRecords = { pack: gamesPack(slug), first: first_game, count: games };
    checkPack(index.games, GAME_INDEX, gameRecords, sizeOf);
    const coverRecords = { pack: coversPack(slug), first: first_cover, count: covers };
    checkPack(index.covers, COVER_INDEX, coverRecords, sizeOf);
  }
  checkStarts(index.games.slugStart, index.games.slugText.length, PATH_INDEX, 'slugStart');
  checkRanks(index);
  checkFirstCovers(index);
  checkSlots(index.games.slots, index.games.byteLength.length);
  checkIds(index.games, PATH_INDEX);
  checkIds(index.covers, COVER_INDEX);
}

function checkPlatforms(platforms: readonly PlatformEntry[], size: number): void {
  const slugs = new Set<string>();
  let game = 0;
  let cover = 0;
  for (const { slug, first_game, games, first_cover, covers, offset, length } of platforms) {
    const fault = (text: string) => damaged(PLATFORM_INDEX, `${JSON.stringify(slug)} ${text}`);
    // A slug becomes part of a header, and part of a path in the name of a pack.
    if (!isSlug(slug)) throw fault('is not a slug');
    if (slugs.has(slug)) throw fault('is there twice');
    slugs.add(slug);
    if (first_game !== game) throw fault(`has ${first_game} as its first game, not ${game}`);
    if (first_cover !== cover) throw fault(`has ${first_cover} as its first cover, not ${cover}`);
    if (offset + length > size) throw fault(`lies outside ${PLATFORMS}`);
    game += games;
    cover += covers;
  }
}

/** The records of a pack, by their numbers. */
interface PackRecords {
  readonly pack: string;
  readonly first: number;
  readonly count: number;
}

/** Checks that the records follow one another in a pack without gaps and fill it. */
function checkPack(
  { byteOffset, byteLength }: RecordColumns,
  indexFile: string,
  { pack, first, count }: PackRecords,
  sizeOf: (path: string) => number | undefined,
): void {
  const size = sizeOf(pack);
  if (size === undefined) throw damaged(PLATFORM_INDEX, `there is no ${pack}`);
  let at = PACK_HEAD.length;
  for (let number = first; number < first + count; number++) {
    if (byteOffset[number] !== at) {
      throw damaged(indexFile, `record ${number} is not at byte ${at} of ${pack}`);
    }
    at += byteLength[number] + RECORD_SEPARATOR.length;
  }
  const end = count === 0 ? EMPTY_PACK.length : at - RECORD_SEPARATOR.length + PACK_TAIL.length;
  if (end !== size) {
    throw damaged(indexFile, `its records take ${end} bytes of ${pack}, which has ${size}`);
  }
}

function checkRanks({ platforms, games: { rank, gameOfRank } }: RecordIndex): void {
  for (let game = 0; game < rank.length; game++) {
    if (gameOfRank[rank[game]] !== game) {
      throw damaged(PATH_INDEX, `"gameOfRank" does not lead back to game ${game}`);
    }
  }
  for (const { slug, first_game, games } of platforms) {
    for (let game = first_game + 1; game < first_game + games; game++) {
      if (rank[game] < rank[game - 1]) {
        throw damaged(PATH_INDEX, `the games of ${slug} are not in title order`);
      }
    }
  }
}

function checkFirstCovers({ platforms, games, covers }: RecordIndex): void {
  checkStarts(games.firstCover, covers.byteLength.length, GAME_INDEX, 'firstCover');
  for (const { slug, first_game, first_cover } of platforms) {
    if (games.firstCover[first_game] !== first_cover) {
      throw damaged(GAME_INDEX, `the covers of ${slug} do not begin with cover ${first_cover}`);
    }
  }
}

/** At least half of the slots must be empty, since a look-up ends at an empty slot. */
function checkSlots(slots: Uint32Array, games: number): void {
  let taken = 0;
  let highest = 0;
  for (let slot = 0; slot < slots.length; slot++) {
    const entry = slots[slot];
    if (entry !== 0) taken++;
    if (entry > highest) highest = entry;
  }
  if (slots.length < games * 2 || taken !== games) {
    throw damaged(PATH_INDEX, `${taken} of ${slots.length} slots are taken, by ${games} games`);
  }
  if (highest > games) throw damaged(PATH_INDEX, `a slot names game ${highest - 1} of ${games}`);
}

function checkIds(columns: IdColumns, file: string): void {
  const { numberOfId } = columns;
  const count = numberOfId.length;
  for (let position = 0; position < count; position++) {
    if (numberOfId[position] >= count) {
      throw damaged(file, `"numberOfId" names record ${numberOfId[position]} of ${count}`);
    }
    if (position === 0) continue;
    if (compareIdsAt(columns, position, columns, position - 1) <= 0) {
      throw damaged(file, 'its ids do not ascend');
    }
  }
}
