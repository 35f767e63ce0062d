/**
 * Columns of rows in memory that both threads see: a number or a text a row, and no object. The
 * place of a row is where it stands in id order.
 */
import { splitId } from '../../format/index/record-index.ts';
import { putAscii, putBytes, putInteger, putTextBytes } from './json-bytes.ts';

type NumberArray = Uint16Array | Uint32Array | Int16Array | Int32Array | Float64Array;
type NumberArrayType<T extends NumberArray> = {
  new (buffer: SharedArrayBuffer): T;
  readonly BYTES_PER_ELEMENT: number;
};

/** Numbers of so many rows, all zero. */
export function numbers<T extends NumberArray>(Type: NumberArrayType<T>, rows: number): T {
  return new Type(new SharedArrayBuffer(rows * Type.BYTES_PER_ELEMENT));
}

type ColumnTypes = Readonly<Record<string, NumberArrayType<NumberArray>>>;

/** Columns that grow: whoever reads one takes it from here anew, or once no row comes any more. */
export type Columns<Types extends ColumnTypes> = {
  readonly [Name in keyof Types]: InstanceType<Types[Name]>;
};

/** Memory that no row has been put into yet is not taken from the system; what is outgrown stays until it is collected. */
const FIRST_ROWS = 1024 * 1024;

/** Columns of however many rows come, all zero. To count the rows first takes the server long. */
export function growingColumns<Types extends ColumnTypes>(types: Types) {
  const columns: Record<string, NumberArray> = {};
  for (const [name, Type] of Object.entries(types)) columns[name] = numbers(Type, FIRST_ROWS);
  let rows = FIRST_ROWS;
  return {
    columns: columns as Columns<Types>,
    /** Makes room for a row at a place, which is at most one past those before. */
    reserve(place: number): void {
      if (place < rows) return;
      rows *= 2;
      for (const [name, Type] of Object.entries(types)) {
        const larger = numbers(Type, rows);
        larger.set(columns[name]);
        columns[name] = larger;
      }
    },
  };
}

/** Unsigned 64-bit ids, as their upper and lower halves. */
export interface Ids {
  readonly high: Uint32Array;
  readonly low: Uint32Array;
}

export type Id = readonly [high: number, low: number];

/** A value of an id column; undefined when it is no unsigned 64-bit integer. */
export function readId(value: string | number | null): Id | undefined {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || value < 0) return undefined;
    return [Math.floor(value / 2 ** 32), value >>> 0];
  }
  return value === null ? undefined : splitId(value);
}

/** Negative, zero or positive as an id is below, equal to or above another. */
export function compareIds(a: Id, b: Id): number {
  return a[0] - b[0] || a[1] - b[1];
}

/** As {@link compareIds}, of the id at a place. */
function compareAt({ high, low }: Ids, place: number, id: Id): number {
  return high[place] - id[0] || low[place] - id[1];
}

/**
 * The place of an id among ascending ones, or -1.
 * @param rows how many there are
 * @param guess where it may well stand: rows refer to others in about the same order
 */
export function findId(all: Ids, rows: number, id: Id, guess: number): number {
  if (guess < rows && compareAt(all, guess, id) === 0) return guess;
  if (guess + 1 < rows && compareAt(all, guess + 1, id) === 0) return guess + 1;
  let from = 0;
  let to = rows;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const order = compareAt(all, middle, id);
    if (order === 0) return middle;
    if (order < 0) from = middle + 1;
    else to = middle;
  }
  return -1;
}

/** Writes the id at a place in decimal. @returns where it ends */
export function putId(target: Uint8Array, at: number, { high, low }: Ids, place: number): number {
  const upper = high[place];
  const lower = low[place];
  if (upper === 0) return putInteger(target, at, lower);
  return putAscii(target, at, String(valueOfId([upper, lower])));
}

/** An id as a database shows it: beyond 2^53 its decimal digits. */
export function valueOfId([high, low]: Id): number | string {
  const id = (BigInt(high) << 32n) | BigInt(low);
  return id > BigInt(Number.MAX_SAFE_INTEGER) ? String(id) : Number(id);
}

const CHUNK_BYTES = 1024 * 1024;

const TEXT_COLUMNS = { chunkOf: Uint16Array, start: Uint32Array, length: Uint32Array };

/** Texts as UTF-8, one after another in chunks of memory that both threads see. */
export interface Texts {
  readonly chunks: readonly Uint8Array[];
  /** By place: the chunk, where the text starts in it and its length, in bytes. */
  readonly columns: Columns<typeof TEXT_COLUMNS>;
}

/** @returns the texts and what adds one, at ascending places */
export function makeTexts(): { readonly texts: Texts; add(place: number, text: string): void } {
  const chunks: Uint8Array[] = [];
  const { columns, reserve } = growingColumns(TEXT_COLUMNS);
  let chunk: Buffer = Buffer.alloc(0);
  let used = 0;
  return {
    texts: { chunks, columns },
    add(place, text) {
      // Three bytes a code unit is the most that UTF-8 takes.
      if (used + text.length * 3 > chunk.length) {
        chunk = Buffer.from(new SharedArrayBuffer(Math.max(CHUNK_BYTES, text.length * 3)));
        chunks.push(chunk);
        used = 0;
      }
      const written = chunk.write(text, used);
      reserve(place);
      columns.chunkOf[place] = chunks.length - 1;
      columns.start[place] = used;
      columns.length[place] = written;
      used += written;
    },
  };
}

/** @returns what gives the text at a place */
export function openTexts(
  { chunks, columns: { chunkOf, start, length } }: Texts,
  encoding: 'utf8' | 'latin1' = 'utf8',
): (place: number) => string {
  const buffers = chunks.map(({ buffer }) => Buffer.from(buffer));
  return (place) => {
    const from = start[place];
    const to = from + length[place];
    return buffers[chunkOf[place]].toString(encoding, from, to);
  };
}

/** Writes texts without making strings of them. */
export interface TextWriter {
  /** In bytes. */
  lengthOf(place: number): number;
  /** Writes the text as it is. @returns where it ends */
  put(target: Uint8Array, at: number, place: number): number;
  /** Writes the JSON of the text. @returns where it ends */
  putJson(target: Buffer, at: number, place: number): number;
}

export function makeTextWriter({ chunks, columns: { chunkOf, start, length } }: Texts): TextWriter {
  const buffers = chunks.map(({ buffer }) => Buffer.from(buffer));
  return {
    lengthOf: (place) => length[place],
    put(target, at, place) {
      const from = start[place];
      const bytes = buffers[chunkOf[place]];
      return putBytes(target, at, bytes, from, from + length[place]);
    },
    putJson(target, at, place) {
      const from = start[place];
      const bytes = buffers[chunkOf[place]];
      return putTextBytes(target, at, bytes, from, from + length[place]);
    },
  };
}
