/**
 * A column of texts. Their UTF-8 bytes are concatenated in chunks of memory that both threads share.
 */
import { equalsAscii } from '../../format/index/compare-slices.ts';
import { putBytes, putTextBytes } from './json-bytes.ts';
import { growingColumns } from './row-columns.ts';

const CHUNK_BYTES = 1024 * 1024;

const TEXT_COLUMNS = { chunkOf: Uint16Array, start: Uint32Array, length: Uint32Array };

export interface Texts {
  readonly chunks: readonly Uint8Array[];
  /** For each row: the chunk of its text, where the text starts in it, and its length in bytes. */
  readonly columns: {
    readonly chunkOf: Uint16Array;
    readonly start: Uint32Array;
    readonly length: Uint32Array;
  };
}

export interface TextsBuilder {
  readonly texts: Texts;
  /** Adds the text of a row. Rows must be added in ascending order. */
  add(row: number, text: string): void;
  /** Adds rows without texts, up to this one. Their texts are empty. */
  addEmpty(row: number): void;
  /** Adds the texts that the cached rows from `from` (inclusive) to `to` (exclusive) have, without copying them. */
  addCached(row: number, from: number, to: number): void;
  /** Whether the text of a row is `text`, which has only ASCII characters. */
  isAscii(row: number, text: string): boolean;
}

/** @param cached the texts of an earlier run, for `addCached` */
export function makeTexts(cached?: Texts): TextsBuilder {
  const chunks: Uint8Array[] = [...(cached?.chunks ?? [])];
  const { columns, reserve } = growingColumns(TEXT_COLUMNS);
  let chunk: Buffer = Buffer.alloc(0);
  let used = 0;
  const makeRoom = (bytes: number) => {
    if (used + bytes <= chunk.length) return;
    chunk = Buffer.from(new SharedArrayBuffer(Math.max(CHUNK_BYTES, bytes)));
    chunks.push(chunk);
    used = 0;
  };
  const end = (row: number, length: number) => {
    reserve(row);
    columns.chunkOf[row] = Math.max(chunks.length - 1, 0);
    columns.start[row] = used;
    columns.length[row] = length;
    used += length;
  };
  return {
    texts: { chunks, columns },
    add(row, text) {
      // UTF-8 takes at most three bytes per code unit.
      makeRoom(text.length * 3);
      end(row, chunk.write(text, used));
    },
    addEmpty: reserve,
    addCached(row, from, to) {
      if (cached === undefined) throw new Error('there are no cached texts');
      reserve(row + to - from - 1);
      for (const name of ['chunkOf', 'start', 'length'] as const) {
        columns[name].set(cached.columns[name].subarray(from, to), row);
      }
    },
    isAscii(row, text) {
      const start = columns.start[row];
      const { buffer } = chunks[columns.chunkOf[row]];
      return equalsAscii(text, new Uint8Array(buffer), start, start + columns.length[row]);
    },
  };
}

/** @returns a function that returns the text of a row */
export function openTexts(
  { chunks, columns: { chunkOf, start, length } }: Texts,
  encoding: 'utf8' | 'latin1' = 'utf8',
): (row: number) => string {
  const buffers = chunks.map(({ buffer }) => Buffer.from(buffer));
  return (row) => {
    const from = start[row];
    const to = from + length[row];
    return buffers[chunkOf[row]].toString(encoding, from, to);
  };
}

/** Copies texts as bytes, without making strings. */
export interface TextWriter {
  /** The length of a text in bytes. */
  lengthOf(row: number): number;
  /** Writes the text without quotes. @returns the position after it */
  put(target: Uint8Array, at: number, row: number): number;
  /** Writes the JSON of the text. @returns the position after it */
  putJson(target: Buffer, at: number, row: number): number;
}

export function makeTextWriter({ chunks, columns: { chunkOf, start, length } }: Texts): TextWriter {
  const buffers = chunks.map(({ buffer }) => Buffer.from(buffer));
  return {
    lengthOf: (row) => length[row],
    put(target, at, row) {
      const from = start[row];
      const bytes = buffers[chunkOf[row]];
      return putBytes(target, at, bytes, from, from + length[row]);
    },
    putJson(target, at, row) {
      const from = start[row];
      const bytes = buffers[chunkOf[row]];
      return putTextBytes(target, at, bytes, from, from + length[row]);
    },
  };
}
