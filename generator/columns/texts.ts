/**
 * A column of texts: their UTF-8 bytes one after another in chunks of shared memory.
 */
import { putBytes, putTextBytes } from './json-bytes.ts';
import { type Columns, growingColumns } from './row-columns.ts';

const CHUNK_BYTES = 1024 * 1024;

const TEXT_COLUMNS = { chunkOf: Uint16Array, start: Uint32Array, length: Uint32Array };

/** Texts as UTF-8, one after another in chunks of memory that both threads share. */
export interface Texts {
  readonly chunks: readonly Uint8Array[];
  /** By row: the chunk, where the text starts in it and its length, in bytes. */
  readonly columns: Columns<typeof TEXT_COLUMNS>;
}

/** @returns the texts, and a function that adds the text of a row; rows ascend */
export function makeTexts(): { readonly texts: Texts; add(row: number, text: string): void } {
  const chunks: Uint8Array[] = [];
  const { columns, reserve } = growingColumns(TEXT_COLUMNS);
  let chunk: Buffer = Buffer.alloc(0);
  let used = 0;
  return {
    texts: { chunks, columns },
    add(row, text) {
      // Three bytes a code unit is the most that UTF-8 takes.
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

/** Copies texts without making strings of them. */
export interface TextWriter {
  /** In bytes. */
  lengthOf(row: number): number;
  /** Writes the text as it is. @returns where it ends */
  put(target: Uint8Array, at: number, row: number): number;
  /** Writes the JSON of the text. @returns where it ends */
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
