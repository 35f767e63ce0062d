/**
 * Writes one file of a generation through a large buffer and hashes it on the way. Synchronous:
 * promises take twice as long for the same bytes.
 */
import { createHash, type Hash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import type { ManifestFile } from '../format/manifest.ts';

const BUFFER_BYTES = 1024 * 1024;

export interface FileWriter {
  /** How many bytes were handed over so far. */
  readonly end: number;
  /** Makes room for a record and hands out where to put it; {@link FileWriter.commit} takes it. */
  reserve(bytes: number): { readonly buffer: Buffer; readonly at: number };
  commit(bytes: number): void;
  add(piece: string | Uint8Array): void;
  /** Closes; the publisher syncs. @returns what the manifest says of the file */
  finish(): ManifestFile;
}

// One buffer serves all files in turn: only one is written at a time.
let shared = Buffer.allocUnsafeSlow(BUFFER_BYTES);

/**
 * @param dir the generation's folder
 * @param name relative to it; its folder exists
 */
export function writeFile(dir: string, name: string): FileWriter {
  const descriptor = openSync(path.join(dir, name), 'wx', 0o644);
  const sha256: Hash = createHash('sha256');
  let flushed = 0;
  let buffered = 0;

  function put(bytes: Uint8Array): void {
    sha256.update(bytes);
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at, bytes.length - at);
    flushed += bytes.length;
  }

  function flush(): void {
    put(shared.subarray(0, buffered));
    buffered = 0;
  }

  function reserve(bytes: number): { buffer: Buffer; at: number } {
    if (buffered + bytes > shared.length) {
      flush();
      if (bytes > shared.length) shared = Buffer.allocUnsafeSlow(bytes);
    }
    return { buffer: shared, at: buffered };
  }

  return {
    get end() {
      return flushed + buffered;
    },
    reserve,
    commit(bytes) {
      buffered += bytes;
    },
    add(piece) {
      if (typeof piece === 'string') {
        const { buffer, at } = reserve(piece.length * 3);
        buffered += buffer.write(piece, at);
      } else {
        flush();
        put(piece);
      }
    },
    finish() {
      const size = flushed + buffered;
      try {
        flush();
      } catch (cause) {
        throw new Error(`write ${name}: ${(cause as Error).message}`, { cause });
      } finally {
        closeSync(descriptor);
      }
      return { path: name, size, sha256: sha256.digest('hex') };
    },
  };
}

/** Writes a file that is at hand as a whole. */
export function writeWhole(
  dir: string,
  name: string,
  pieces: Iterable<string | Uint8Array>,
): ManifestFile {
  const writer = writeFile(dir, name);
  for (const piece of pieces) writer.add(piece);
  return writer.finish();
}
