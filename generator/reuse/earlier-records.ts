/**
 * The records of the generation that an earlier run has published. Records that are still the same are
 * copied from it. The content hash of each copied record is checked.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { hashBytes } from '../../format/content-hash.ts';
import type { IdColumns } from '../../format/index/ids.ts';
import {
  type PlatformEntry,
  platformOf,
  type RecordColumns,
  type RecordIndex,
} from '../../format/index/record-index.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import { coversPack, gamesPack } from '../../format/layout.ts';
import type { Manifest, ManifestFile } from '../../format/manifest.ts';
import { readChecked } from '../../store/files/checked-files.ts';
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
  /** The cached rows of the games in title order. */
  readonly rowOfRank: Uint32Array;
}

/**
 * @param games as cached by the run that wrote the generation
 * @throws Error if the generation is damaged, or does not fit the cached rows
 */
export function openEarlierRecords(
  dir: string,
  manifest: Manifest,
  games: Games,
  covers: Covers,
): EarlierRecords {
  const index = openShared(dir, manifest);
  const gameRecords = recordsOf(index.games, games.platform.subarray(0, games.rows));
  const coverRecords = recordsOf(index.covers, covers.game.subarray(0, covers.rows));
  const rowOfNumber = new Uint32Array(index.games.byteLength.length);
  gameRecords.numberOf.forEach((number, row) => {
    if (number !== LEFT_OUT) rowOfNumber[number] = row;
  });
  return {
    dir,
    files: manifest.files,
    platforms: index.platforms,
    games: gameRecords,
    covers: coverRecords,
    firstCover: index.games.firstCover,
    rowOfRank: index.games.gameOfRank.map((number) => rowOfNumber[number]),
  };
}

function openShared(dir: string, manifest: Manifest): RecordIndex {
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

/** Reads records from the packs of the generation. Fastest in ascending order of their numbers. */
export interface RecordReader {
  /** The bytes of a record, valid until the next call. @throws Error if it is damaged */
  read(number: number): Buffer;
  close(): void;
}

const WINDOW_BYTES = 256 * 1024;

export function openRecords(
  { dir, platforms, ...earlier }: EarlierRecords,
  kind: 'games' | 'covers',
): RecordReader {
  const records = earlier[kind];
  const [first, packOf] =
    kind === 'games'
      ? (['first_game', gamesPack] as const)
      : (['first_cover', coversPack] as const);
  const open = new Map<number, ReturnType<typeof openPack>>();
  return {
    read(number) {
      const platform = platformOf(platforms, first, number);
      let pack = open.get(platform);
      if (pack === undefined) {
        pack = openPack(dir, packOf(platforms[platform].slug), records);
        open.set(platform, pack);
      }
      return pack.read(number);
    },
    close() {
      for (const pack of open.values()) pack.close();
    },
  };
}

function openPack(dir: string, name: string, records: RecordColumns): RecordReader {
  const descriptor = openSync(path.join(dir, name), 'r');
  let memory = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  let window = memory.subarray(0, 0);
  let start = 0;
  return {
    read(number) {
      const offset = records.byteOffset[number];
      const length = records.byteLength[number];
      if (offset < start || offset + length > start + window.length) {
        start = offset;
        if (memory.length < length) memory = Buffer.allocUnsafeSlow(length * 2);
        window = memory.subarray(0, readUpTo(descriptor, memory, length, offset, name));
      }
      const record = window.subarray(offset - start, offset - start + length);
      const [high, low] = hashBytes(record);
      if (high !== records.hash[number * 2] || low !== records.hash[number * 2 + 1]) {
        throw new Error(`a record in ${name} of the current generation is damaged`);
      }
      return record;
    },
    close: () => closeSync(descriptor),
  };
}

/** Fills `target`, or stops at the end of the file if it has at least `least` bytes by then. */
function readUpTo(
  descriptor: number,
  target: Buffer,
  least: number,
  position: number,
  name: string,
): number {
  let done = 0;
  while (done < target.length) {
    const read = readSync(descriptor, target, done, target.length - done, position + done);
    if (read === 0) break;
    done += read;
  }
  if (done < least) throw new Error(`${name} ends before byte ${position + least}.`);
  return done;
}
