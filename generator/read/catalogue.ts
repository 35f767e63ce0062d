/**
 * The rows of a run in memory: columns of numbers, and the texts of records outside of V8's heap. Both are
 * in memory that threads share, and neither costs the garbage collector anything: with an object per row,
 * 300,000 games took half as much processor time again, and 950 MB.
 */
import { firstIndexNear, sharedZeros } from '../../lib/format/index/arrays.ts';
import { evenlySpaced, type Id, splitId, textOfId } from '../../lib/format/index/ids.ts';

export interface Platform {
  readonly slug: string;
  readonly name: string;
}

/** Used instead of the index of a platform, a game or a cover that is not published. */
export const LEFT_OUT = 0xffff_ffff;
export const NO_YEAR = -0x8000;

/**
 * The games that were read, one row each, in the order of their ids. Games that were left out have a row,
 * too, so that their covers can be left out.
 */
export interface Games extends RecordTexts {
  readonly rows: number;
  readonly ids: Ids;
  /** The platform's number, or {@link LEFT_OUT}. */
  readonly platform: Uint32Array;
  /** The release year, or {@link NO_YEAR} if it is unknown. */
  readonly year: Int16Array;
  /** The distinct genres strings, and for each game the index of its own. */
  readonly genres: readonly (string | null)[];
  readonly genresOf: Uint32Array;
}

/** The covers that were read, one row each, in the order of their ids. */
export interface Covers {
  readonly rows: number;
  readonly ids: Ids;
  /** The row of the cover's game, or {@link LEFT_OUT} if the cover is not published. */
  readonly game: Uint32Array;
  /** The distinct regions and types. */
  readonly regions: readonly (string | null)[];
  readonly types: readonly (string | null)[];
  /** The index of the cover's region and type in `regions` and `types`. */
  readonly region: Uint32Array;
  readonly type: Uint32Array;
  /** Seconds since 1970, or NaN if the time is unknown. */
  readonly approvedAt: Float64Array;
  /** The first and the last of the cover's files, or {@link LEFT_OUT}. */
  readonly firstFile: Uint32Array;
  readonly lastFile: Uint32Array;
}

/** The files of published covers that were read. */
export interface Files extends RecordTexts {
  /** The next file of the same cover, or {@link LEFT_OUT}. */
  readonly next: Uint32Array;
}

/** For each row, where the text of its record is in `texts`, and its length in bytes. */
export interface RecordTexts {
  readonly texts: Texts;
  readonly position: Float64Array;
  readonly length: Uint32Array;
}

/** Texts in large blocks of memory. No text spans two blocks. */
export type Texts = readonly SharedArrayBuffer[];

const BLOCK_BYTES = 4 * 1024 * 1024;
/** A position is the index of a block times this, plus the position in the block. */
const POSITIONS_PER_BLOCK = 2 ** 32;

/** @returns `texts`, and a function that adds a text for a row of `target` */
export function makeTexts() {
  const texts: SharedArrayBuffer[] = [];
  let buffer: Buffer = Buffer.alloc(0);
  let end = 0;
  return {
    texts,
    add({ position, length }: Omit<RecordTexts, 'texts'>, row: number, text: string): void {
      // UTF-8 takes at most three bytes per code unit.
      const most = text.length * 3;
      if (end + most > buffer.length) {
        const block = new SharedArrayBuffer(Math.max(most, BLOCK_BYTES));
        texts.push(block);
        buffer = Buffer.from(block);
        end = 0;
      }
      position[row] = (texts.length - 1) * POSITIONS_PER_BLOCK + end;
      length[row] = buffer.write(text, end);
      end += length[row];
    },
  };
}

/** @returns functions that return the block with a position, and the index in it */
export function openTexts(texts: Texts) {
  const buffers = texts.map((block) => Buffer.from(block));
  return {
    blockOf: (position: number) => buffers[Math.floor(position / POSITIONS_PER_BLOCK)],
    indexOf: (position: number) => position % POSITIONS_PER_BLOCK,
  };
}

/** @param rows how many games there will be at most */
export function makeGames(rows: number) {
  return {
    ids: makeIds(rows),
    platform: sharedZeros(Uint32Array, rows).fill(LEFT_OUT),
    year: sharedZeros(Int16Array, rows),
    genresOf: sharedZeros(Uint32Array, rows),
    position: sharedZeros(Float64Array, rows),
    length: sharedZeros(Uint32Array, rows),
  };
}

/** @param rows how many covers there will be at most */
export function makeCovers(rows: number) {
  return {
    ids: makeIds(rows),
    game: sharedZeros(Uint32Array, rows).fill(LEFT_OUT),
    region: sharedZeros(Uint32Array, rows),
    type: sharedZeros(Uint32Array, rows),
    approvedAt: sharedZeros(Float64Array, rows),
    firstFile: sharedZeros(Uint32Array, rows).fill(LEFT_OUT),
    lastFile: sharedZeros(Uint32Array, rows),
  };
}

/** @param rows how many files there will be at most */
export function makeFiles(rows: number) {
  return {
    next: sharedZeros(Uint32Array, rows),
    position: sharedZeros(Float64Array, rows),
    length: sharedZeros(Uint32Array, rows),
  };
}

function makeIds(rows: number): Ids {
  return { high: sharedZeros(Uint32Array, rows), low: sharedZeros(Uint32Array, rows) };
}

/** The rows whose value in a column is not LEFT_OUT. */
export function publishedRows(column: Uint32Array, rows: number): Uint32Array {
  const found = new Uint32Array(rows);
  let count = 0;
  for (let row = 0; row < rows; row++) if (column[row] !== LEFT_OUT) found[count++] = row;
  return found.subarray(0, count);
}

/** A column of unsigned 64-bit ids, as their upper and lower halves. */
export interface Ids {
  readonly high: Uint32Array;
  readonly low: Uint32Array;
}

/** Converts a value of an id column; undefined if it is not an unsigned 64-bit integer. */
export function readId(value: string | number | null): Id | undefined {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || value < 0) return undefined;
    return [Math.floor(value / 2 ** 32), value >>> 0];
  }
  return value === null ? undefined : splitId(value);
}

/**
 * The row that has an id, or -1.
 * @param rows the number of rows, which are in ascending order of their ids
 * @param guess the row found last. Usually that row or the next one has the id, since the rows of a
 * table refer to those of another in about the same order.
 */
export function findId({ high, low }: Ids, rows: number, id: Id, guess: number): number {
  const compareAt = (row: number) => high[row] - id[0] || low[row] - id[1];
  if (guess < rows && compareAt(guess) === 0) return guess;
  if (guess + 1 < rows && compareAt(guess + 1) === 0) return guess + 1;
  if (rows === 0) return -1;
  const idOf = (row: number): Id => [high[row], low[row]];
  const near = evenlySpaced(idOf(0), idOf(rows - 1), rows, id);
  const row = firstIndexNear(near, 0, rows, (at) => compareAt(at) >= 0);
  return row < rows && compareAt(row) === 0 ? row : -1;
}

/** An id as a database returns it: a number, or its decimal digits if it is beyond 2^53. */
export function valueOfId(id: Id): number | string {
  const text = textOfId(id);
  return Number.isSafeInteger(Number(text)) ? Number(text) : text;
}
