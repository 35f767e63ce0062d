/**
 * The index of games and covers. It finds the pack and the byte range of a record by the path of a game,
 * or by the id of a game or cover (`ids.ts`).
 *
 * Games are numbered platform by platform, and in title order within a platform. Covers are numbered in
 * the order of their games, and within a game in the order in which the API lists them. So every list
 * is a range of numbers, and a range of numbers of one platform is a range of bytes of its pack.
 */
import type { ContentHash } from '../content-hash.ts';
import { COVER_INDEX, GAME_INDEX, PATH_INDEX, PLATFORM_INDEX } from '../layout.ts';
import { equalsAscii, firstIndex } from './arrays.ts';
import { type Columns, columnsOf, damaged, openColumns } from './columns.ts';
import type { IdColumns } from './ids.ts';

/** An entry of `index/platforms.json`. The number of a platform is the index of its entry. */
export interface PlatformEntry {
  readonly slug: string;
  readonly name: string;
  /** The number of the platform's first game, and how many games it has. */
  readonly first_game: number;
  readonly games: number;
  /** The number of the platform's first cover, and how many covers it has. */
  readonly first_cover: number;
  readonly covers: number;
  /** The position of the platform's record in `platforms.json`, in bytes, and its content hash. */
  readonly offset: number;
  readonly length: number;
  readonly hash: ContentHash;
}

/** For the number of each game, or of each cover: the position of its record. */
export interface RecordColumns {
  /** Where the record starts in its pack. In the file, this column is called `offset`. */
  readonly byteOffset: Uint32Array | Float64Array;
  /** The length without the separator. In the file, this column is called `length`. */
  readonly byteLength: Uint32Array;
  /** The content hash: two entries per record. */
  readonly hash: Uint32Array;
}

/** The columns of `index/games.bin`: what changes with a record. */
export interface GamePositions extends RecordColumns {
  /** The number of the game's first cover, and at the end the number of all covers. */
  readonly firstCover: Uint32Array;
}

/** The columns of `index/paths.bin`: what changes with a title, a path, or the number of games. */
export interface GamePaths extends IdColumns {
  /** The game's index in title order over all platforms. */
  readonly rank: Uint32Array;
  /** For each rank, the number of the game. */
  readonly gameOfRank: Uint32Array;
  /** Where the game's slug starts in `slugText`, and at the end the length of `slugText`. */
  readonly slugStart: Uint32Array;
  /** The slugs in ASCII, concatenated. */
  readonly slugText: Uint8Array;
  /**
   * Hash table of the games by path. A slot holds the number of a game plus 1, or 0 if it is empty. The
   * number of slots is a power of two.
   */
  readonly slots: Uint32Array;
}

export interface GameColumns extends GamePositions, GamePaths {}

export interface CoverColumns extends RecordColumns, IdColumns {
  /** The index of the cover's region in the regions of the search index, or {@link NO_VALUE}. */
  readonly region: Uint16Array;
  /** The index of the cover's type in the types of the search index, or {@link NO_VALUE}. */
  readonly type: Uint16Array;
  /** The index of the cover among those of its game in the order of their ids, at most 65,535. */
  readonly orderOfId: Uint16Array;
}

/**
 * For a cover whose region or type is unknown. It also stands for the values from this index on; no
 * catalogue has nearly as many.
 */
export const NO_VALUE = 0xffff;

export interface RecordIndex {
  readonly platforms: readonly PlatformEntry[];
  /** For each slug, the number of the platform. */
  readonly platformBySlug: ReadonlyMap<string, number>;
  readonly games: GameColumns;
  readonly covers: CoverColumns;
}

/**
 * @param contentOf returns the content of a file of the index by its name
 * @throws Error that names the damaged file
 */
export function openRecordIndex(contentOf: (name: string) => Uint8Array): RecordIndex {
  const platforms = parsePlatforms(contentOf(PLATFORM_INDEX));
  const [ofGames, ofPaths, ofCovers] = [GAME_INDEX, PATH_INDEX, COVER_INDEX].map((name) =>
    openColumns(contentOf(name), name),
  );
  const u32 = Uint32Array;
  const ids = { idHigh: u32, idLow: u32, numberOfId: u32 };
  const ofCover = { region: Uint16Array, type: Uint16Array, orderOfId: Uint16Array };
  const ofPath = { rank: u32, gameOfRank: u32, slugStart: u32, slugText: Uint8Array, slots: u32 };
  const index: RecordIndex = {
    platforms,
    platformBySlug: new Map(platforms.map(({ slug }, number) => [slug, number])),
    games: {
      ...recordColumns(ofGames, GAME_INDEX),
      ...columnsOf(ofGames, { firstCover: u32 }, GAME_INDEX),
      ...columnsOf(ofPaths, { ...ofPath, ...ids }, PATH_INDEX),
    },
    covers: {
      ...recordColumns(ofCovers, COVER_INDEX),
      ...columnsOf(ofCovers, { ...ofCover, ...ids }, COVER_INDEX),
    },
  };
  checkLengths(index);
  return index;
}

function recordColumns(columns: Columns, file: string): RecordColumns {
  const { length, hash } = columnsOf(columns, { length: Uint32Array, hash: Uint32Array }, file);
  // 32 bits per record are enough if each pack is smaller than 4 GiB.
  const Offset = columns.offset instanceof Uint32Array ? Uint32Array : Float64Array;
  const { offset } = columnsOf(columns, { offset: Offset }, file);
  return { byteOffset: offset, byteLength: length, hash };
}

