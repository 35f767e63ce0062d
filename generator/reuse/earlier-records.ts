/**
 * The records of the generation that an earlier run has published. Records that are still the same are
 * copied from it. The content hash of each copied record is checked.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { hashBytes } from '../../format/content-hash.ts';
import type { IdColumns } from '../../format/index/ids.ts';
import {
  findGame,
  type PlatformEntry,
  platformOf,
  type RecordColumns,
  type RecordIndex,
} from '../../format/index/record-index.ts';
import { type NumberArrayType, sharedZeros } from '../../format/index/shared-zeros.ts';
import { coversPack, gamesPack } from '../../format/layout.ts';
import type { Manifest, ManifestFile } from '../../format/manifest.ts';
import { checkFile, readChecked } from '../../store/files/checked-files.ts';
import { openIndex } from '../../store/generations/open-index.ts';
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
  readonly games: Records;
  readonly covers: Records;
  /** For the number of each game, the number of its first cover, and at the end that of all covers. */
  readonly firstCover: Uint32Array;
  /** For the number of each game, its cached row. */
  readonly rowOfGame: Uint32Array;
  /** The cached rows of the games in title order. */
  readonly rowOfRank: Uint32Array;
}

/**
 * Opens the index of a generation in memory that threads share.
 * @throws Error if the generation is damaged
 */
export function openSharedIndex(dir: string, manifest: Manifest): RecordIndex {
  try {
    return openIndex(manifest, (name) => {
      const file = manifest.files.find((entry) => entry.path === name);
      if (file === undefined) throw new Error(`${name} is not in its manifest.`);
      return readChecked(dir, file, SharedArrayBuffer);
    });
  } catch (cause) {
    throw new Error(`the current generation is damaged (${(cause as Error).message})`);
  }
}

/**
 * What is needed to copy records. It keeps only a part of the index in memory.
 * @param games as cached by the run that wrote the generation
 * @throws Error if the generation does not fit the cached rows
 */
export function openEarlierRecords(
  dir: string,
  files: readonly ManifestFile[],
  index: RecordIndex,
  games: Games,
  covers: Covers,
): EarlierRecords {
  const gameRecords = recordsOf(index.games, games.platform.subarray(0, games.rows));
  const coverRecords = recordsOf(index.covers, covers.game.subarray(0, covers.rows));
  const rowOfGame = sharedZeros(Uint32Array, index.games.byteLength.length);
  for (let row = 0; row < gameRecords.numberOf.length; row++) {
    const number = gameRecords.numberOf[row];
    if (number !== LEFT_OUT) rowOfGame[number] = row;
  }
  const rowOfRank = sharedZeros(Uint32Array, rowOfGame.length);
  for (let rank = 0; rank < rowOfRank.length; rank++) {
    rowOfRank[rank] = rowOfGame[index.games.gameOfRank[rank]];
  }
  return {
    dir,
    files,
    platforms: index.platforms,
    games: gameRecords,
    covers: withoutIndex(coverRecords),
    firstCover: index.games.firstCover,
    rowOfGame,
    rowOfRank,
  };
}

/** The cached row of the game that was published with a path; undefined if there was none. */
export function cachedRowOfPath(
  index: RecordIndex,
  { rowOfGame }: EarlierRecords,
  platform: number,
  slug: string,
): number | undefined {
  const game = findGame(index, platform, slug);
  return game === undefined ? undefined : rowOfGame[game];
}

/** @param column LEFT_OUT for the rows that have no records */
function recordsOf(index: RecordColumns & IdColumns, column: Uint32Array): Records {
  const { byteOffset, byteLength, hash, numberOfId } = index;
  const numberOf = sharedZeros(Uint32Array, column.length).fill(LEFT_OUT);
  // Records have the order of their ids here, as rows have.
  let record = 0;
  for (let row = 0; row < column.length; row++) {
    if (column[row] === LEFT_OUT) continue;
    if (record < numberOfId.length) numberOf[row] = numberOfId[record];
    record++;
  }
  if (record !== numberOfId.length) {
    throw new Error('the cached rows are not those of the current generation');
  }
  return { byteOffset, byteLength, hash, numberOf };
}

/** The index of covers has other columns, too. They take memory as long as one of its columns is used. */
function withoutIndex({ byteOffset, byteLength, hash, numberOf }: Records): Records {
  return {
    byteOffset:
      byteOffset instanceof Uint32Array
        ? sharedCopy(Uint32Array, byteOffset)
        : sharedCopy(Float64Array, byteOffset),
    byteLength: sharedCopy(Uint32Array, byteLength),
    hash: sharedCopy(Uint32Array, hash),
    numberOf,
  };
}

function sharedCopy<T extends Uint32Array | Float64Array>(Type: NumberArrayType<T>, column: T): T {
  const copy = sharedZeros(Type, column.length);
  copy.set(column);
  return copy;
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

export function openRecords(
  { dir, platforms, files, ...earlier }: EarlierRecords,
  kind: 'games' | 'covers',
): RecordReader {
  const records = earlier[kind];
  const [first, packOf] =
    kind === 'games'
      ? (['first_game', gamesPack] as const)
      : (['first_cover', coversPack] as const);
  const open = new Map<number, OpenPack>();
  const packWith = (number: number): OpenPack => {
    const platform = platformOf(platforms, first, number);
    let pack = open.get(platform);
    if (pack === undefined) {
      const name = packOf(platforms[platform].slug);
      const file = files.find((entry) => entry.path === name);
      if (file === undefined) throw new Error(`the current generation has no ${name}`);
      pack = { file, descriptor: openSync(path.join(dir, name), 'r'), isChecked: false };
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
    *readRun(from, to) {
      const pack = packWith(from);
      // To hash the whole pack takes a fraction of the time of hashing one record after another.
      if (!pack.isChecked) checkFile(dir, pack.file);
      pack.isChecked = true;
      const end = records.byteOffset[to] + records.byteLength[to];
      for (let at = records.byteOffset[from]; at < end; ) {
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
