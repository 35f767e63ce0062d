/**
 * Reads files of a generation and holds each to the size and the SHA-256 of the manifest.
 */
import { createHash } from 'node:crypto';
import { closeSync, readSync } from 'node:fs';
import path from 'node:path';
import { MANIFEST } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { openRegularFile } from '../../program/bounded-file.ts';

const CHUNK_BYTES = 1024 * 1024;

/** The whole of a file. */
export function readChecked(dir: string, file: ManifestFile): Buffer {
  // Shared, so that another thread may look at the columns too.
  const bytes = Buffer.from(new SharedArrayBuffer(file.size));
  hashFile(dir, file, (read, from) => {
    bytes.set(read, from);
    return from + read.length;
  });
  return bytes;
}

/** Whether a file still has the size and SHA-256 that a manifest says. */
export function isIntact(dir: string, file: ManifestFile): boolean {
  try {
    hashFile(dir, file);
    return true;
  } catch {
    return false;
  }
}

// One for all files; it grows to the longest record.
let window = Buffer.allocUnsafeSlow(CHUNK_BYTES);

/**
 * Reads a file to its end and holds it to its size and SHA-256.
 * @param onBytes is handed the bytes from a place of the file on and says up to which it is done
 * with them; the others come again with those that follow
 * @returns what was left in the end
 */
export function hashFile(
  dir: string,
  file: ManifestFile,
  onBytes: (bytes: Buffer, from: number) => number = (bytes, from) => from + bytes.length,
): Buffer {
  const descriptor = openRegularFile(path.join(dir, file.path));
  try {
    const sha256 = createHash('sha256');
    let from = 0;
    let at = 0;
    for (;;) {
      if (at - from === window.length) {
        const larger = Buffer.allocUnsafeSlow(window.length * 2);
        window.copy(larger);
        window = larger;
      }
      const kept = at - from;
      const read = readSync(descriptor, window, kept, window.length - kept, at);
      if (read === 0) break;
      at += read;
      if (at > file.size) break;
      sha256.update(window.subarray(kept, kept + read));
      const done = onBytes(window.subarray(0, kept + read), from);
      window.copyWithin(0, done - from, kept + read);
      from = done;
    }
    if (at !== file.size) {
      throw new Error(`${file.path} has ${at} bytes or more, ${MANIFEST} says ${file.size}.`);
    }
    if (sha256.digest('hex') !== file.sha256) {
      throw new Error(`${file.path} has another SHA-256 than ${MANIFEST} says.`);
    }
    return window.subarray(0, at - from);
  } finally {
    closeSync(descriptor);
  }
}
