/**
 * Reads files of a generation, and checks each against its size and SHA-256 in the manifest. Every
 * error names the file.
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, readSync } from 'node:fs';
import path from 'node:path';
import { MANIFEST } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { openRegularFile } from '../../program/files/bounded-file.ts';
import { readExactly } from './read-exactly.ts';

const CHUNK_BYTES = 1024 * 1024;

/**
 * Takes the content of a file, piece by piece.
 * @param from the position of the first of these bytes in the file
 * @returns the position in the file up to which the bytes are used; the next piece begins there
 */
export type TakeBytes = (bytes: Buffer, from: number) => number;

const takeAll: TakeBytes = (bytes, from) => from + bytes.length;

/**
 * @param Memory `SharedArrayBuffer` if other threads read the content too. V8 does not count it, so it
 * may stay in memory long after its last use.
 * @returns the whole content of a file
 * @throws Error if the file is damaged
 */
export function readChecked(
  dir: string,
  file: ManifestFile,
  Memory: new (bytes: number) => ArrayBufferLike = ArrayBuffer,
): Buffer {
  const content = Buffer.from(new Memory(file.size));
  const descriptor = openSized(dir, file);
  const sha256 = createHash('sha256');
  try {
    for (let end = 0; end < file.size; ) {
      const most = Math.min(CHUNK_BYTES, file.size - end);
      const read = naming(file, () => readSync(descriptor, content, end, most, end));
      if (read === 0) throw damaged(file, `it ends at byte ${end}`);
      sha256.update(content.subarray(end, end + read));
      end += read;
    }
  } finally {
    closeSync(descriptor);
  }
  if (sha256.digest('hex') !== file.sha256) {
    throw damaged(file, 'its SHA-256 is not the one in the manifest');
  }
  return content;
}

/**
 * As {@link readChecked}, but does not hash the file: for one that is known to be intact.
 * @throws Error if the file has another size
 */
export function readUnhashed(dir: string, file: ManifestFile): Buffer {
  const descriptor = openSized(dir, file);
  try {
    const content = Buffer.allocUnsafeSlow(file.size);
    naming(file, () => readExactly(descriptor, content, 0, file.size, 0, file.path));
    return content;
  } finally {
    closeSync(descriptor);
  }
}

/** Whether a file still has its size and SHA-256 in the manifest. */
export function isIntact(dir: string, file: ManifestFile): boolean {
  try {
    checkFile(dir, file);
    return true;
  } catch {
    return false;
  }
}

/**
 * The SHA-256 of a file, in hex.
 * @param size how many bytes the file has
 */
export function hashOfFile(file: string, size: number): string {
  const sha256 = createHash('sha256');
  const descriptor = openRegularFile(file);
  try {
    for (let end = 0; end < size; ) {
      const read = readSync(descriptor, window, 0, Math.min(window.length, size - end), end);
      if (read === 0) throw new Error(`${file} ends at byte ${end} of ${size}.`);
      sha256.update(window.subarray(0, read));
      end += read;
    }
  } finally {
    closeSync(descriptor);
  }
  return sha256.digest('hex');
}

/**
 * Reads and checks a file.
 * @returns the bytes at the end of the file that `take` has not used
 */
export function checkFile(dir: string, file: ManifestFile, take?: TakeBytes): Buffer {
  const descriptor = openSized(dir, file);
  try {
    return checkOpenFile(descriptor, file, take);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Opens a regular file, and checks its size against the manifest.
 * @returns the descriptor
 */
export function openSized(dir: string, file: ManifestFile): number {
  return naming(file, () => {
    const descriptor = openNamed(dir, file);
    const { size } = fstatSync(descriptor);
    if (size === file.size) return descriptor;
    closeSync(descriptor);
    throw damaged(file, `it has ${size} bytes, but the manifest says ${file.size}`);
  });
}

function openNamed(dir: string, { path: name }: ManifestFile): number {
  try {
    return openRegularFile(path.join(dir, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    // Which of the two is damaged cannot be known: the file, or its name in the manifest.
    throw new Error(`${name} is missing, but ${MANIFEST} names it.`, { cause: error });
  }
}

// One buffer for all files. It grows to the length of the longest record.
let window = Buffer.allocUnsafeSlow(CHUNK_BYTES);

/** As {@link checkFile}, for a file that {@link openSized} has opened. */
export function checkOpenFile(
  descriptor: number,
  file: ManifestFile,
  take: TakeBytes = takeAll,
): Buffer {
  const sha256 = createHash('sha256');
  let from = 0;
  let end = 0;
  while (end < file.size) {
    const unused = end - from;
    if (unused === window.length) enlargeWindow();
    const most = Math.min(window.length - unused, file.size - end);
    const read = naming(file, () => readSync(descriptor, window, unused, most, end));
    if (read === 0) throw damaged(file, `it ends at byte ${end}`);
    sha256.update(window.subarray(unused, unused + read));
    end += read;
    const usedUpTo = take(window.subarray(0, unused + read), from);
    window.copyWithin(0, usedUpTo - from, unused + read);
    from = usedUpTo;
  }
  if (sha256.digest('hex') !== file.sha256) {
    throw damaged(file, 'its SHA-256 is not the one in the manifest');
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

/** Runs a step. If the step fails, the error names the file. */
function naming<T>({ path: name }: ManifestFile, step: () => T): T {
  try {
    return step();
  } catch (error) {
    const { message } = error as Error;
    if (message.includes(name)) throw error;
    throw new Error(`${name} cannot be read: ${message}`, { cause: error });
  }
}
