/**
 * Reads files of a generation, and checks each against its size and SHA-256 in the manifest. Every
 * error names the file.
 */
import { createHash, hash } from 'node:crypto';
import { type BigIntStats, closeSync, fstatSync, readSync, statSync } from 'node:fs';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { damaged } from '../../columns/checks.ts';
import { MANIFEST } from '../../format/layout.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import { openRegularFile, withFile } from '../../program/files/bounded-file.ts';

const CHUNK_BYTES = 1024 * 1024;
/** Node reads no more at once than a 32-bit number can say. */
const LARGEST_READ = 2 ** 30;

/** The whole content of a file. @throws Error if the file is damaged */
export function readChecked(dir: string, file: ManifestFile): Buffer {
  return withFile(openSized(dir, file), (descriptor) => {
    const content = Buffer.allocUnsafeSlow(file.size);
    readOpenFile(descriptor, file, content);
    return content;
  });
}

/** Reads a file that {@link openSized} has opened. @throws Error if the file is damaged */
export function readOpenFile(descriptor: number, file: ManifestFile, content: Uint8Array): void {
  readNamed(descriptor, content, 0, file.size, 0, file.path);
  if (hash('sha256', content) !== file.sha256) throw wrongHash(file);
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
  for (let done = 0; done < length; ) {
    const most = Math.min(length - done, LARGEST_READ);
    const read = readSync(descriptor, target, at + done, most, position + done);
    if (read === 0) throw new Error(`${name} ends before byte ${position + length}.`);
    done += read;
  }
}

/** A part of a file of a generation. @throws as {@link readExactly} */
export function readPart(dir: string, name: string, position: number, length: number): Buffer {
  return withFile(openRegularFile(path.join(dir, name)), (descriptor) => {
    const part = Buffer.alloc(length);
    readExactly(descriptor, part, 0, length, position, name);
    return part;
  });
}

/** As {@link readExactly}, but the errors of the system name the file, too. */
function readNamed(...part: Parameters<typeof readExactly>): void {
  try {
    readExactly(...part);
  } catch (cause) {
    const name = part[5];
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

/** Checks a file without keeping its content. @throws Error if the file is damaged */
export function checkFile(dir: string, file: ManifestFile): void {
  withFile(openSized(dir, file), (descriptor) => checkOpenFile(descriptor, file));
}

/** As {@link checkFile}, for a file that {@link openSized} has opened. */
export function checkOpenFile(descriptor: number, file: ManifestFile): void {
  const sha256 = createHash('sha256');
  const chunk = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, file.size));
  for (let position = 0; position < file.size; position += chunk.length) {
    const length = Math.min(chunk.length, file.size - position);
    readNamed(descriptor, chunk, 0, length, position, file.path);
    sha256.update(chunk.subarray(0, length));
  }
  if (sha256.digest('hex') !== file.sha256) throw wrongHash(file);
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
  throw damaged(file.path, `it has ${size} bytes, but the manifest says ${file.size}`);
}

function wrongHash(file: ManifestFile): Error {
  return damaged(file.path, 'its SHA-256 is not the one in the manifest');
}

const REMEMBERED_MS = 3_600_000;
/** Several generations of a catalogue with a thousand platforms. */
const MOST_REMEMBERED = 20_000;

/**
 * Remembers which files this process has found intact, so that a replica does not hash hundreds of
 * megabytes again for each small change. A file counts as the same while its device, inode, size and
 * time of modification are. After an hour it is hashed again, because a disk can damage a file without
 * changing them; the proxy hashes every new file anyway before it serves it.
 * @param now a clock in milliseconds
 * @returns a function such as {@link isIntact}
 */
export function makeKnownFiles(now: () => number): typeof isIntact {
  const known = new LRUCache<string, true>({
    max: MOST_REMEMBERED,
    ttl: REMEMBERED_MS,
    ttlResolution: 0,
    perf: { now },
  });
  return (dir, file) => {
    // Before the file is hashed, so that later changes do not go unnoticed.
    const stats = statSync(path.join(dir, file.path), { bigint: true, throwIfNoEntry: false });
    if (stats?.size !== BigInt(file.size)) return false;
    const identity = identityIn(stats, file.sha256);
    if (known.has(identity)) return true;
    if (!isIntact(dir, file)) return false;
    known.set(identity, true);
    return true;
  };
}

/** The identity of a checked file, from its attributes. Files with equal identities have equal contents. */
export function identityIn({ dev, ino, size, mtimeNs }: BigIntStats, sha256: string): string {
  return `${sha256} ${dev} ${ino} ${size} ${mtimeNs}`;
}

/** Whether two names are links to the same file. */
export function isSameFile(file: string, other: string): boolean {
  const [a, b] = [file, other].map((name) => statSync(name, { throwIfNoEntry: false }));
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev;
}
