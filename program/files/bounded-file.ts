/**
 * Reads files that an operator or another program may have replaced. It reads only regular files, and
 * only up to a given size: a named pipe would make the reader wait for a writer, and a device may
 * never end.
 */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';

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
  const descriptor = openRegularFile(file, flags);
  try {
    const bytes = makeRoom(file, fstatSync(descriptor), largest);
    let end = 0;
    while (end < bytes.length) {
      const read = readSync(descriptor, bytes, end, bytes.length - end, end);
      if (read === 0) break;
      end += read;
    }
    return bytes.subarray(0, end);
  } finally {
    closeSync(descriptor);
  }
}

/** As {@link readBoundedFileSync}, without blocking the thread: for large files, read by a server. */
export async function readBoundedFile(file: string, largest: number): Promise<Buffer> {
  const handle = await open(file, READ).catch((error) => {
    throw explain(file, error);
  });
  try {
    const bytes = makeRoom(file, checkRegular(file, await handle.stat()), largest);
    let end = 0;
    while (end < bytes.length) {
      const { bytesRead } = await handle.read(bytes, end, bytes.length - end, end);
      if (bytesRead === 0) break;
      end += bytesRead;
    }
    return bytes.subarray(0, end);
  } finally {
    await handle.close();
  }
}

/**
 * Opens a regular file of any size for reading.
 * @param flags further flags of open(2)
 * @returns the descriptor of the open file
 * @throws UnfitFileError, or the system's error if the file cannot be opened
 */
export function openRegularFile(file: string, flags = 0): number {
  let descriptor: number;
  try {
    descriptor = openSync(file, READ | flags);
  } catch (error) {
    throw explain(file, error);
  }
  try {
    checkRegular(file, fstatSync(descriptor));
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Replaces ENXIO, the error of opening a socket or some devices, by one that names the cause. */
function explain(file: string, error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENXIO') return error;
  return new UnfitFileError(file, 'is a socket or a device, not a regular file');
}

function checkRegular(file: string, stats: Stats): Stats {
  if (stats.isFile()) return stats;
  throw new UnfitFileError(file, `is ${kindOf(stats)}, not a regular file`);
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a named pipe';
  return 'a device';
}

// The buffer has the present size of the file, so a file that grows is not read past the limit.
function makeRoom(file: string, { size }: Stats, largest: number): Buffer {
  if (size > largest) throw new UnfitFileError(file, `is larger than ${largest} bytes`);
  return Buffer.alloc(size);
}
