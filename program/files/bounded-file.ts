/**
 * Reads files that an operator or another program may have replaced. It reads only regular files, and
 * only up to a given size: a named pipe would make the reader wait for a writer, and a device may
 * never end.
 */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFile,
  readFileSync,
  type Stats,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

// Without O_NONBLOCK, even opening a named pipe would wait for a writer.
const READ = constants.O_RDONLY | constants.O_NONBLOCK;
/** Refuses to open a symbolic link. For folders that a user with fewer rights can write to. */
export const NO_LINK = constants.O_NOFOLLOW;

/** The path is not a regular file, or the file is too large. */
export class UnfitFileError extends Error {
  override readonly name = 'UnfitFileError';
  /** Only the fault, such as "is a directory, not a regular file". */
  readonly fault: string;

  constructor(file: string, fault: string) {
    super(`${path.basename(file)} ${fault}.`);
    this.fault = fault;
  }
}

/**
 * Reads a regular file.
 * @param largest how many bytes the file may have
 * @param flags further flags of open(2), such as {@link NO_LINK}
 * @throws UnfitFileError, or the system's error if the file cannot be opened or read
 */
export function readBoundedFileSync(file: string, largest: number, flags = 0): Buffer {
  const descriptor = openBounded(file, largest, flags);
  try {
    return readFileSync(descriptor);
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
  const descriptor = openBounded(file, largest);
  try {
    return await promisify(readFile)(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Opens a regular file of any size for reading.
 * @param flags further flags of open(2)
 * @returns the descriptor of the open file
 * @throws UnfitFileError, or the system's error if the file cannot be opened
 */
export function openRegularFile(file: string, flags = 0): number {
  return openBounded(file, Number.POSITIVE_INFINITY, flags);
}

function openBounded(file: string, largest: number, flags = 0): number {
  let descriptor: number;
  try {
    descriptor = openSync(file, READ | flags);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENXIO') throw error;
    throw new UnfitFileError(file, 'is a socket or a device, not a regular file');
  }
  const stats = fstatSync(descriptor);
  if (stats.isFile() && stats.size <= largest) return descriptor;
  closeSync(descriptor);
  throw new UnfitFileError(
    file,
    stats.isFile() ? `is larger than ${largest} bytes` : `is ${kindOf(stats)}, not a regular file`,
  );
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a named pipe';
  return 'a device';
}
