/**
 * A column of texts. Their UTF-8 bytes are concatenated in chunks of memory that both threads share.
 */
import { putBytes, putTextBytes } from './json-bytes.ts';
import { type Columns, growingColumns } from './row-columns.ts';

const CHUNK_BYTES = 1024 * 1024;

const TEXT_COLUMNS = { chunkOf: Uint16Array, start: Uint32Array, length: Uint32Array };

export interface Texts {
  readonly chunks: readonly Uint8Array[];
  /** For each row: the chunk of its text, where the text starts in it, and its length in bytes. */
  readonly columns: Columns<typeof TEXT_COLUMNS>;
}

/** @returns `texts`; `add`, which adds the text of a row and must be called in ascending order of rows */
export function makeTexts(): { readonly texts: Texts; add(row: number, text: string): void } {
  const chunks: Uint8Array[] = [];
  const { columns, reserve } = growingColumns(TEXT_COLUMNS);
  let chunk: Buffer = Buffer.alloc(0);
  let used = 0;
  return {
    texts: { chunks, columns },
    add(row, text) {
      // UTF-8 takes at most three bytes per code unit.
      if (used + text.length * 3 > chunk.length) {
        chunk = Buffer.from(new SharedArrayBuffer(Math.max(CHUNK_BYTES, text.length * 3)));
        chunks.push(chunk);
        used = 0;
      }
      const written = chunk.write(text, used);
      reserve(row);
      columns.chunkOf[row] = chunks.length - 1;
      columns.start[row] = used;
      columns.length[row] = written;
      used += written;
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
