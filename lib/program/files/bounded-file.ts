/**
 * Reads files that an operator or another program may have replaced. It reads only regular files, and
 * only up to a given size: a named pipe would make the reader wait for a writer, and a device may
 * never end.
 */
import { closeSync, constants, fstatSync, openSync, readFile, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

// Without O_NONBLOCK, even opening a named pipe would wait for a writer.
const READ = constants.O_RDONLY | constants.O_NONBLOCK;
/** Refuses to open a symbolic link. For folders that a user with fewer rights can write to. */
export const NO_LINK = constants.O_NOFOLLOW;

/**
 * Reads a regular file.
 * @param largest how many bytes the file may have
 * @param flags further flags of open(2), such as {@link NO_LINK}
 * @throws Error of the system, or that the file is too large or not a regular file
 */
export function readBoundedFileSync(file: string, largest: number, flags = 0): Buffer {
  return withFile(openRegularFile(file, flags, largest), (descriptor) => readFileSync(descriptor));
}

/** Calls `use` with an open file, which is then closed. */
export function withFile<T>(descriptor: number, use: (descriptor: number) => T): T {
  try {
    return use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads and parses a regular file. @returns undefined if that fails, whatever the reason */
export function tryToRead<T>(
  file: string,
  largest: number,
  parse: (text: string) => T,
): T | undefined {
  try {
    return parse(readBoundedFileSync(file, largest).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** As {@link readBoundedFileSync}, without blocking the thread: for large files, read by a server. */
export async function readBoundedFile(file: string, largest: number): Promise<Buffer> {
  const descriptor = openRegularFile(file, 0, largest);
  try {
    return await promisify(readFile)(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Opens a regular file for reading.
 * @param flags further flags of open(2)
 * @returns the descriptor of the open file
 * @throws as {@link readBoundedFileSync}
 */
export function openRegularFile(file: string, flags = 0, largest = Infinity): number {
  const descriptor = openSync(file, READ | flags);
  const stats = fstatSync(descriptor);
  if (stats.isFile() && stats.size <= largest) return descriptor;
  closeSync(descriptor);
  const fault = stats.isFile() ? `is larger than ${largest} bytes` : 'is not a regular file';
  throw new Error(`${path.basename(file)} ${fault}.`);
}
