/**
 * Columns that are written to files while rows are read. They hold what only the row cache needs, so that
 * it takes no memory until then.
 */
import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { StoredColumn } from '../../format/index/columns.ts';

const BUFFER_BYTES = 64 * 1024;

const TYPES = { u32: Uint32Array, f64: Float64Array };

/** A column that grows at its end. */
export interface GrowingStoredColumn extends StoredColumn {
  add(value: number): void;
  /** Replaces the value that was added last. */
  replaceLast(value: number): void;
  addAll(values: Iterable<number>): void;
}

/** Creates stored columns, each with a file of its own. */
export type MakeStoredColumn = (name: string, type: keyof typeof TYPES) => GrowingStoredColumn;

/** @param dir the folder for the files; whoever creates the columns removes it */
export function storedColumnsIn(dir: string): MakeStoredColumn {
  return (name, type) => makeStoredColumn(path.join(dir, `column-${name}`), type);
}

function makeStoredColumn(file: string, type: keyof typeof TYPES): GrowingStoredColumn {
  const Type = TYPES[type];
  const buffer = new Type(BUFFER_BYTES / Type.BYTES_PER_ELEMENT);
  /** How many values are in the file, and in the buffer. */
  let written = 0;
  let buffered = 0;
  const bufferedBytes = () => Buffer.from(buffer.buffer, 0, buffered * Type.BYTES_PER_ELEMENT);

  function flush(): void {
    // Opened each time, so that a run that fails leaves no open file.
    writeFileSync(file, bufferedBytes(), { flag: written === 0 ? 'wx' : 'a', mode: 0o600 });
    written += buffered;
    buffered = 0;
  }
  function add(value: number): void {
    if (buffered === buffer.length) flush();
    buffer[buffered++] = value;
  }

  return {
    type,
    get length() {
      return written + buffered;
    },
    add,
    // Only `add` writes a full buffer to the file, so the last value is never there.
    replaceLast(value) {
      buffer[buffered - 1] = value;
    },
    addAll(values) {
      for (const value of values) add(value);
    },
    *pieces() {
      if (written > 0) yield* readPieces(file, written * Type.BYTES_PER_ELEMENT);
      yield bufferedBytes();
    },
  };
}

/** The content of a file; each piece is valid until the next. */
function* readPieces(file: string, size: number): Generator<Uint8Array> {
  const piece = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  const descriptor = openSync(file, 'r');
  try {
    for (let at = 0; at < size; ) {
      const read = readSync(descriptor, piece, 0, piece.length, at);
      if (read === 0) throw new Error(`${file} ends at byte ${at} of ${size}.`);
      yield piece.subarray(0, read);
      at += read;
    }
  } finally {
    closeSync(descriptor);
  }
}
