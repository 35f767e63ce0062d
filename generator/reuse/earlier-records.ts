/**
 * The records of the generation that an earlier run has published. Records that are still the same are
 * copied from it. Before a record is copied, its content hash or the hash of its whole pack is checked.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { hashBytes } from '../../format/content-hash.ts';
import { type Column, column as columnOf } from '../../format/index/columns.ts';
import {
  findGame,
  type GamePositions,
  offsets,
  type PlatformEntry,
  parsePlatforms,
  platformOf,
  type RecordColumns,
} from '../../format/index/record-index.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import {
  COVER_INDEX,
  coversPack,
  GAME_INDEX,
  gamesPack,
  PATH_INDEX,
  PLATFORM_INDEX,
} from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { readColumns } from '../../store/files/checked-columns.ts';
import { checkFile, readChecked } from '../../store/files/checked-files.ts';
import { type Covers, type Games, LEFT_OUT } from '../columns/catalogue.ts';

export interface Records extends RecordColumns {
  /** For each cached row, the number of its record, or LEFT_OUT. */
  readonly numberOf: Uint32Array;
}

export interface EarlierRecords {
  /** The folder of the generation. */
  readonly dir: string;
  readonly files: readonly ManifestFile[];
  readonly platforms: readonly PlatformEntry[];
  /** For each cached row of a game, the number of its record, or LEFT_OUT. */
  readonly numberOfGame: Uint32Array;
  /** The cached rows of the games in title order. */
  readonly rowOfRank: Uint32Array;
  readonly covers: Records;
}

/**
 * What is needed to copy records. The rest of the index is not kept in memory.
 * @param games as cached by the run that wrote the generation
 * @throws Error if the generation is damaged, or does not fit the cached rows
 */
export function openEarlierRecords(
  dir: string,
  files: readonly ManifestFile[],
  games: Games,
  covers: Covers,
): EarlierRecords {
  const platformIndex = fileOf(files, PLATFORM_INDEX);
  const platforms = reading(() => parsePlatforms(readChecked(dir, platformIndex)));
  const ofPaths = openIndex(dir, files, PATH_INDEX, ['numberOfId', 'gameOfRank']);
  const ofCovers = openIndex(dir, files, COVER_INDEX, [...POSITION_COLUMNS, 'numberOfId']);
  const publishedGames = games.platform.subarray(0, games.rows);
  const publishedCovers = covers.game.subarray(0, covers.rows);
  const numberOfGame = numbersOf(ofPaths.column('numberOfId', Uint32Array), publishedGames);
  const rowOfRank = ofPaths.column('gameOfRank', Uint32Array);
  const rowOfGame = rowsOf(numberOfGame, rowOfRank.length);
  for (let rank = 0; rank < rowOfRank.length; rank++) rowOfRank[rank] = rowOfGame[rowOfRank[rank]];
  return {
    dir,
    files,
    platforms,
    numberOfGame,
    rowOfRank,
    covers: {
      ...ofCovers.positions(),
      numberOf: numbersOf(ofCovers.column('numberOfId', Uint32Array), publishedCovers),
    },
  };
}

/** @throws Error if the generation is damaged */
export function openEarlierGames({ dir, files }: EarlierRecords): GamePositions {
  const index = openIndex(dir, files, GAME_INDEX, [...POSITION_COLUMNS, 'firstCover'], ArrayBuffer);
  return { ...index.positions(), firstCover: index.column('firstCover', Uint32Array) };
}

/**
 * @returns a function that returns the cached row of the game that was published with a path, or undefined
 * if there was none
 * @throws Error if the generation is damaged
 */
export function openEarlierPaths({
  dir,
  files,
  platforms,
  numberOfGame,
  rowOfRank,
}: EarlierRecords): (platform: number, slug: string) => number | undefined {
  const { column } = openIndex(
    dir,
    files,
    PATH_INDEX,
    ['slots', 'slugStart', 'slugText'],
    ArrayBuffer,
  );
  const games = {
    slots: column('slots', Uint32Array),
    slugStart: column('slugStart', Uint32Array),
    slugText: column('slugText', Uint8Array),
  };
  const rowOfGame = rowsOf(numberOfGame, rowOfRank.length);
  return (platform, slug) => {
    const game = findGame({ platforms, games }, platform, slug);
    return game === undefined ? undefined : rowOfGame[game];
  };
}

/** For the number of each game, its cached row. */
function rowsOf(numberOfGame: Uint32Array, games: number): Uint32Array {
  const rowOfGame = new Uint32Array(games);
  numberOfGame.forEach((number, row) => {
    if (number !== LEFT_OUT) rowOfGame[number] = row;
  });
  return rowOfGame;
}

/** The columns of {@link RecordColumns}, under the names that they have in the files. */
const POSITION_COLUMNS = ['offset', 'length', 'hash'];