/** The bytes of `index/platforms.json`: a JSON array with one platform per line. */
export function encodePlatforms(platforms: readonly PlatformEntry[]): string {
  return `[\n${platforms.map((platform) => JSON.stringify(platform)).join(',\n')}\n]\n`;
}

export function gameSlug({ games }: RecordIndex, game: number): string {
  const start = games.slugStart[game];
  const end = games.slugStart[game + 1];
  return Buffer.from(
    games.slugText.buffer,
    games.slugText.byteOffset + start,
    end - start,
  ).toString('latin1');
}

/** What {@link findGame} needs of an index. */
export interface GamesByPath {
  readonly platforms: readonly PlatformEntry[];
  readonly games: Pick<GamePaths, 'slots' | 'slugStart' | 'slugText'>;
}

/**
 * Finds the game of a platform that has a slug.
 * @returns the number of the game, or undefined
 */
export function findGame(
  { games, platforms }: GamesByPath,
  platform: number,
  slug: string,
): number | undefined {
  const { slots, slugText, slugStart } = games;
  const { first_game, games: count } = platforms[platform];
  const mask = slots.length - 1;
  let slot = slugHash(platform, slug) & mask;
  // The check of the index refuses a table without an empty slot. The bound makes sure that this ends.
  for (let probes = 0; probes < slots.length; probes++, slot = (slot + 1) & mask) {
    const game = slots[slot] - 1;
    if (game < 0) return undefined;
    if (game < first_game || game >= first_game + count) continue;
    const [start, end] = [slugStart[game], slugStart[game + 1]];
    if (equalsAscii(slug, slugText, start, end)) return game;
  }
  return undefined;
}

/**
 * Makes the hash table that {@link findGame} uses.
 * @param games how many games there are
 * @param platformOf returns the number of a game's platform
 * @param slugOf returns the slug of a game
 */
export function makeSlots(
  games: number,
  platformOf: (game: number) => number,
  slugOf: (game: number) => string,
): Uint32Array {
  // At most half of the slots are taken, so that a look-up that finds nothing ends after a step or two.
  const slots = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(games, 1) * 2)));
  const mask = slots.length - 1;
  for (let game = 0; game < games; game++) {
    let slot = slugHash(platformOf(game), slugOf(game)) & mask;
    while (slots[slot] !== 0) slot = (slot + 1) & mask;
    slots[slot] = game + 1;
  }
  return slots;
}

/** The platform that has the game (or the cover) with a number. */
export function platformOf(
  platforms: readonly PlatformEntry[],
  first: 'first_game' | 'first_cover',
  number: number,
): number {
  // Several platforms can start at the same number: all of them but the last are empty.
  return firstIndex(1, platforms.length, (at) => platforms[at][first] > number) - 1;
}

/** The hash of a game's path in the hash table. */
export function slugHash(platform: number, slug: string): number {
  let hash = 0x811c9dc5 ^ platform;
  for (let i = 0; i < slug.length; i++) hash = Math.imul(hash ^ slug.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

function parsePlatforms(file: Uint8Array): PlatformEntry[] {
  let found: unknown;
  try {
    found = JSON.parse(Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString('utf8'));
  } catch (cause) {
    throw damaged(PLATFORM_INDEX, 'it is not JSON', cause);
  }
  if (!Array.isArray(found) || !found.every(isPlatform)) {
    throw damaged(PLATFORM_INDEX, 'it is not a list of platforms');
  }
  return found;
}

function isPlatform(entry: PlatformEntry | null): boolean {
  const { first_game, games, first_cover, covers, offset, length, hash } = Object(entry);
  return (
    typeof entry?.slug === 'string' &&
    typeof entry.name === 'string' &&
    Array.isArray(hash) &&
    hash.length === 2 &&
    [first_game, games, first_cover, covers, offset, length, ...hash].every(
      (number) => Number.isSafeInteger(number) && number >= 0,
    )
  );
}

function checkLengths({ platforms, games, covers }: RecordIndex): void {
  const gameCount = games.byteOffset.length;
  const coverCount = covers.byteOffset.length;
  const last = platforms.at(-1);
  const fits = {
    [GAME_INDEX]:
      games.byteLength.length === gameCount &&
      games.hash.length === gameCount * 2 &&
      games.firstCover.length === gameCount + 1,
    [PATH_INDEX]:
      games.rank.length === gameCount &&
      games.gameOfRank.length === gameCount &&
      games.slugStart.length === gameCount + 1 &&
      games.slugStart[gameCount] === games.slugText.length &&
      games.slots.length > gameCount &&
      (games.slots.length & (games.slots.length - 1)) === 0 &&
      haveIds(games, gameCount),
    [COVER_INDEX]:
      games.firstCover[gameCount] === coverCount &&
      covers.byteLength.length === coverCount &&
      covers.hash.length === coverCount * 2 &&
      covers.region.length === coverCount &&
      covers.type.length === coverCount &&
      covers.orderOfId.length === coverCount &&
      haveIds(covers, coverCount),
    [PLATFORM_INDEX]:
      (last?.first_game ?? 0) + (last?.games ?? 0) === gameCount &&
      (last?.first_cover ?? 0) + (last?.covers ?? 0) === coverCount,
  };
  for (const [file, isFit] of Object.entries(fits)) {
    if (!isFit) throw damaged(file, 'its lengths do not fit the rest of the index');
  }
}

function haveIds({ idHigh, idLow, numberOfId }: IdColumns, count: number): boolean {
  return (
    (idHigh.length === count || idHigh.length === 0) &&
    idLow.length === count &&
    numberOfId.length === count
  );
}
