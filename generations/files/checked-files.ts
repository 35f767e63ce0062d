/**
 * Reads files of a generation, and checks each against its size and SHA-256 in the manifest. Every
 * error names the file.
 */
import { createHash, hash } from 'node:crypto';
import { closeSync, fstatSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { MANIFEST } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { openRegularFile } from '../../program/files/bounded-file.ts';

const CHUNK_BYTES = 1024 * 1024;

/**
 * Takes the content of a file, piece by piece.
 * @param from the position of the first of these bytes in the file
 * @returns the position in the file up to which the bytes are used; the next piece begins there
 */
export type TakeBytes = (bytes: Buffer, from: number) => number;

const takeAll: TakeBytes = (bytes, from) => from + bytes.length;

/** The whole content of a file. @throws Error if the file is damaged */
export function readChecked(dir: string, file: ManifestFile): Buffer {
  const content = readUnchecked(dir, file);
  if (hash('sha256', content) !== file.sha256) throw wrongHash(file);
  return content;
}

function readUnchecked(dir: string, file: ManifestFile): Buffer {
  const descriptor = openSized(dir, file);
  try {
    const content = Buffer.allocUnsafeSlow(file.size);
    readExactly(descriptor, content, 0, file.size, 0, file.path);
    return content;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Reads a part of an open file. Synchronous, because a promise costs more than a read from the page
 * cache.
 * @param target gets the bytes
 * @param at the index of the first byte in `target`
 * @param position the position of the first byte in the file
 * @param name the name of the file, for the error
 * @throws Error if the file ends before the part does
 */
export function readExactly(
  descriptor: number,
  target: Uint8Array,
  at: number,
  length: number,
  position: number,
  name: string,
): void {
  try {
    for (let done = 0; done < length; ) {
      const read = readSync(descriptor, target, at + done, length - done, position + done);
      if (read === 0) throw new Error(`it ends before byte ${position + length}.`);
      done += read;
    }
  } catch (cause) {
    throw new Error(`${name} cannot be read: ${(cause as Error).message}`, { cause });
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
  const descriptor = openRegularFile(file);
  try {
    return hashOpenFile(descriptor, size, file, takeAll).sha256;
  } finally {
    closeSync(descriptor);
  }
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

/** As {@link checkFile}, for a file that {@link openSized} has opened. */
export function checkOpenFile(
  descriptor: number,
  file: ManifestFile,
  take: TakeBytes = takeAll,
): Buffer {
  const { sha256, rest } = hashOpenFile(descriptor, file.size, file.path, take);
  if (sha256 !== file.sha256) throw wrongHash(file);
  return rest;
}

// One buffer for all files. It grows to the length of the longest record.
let window = Buffer.allocUnsafeSlow(CHUNK_BYTES);

function hashOpenFile(descriptor: number, size: number, name: string, take: TakeBytes) {
  const sha256 = createHash('sha256');
  let from = 0;
  let end = 0;
  while (end < size) {
    const unused = end - from;
    if (unused === window.length) enlargeWindow();
    const length = Math.min(window.length - unused, size - end);
    readExactly(descriptor, window, unused, length, end, name);
    sha256.update(window.subarray(unused, unused + length));
    end += length;
    const usedUpTo = take(window.subarray(0, unused + length), from);
    window.copyWithin(0, usedUpTo - from, unused + length);
    from = usedUpTo;
  }
  return { sha256: sha256.digest('hex'), rest: window.subarray(0, end - from) };
}

function enlargeWindow(): void {
  const larger = Buffer.allocUnsafeSlow(window.length * 2);
  window.copy(larger);
  window = larger;
}

/**
 * Opens a regular file, and checks its size against the manifest.
 * @returns the descriptor
 */
export function openSized(dir: string, file: ManifestFile): number {
  let descriptor: number;
  try {
    descriptor = openRegularFile(path.join(dir, file.path));
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    // Which of the two is damaged cannot be known: the file, or its name in the manifest.
    if (code === 'ENOENT')
      throw new Error(`${file.path} is missing, but ${MANIFEST} names it.`, { cause });
    throw new Error(`${file.path} cannot be read: ${message}`, { cause });
  }
  const { size } = fstatSync(descriptor);
  if (size === file.size) return descriptor;
  closeSync(descriptor);
  throw damaged(file, `it has ${size} bytes, but the manifest says ${file.size}`);
}

function damaged({ path: name }: ManifestFile, fault: string): Error {
  return new Error(`${name} is damaged: ${fault}.`);
}

function wrongHash(file: ManifestFile): Error {
  return damaged(file, 'its SHA-256 is not the one in the manifest');
}

/** Checks files against their size and SHA-256 in the manifest. */
export interface FileChecks {
  isIntact(dir: string, file: ManifestFile): boolean;
  /** The whole content of a file. @throws Error if it is damaged */
  read(dir: string, file: ManifestFile): Buffer;
}

/** Hashes every file, every time. */
export const HASH_ALWAYS: FileChecks = { isIntact, read: readChecked };

const REMEMBERED_MS = 3_600_000;
/** Several generations of a catalogue with a thousand platforms. */
const MOST_REMEMBERED = 20_000;

/**
 * Remembers which files this process has found intact, so that a replica does not hash hundreds of
 * megabytes again for each small change. A file counts as the same while its device, inode, size and
 * time of modification are. After an hour it is hashed again, because a disk can damage a file without
 * changing them; the proxy hashes every new file anyway before it serves it.
 * @param now a clock in milliseconds
 */
export function makeKnownFiles(now: () => number): FileChecks {
  const known = new LRUCache<string, true>({
    max: MOST_REMEMBERED,
    ttl: REMEMBERED_MS,
    ttlResolution: 0,
    perf: { now },
  });
  return {
    isIntact(dir, file) {
      // Before the file is hashed, so that later changes do not go unnoticed.
      const identity = identityOf(dir, file);
      if (identity === undefined || known.has(identity)) return identity !== undefined;
      if (!isIntact(dir, file)) return false;
      known.set(identity, true);
      return true;
    },
    read(dir, file) {
      const identity = identityOf(dir, file);
      if (identity !== undefined && known.has(identity)) return readUnchecked(dir, file);
      const content = readChecked(dir, file);
      if (identity !== undefined) known.set(identity, true);
      return content;
    },
  };
}

/** @returns undefined if the file does not exist, or has another size */
function identityOf(dir: string, { path: name, sha256, size }: ManifestFile): string | undefined {
  const stats = statSync(path.join(dir, name), { bigint: true, throwIfNoEntry: false });
  if (stats?.size !== BigInt(size)) return undefined;
  return `${sha256} ${stats.dev} ${stats.ino} ${stats.mtimeNs}`;
}

/** Whether two names are links to the same file. */
export function isSameFile(file: string, other: string): boolean {
  const [a, b] = [file, other].map((name) => statSync(name, { throwIfNoEntry: false }));
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev;
}