/** @param Memory by default, one that threads share; V8 frees any other sooner */
function openIndex(
  dir: string,
  files: readonly ManifestFile[],
  name: string,
  names: readonly string[],
  Memory: new (bytes: number) => ArrayBufferLike = SharedArrayBuffer,
) {
  const file = fileOf(files, name);
  const columns = reading(() => readColumns(dir, file, Memory, names));
  const of = <T extends Column>(column: string, Type: new (length: number) => T) =>
    columnOf(columns, column, Type, name);
  return {
    column: of,
    positions: (): RecordColumns => ({
      byteOffset: offsets(columns, name),
      byteLength: of('length', Uint32Array),
      hash: of('hash', Uint32Array),
    }),
  };
}

function fileOf(files: readonly ManifestFile[], name: string): ManifestFile {
  const file = files.find((entry) => entry.path === name);
  if (file === undefined) throw new Error(`the current generation has no ${name}`);
  return file;
}

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new Error(`the current generation is damaged (${(cause as Error).message})`, { cause });
  }
}

/**
 * @param numberOfId the numbers of all records in the order of their ids, which is that of the rows, too
 * @param column LEFT_OUT for the rows that have no records
 * @returns for each row, the number of its record, or LEFT_OUT
 */
function numbersOf(numberOfId: Uint32Array, column: Uint32Array): Uint32Array {
  const numberOf = sharedZeros(Uint32Array, column.length).fill(LEFT_OUT);
  let record = 0;
  for (let row = 0; row < column.length; row++) {
    if (column[row] === LEFT_OUT) continue;
    if (record < numberOfId.length) numberOf[row] = numberOfId[record];
    record++;
  }
  if (record !== numberOfId.length) {
    throw new Error('the cached rows are not those of the current generation');
  }
  return numberOf;
}

/** Reads records from the packs of the generation. Fastest in ascending order of their numbers. */
export interface RecordReader {
  /** The bytes of a record, valid until the next call. @throws Error if it is damaged */
  read(number: number): Buffer;
  /**
   * The bytes of consecutive records of a pack with the separators between them, in pieces, each valid
   * until the next. @throws Error if the pack is damaged
   */
  readRun(first: number, last: number): Iterable<Buffer>;
  close(): void;
}

const WINDOW_BYTES = 256 * 1024;

interface OpenPack {
  readonly file: ManifestFile;
  readonly descriptor: number;
  isChecked: boolean;
}

/** @param records the positions of the games or covers */
export function openRecords(
  { dir, platforms, files }: EarlierRecords,
  kind: 'games' | 'covers',
  records: RecordColumns,
): RecordReader {
  const [firstMember, packOf] =
    kind === 'games'
      ? (['first_game', gamesPack] as const)
      : (['first_cover', coversPack] as const);
  const open = new Map<number, OpenPack>();
  const packWith = (number: number): OpenPack => {
    const platform = platformOf(platforms, firstMember, number);
    let pack = open.get(platform);
    if (pack === undefined) {
      const file = fileOf(files, packOf(platforms[platform].slug));
      pack = { file, descriptor: openSync(path.join(dir, file.path), 'r'), isChecked: false };
      open.set(platform, pack);
    }
    return pack;
  };

  let memory = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  /** The bytes of a pack around the record that was read last. */
  let window = { pack: undefined as OpenPack | undefined, start: 0, bytes: memory.subarray(0, 0) };
  const piece = Buffer.allocUnsafeSlow(WINDOW_BYTES);

  return {
    read(number) {
      const pack = packWith(number);
      const offset = records.byteOffset[number];
      const length = records.byteLength[number];
      const end = window.start + window.bytes.length;
      if (window.pack !== pack || offset < window.start || offset + length > end) {
        if (memory.length < length) memory = Buffer.allocUnsafeSlow(length * 2);
        const bytes = memory.subarray(0, readUpTo(pack, memory, length, offset));
        window = { pack, start: offset, bytes };
      }
      const record = window.bytes.subarray(offset - window.start, offset - window.start + length);
      const [high, low] = hashBytes(record);
      if (high !== records.hash[number * 2] || low !== records.hash[number * 2 + 1]) {
        throw new Error(`a record in ${pack.file.path} of the current generation is damaged`);
      }
      return record;
    },
    *readRun(first, last) {
      const pack = packWith(first);
      // To hash the whole pack takes a fraction of the time of hashing one record after another.
      if (!pack.isChecked) checkFile(dir, pack.file);
      pack.isChecked = true;
      const end = records.byteOffset[last] + records.byteLength[last];
      for (let at = records.byteOffset[first]; at < end; ) {
        const bytes = piece.subarray(0, Math.min(piece.length, end - at));
        readUpTo(pack, bytes, bytes.length, at);
        at += bytes.length;
        yield bytes;
      }
    },
    close() {
      for (const { descriptor } of open.values()) closeSync(descriptor);
    },
  };
}

/** Fills `target`, or stops at the end of the file if it has at least `least` bytes by then. */
function readUpTo(
  { descriptor, file }: OpenPack,
  target: Buffer,
  least: number,
  position: number,
): number {
  let done = 0;
  while (done < target.length) {
    const read = readSync(descriptor, target, done, target.length - done, position + done);
    if (read === 0) break;
    done += read;
  }
  if (done < least) throw new Error(`${file.path} ends before byte ${position + least}.`);
  return done;
}
