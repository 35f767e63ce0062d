/**
 * Columns of rows in memory that both threads see: a number or a text a row, and no object. The
 * place of a row is where it stands in id order.
 */
import { splitId } from '../format/record-index.ts';

type NumberArray = Uint16Array | Uint32Array | Int16Array | Int32Array | Float64Array;
type NumberArrayType<T extends NumberArray> = {
  new (buffer: SharedArrayBuffer): T;
  readonly BYTES_PER_ELEMENT: number;
};

/** Numbers of so many rows, all zero. */
export function numbers<T extends NumberArray>(Type: NumberArrayType<T>, rows: number): T {
  return new Type(new SharedArrayBuffer(rows * Type.BYTES_PER_ELEMENT));
}

/** Unsigned 64-bit ids, as their upper and lower halves. */
export interface Ids {
  readonly high: Uint32Array;
  readonly low: Uint32Array;
}

export type Id = readonly [high: number, low: number];

export function ids(rows: number): Ids {
  return { high: numbers(Uint32Array, rows), low: numbers(Uint32Array, rows) };
}

/** A value of an id column; undefined when it is no unsigned 64-bit integer. */
export function readId(value: string | number | null): Id | undefined {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || value < 0) return undefined;
    return [Math.floor(value / 2 ** 32), value >>> 0];
  }
  return value === null ? undefined : splitId(value);
}

/** Negative, zero or positive as the id at a place is below, equal to or above another. */
export function compareId({ high, low }: Ids, place: number, id: Id): number {
  return (high[place] as number) - id[0] || (low[place] as number) - id[1];
}

/**
 * The place of an id among ascending ones, or -1.
 * @param rows how many there are
 * @param guess where it may well stand: rows refer to others in about the same order
 */
export function findId(all: Ids, rows: number, id: Id, guess: number): number {
  if (guess < rows && compareId(all, guess, id) === 0) return guess;
  if (guess + 1 < rows && compareId(all, guess + 1, id) === 0) return guess + 1;
  let from = 0;
  let to = rows;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const order = compareId(all, middle, id);
    if (order === 0) return middle;
    if (order < 0) from = middle + 1;
    else to = middle;
  }
  return -1;
}

/** The id at a place in decimal. */
export function idText({ high, low }: Ids, place: number): string {
  const upper = high[place] as number;
  // Exact up to 2^53; ids above it take the slow way.
  if (upper < 2 ** 21) return String(upper * 2 ** 32 + (low[place] as number));
  return String((BigInt(upper) << 32n) | BigInt(low[place] as number));
}

const CHUNK_BYTES = 1024 * 1024;

/** Texts as UTF-8, one after another in chunks of memory that both threads see. */
export interface Texts {
  readonly chunks: Uint8Array[];
  readonly chunkOf: Uint16Array;
  readonly start: Uint32Array;
  /** In bytes. */
  readonly length: Uint32Array;
}

/** @returns the texts and what adds one, at ascending places */
export function makeTexts(rows: number): {
  readonly texts: Texts;
  add(place: number, text: string): void;
} {
  const chunks: Uint8Array[] = [];
  const chunkOf = numbers(Uint16Array, rows);
  const start = numbers(Uint32Array, rows);
  const length = numbers(Uint32Array, rows);
  let chunk: Buffer = Buffer.alloc(0);
  let used = 0;
  return {
    texts: { chunks, chunkOf, start, length },
    add(place, text) {
      // Three bytes a code unit is the most that UTF-8 takes.
      if (used + text.length * 3 > chunk.length) {
        chunk = Buffer.from(new SharedArrayBuffer(Math.max(CHUNK_BYTES, text.length * 3)));
        chunks.push(chunk);
        used = 0;
      }
      const written = chunk.write(text, used);
      chunkOf[place] = chunks.length - 1;
      start[place] = used;
      length[place] = written;
      used += written;
    },
  };
}

/** @returns what gives the text at a place */
export function openTexts({ chunks, chunkOf, start, length }: Texts): (place: number) => string {
  const buffers = chunks.map(({ buffer }) => Buffer.from(buffer));
  return (place) => {
    const from = start[place] as number;
    const to = from + (length[place] as number);
    return (buffers[chunkOf[place] as number] as Buffer).toString('utf8', from, to);
  };
}

/** Values that repeat often, each stored once; null is a value like any other. */
export interface Interned {
  /** The number of a value; new values get the next. */
  numberOf(value: string | null): number;
  readonly values: readonly (string | null)[];
}

export function intern(): Interned {
  const known = new Map<string | null, number>();
  const values: (string | null)[] = [];
  return {
    numberOf(value) {
      let number = known.get(value);
      if (number === undefined) {
        number = values.length;
        known.set(value, number);
        values.push(value);
      }
      return number;
    },
    values,
  };
}
