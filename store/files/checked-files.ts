/**
 * Reads files of a generation, and checks each against the size and the SHA-256 that the manifest says.
 * Every error names the file.
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, readSync } from 'node:fs';
import path from 'node:path';
import type { ManifestFile } from '../../format/manifest.ts';
import { openRegularFile } from '../../program/files/bounded-file.ts';

const CHUNK_BYTES = 1024 * 1024;

/**
 * Takes the bytes of a file, a piece at a time.
 * @param from the position in the file of the first byte
 * @returns the position up to which the bytes are used; the others come again with the next piece
 */
export type TakeBytes = (bytes: Buffer, from: number) => number;

const takeAll: TakeBytes = (bytes, from) => from + bytes.length;

/** The whole content of a file. */
export function readChecked(dir: string, file: ManifestFile): Buffer {
  // Shared, so that another thread can read the columns too.
  const content = Buffer.from(new SharedArrayBuffer(file.size));
  checkFile(dir, file, (bytes, from) => {
    content.set(bytes, from);
    return from + bytes.length;
  });
  return content;
}

/** Whether a file still has the size and the SHA-256 that a manifest says. */
export function isIntact(dir: string, file: ManifestFile): boolean {
  try {
    checkFile(dir, file);
    return true;
  } catch {
    return false;
  }
}

/**
 * Reads and checks a file.
 * @returns the bytes at the end that `take` has not used
 */
export function checkFile(dir: string, file: ManifestFile, take?: TakeBytes): Buffer {
  const descriptor = openSized(dir, file);
  try {
    return checkOpenFile(descriptor, file, take);
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a regular file of the size that the manifest says. @returns its descriptor */
export function openSized(dir: string, file: ManifestFile): number {
  return naming(file, () => {
    const descriptor = openRegularFile(path.join(dir, file.path));
    const { size } = fstatSync(descriptor);
    if (size === file.size) return descriptor;
    closeSync(descriptor);
    throw damaged(file, `it has ${size} bytes, the manifest says ${file.size}`);
  });
}

// One for all files; it grows to the longest record.
let window = Buffer.allocUnsafeSlow(CHUNK_BYTES);

/** As {@link checkFile}, of a file that {@link openSized} has opened. */
export function checkOpenFile(
  descriptor: number,
  file: ManifestFile,
  take: TakeBytes = takeAll,
): Buffer {
  const sha256 = createHash('sha256');
  let from = 0;
  let end = 0;
  while (end < file.size) {
    const kept = end - from;
    if (kept === window.length) enlargeWindow();
    const most = Math.min(window.length - kept, file.size - end);
    const read = naming(file, () => readSync(descriptor, window, kept, most, end));
    if (read === 0) throw damaged(file, `it ends at byte ${end}`);
    sha256.update(window.subarray(kept, kept + read));
    end += read;
    const used = take(window.subarray(0, kept + read), from);
    window.copyWithin(0, used - from, kept + read);
    from = used;
  }
  if (sha256.digest('hex') !== file.sha256) {
    throw damaged(file, 'its SHA-256 is not the one that the manifest says');
  }
  return window.subarray(0, end - from);
}

function enlargeWindow(): void {
  const larger = Buffer.allocUnsafeSlow(window.length * 2);
  window.copy(larger);
  window = larger;
}

function damaged(file: ManifestFile, fault: string): Error {
  return new Error(`${file.path} is damaged: ${fault}.`);
}

/** Runs a step, and makes sure that its error names the file. */
function naming<T>({ path: name }: ManifestFile, step: () => T): T {
  try {
    return step();
  } catch (error) {
    const { message } = error as Error;
    if (message.includes(name)) throw error;
    throw new Error(`${name} cannot be read: ${message}`, { cause: error });
  }
}
