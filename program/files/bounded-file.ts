/**
 * Reads files that an operator or another program may have replaced. Only regular files up to a given
 * size are read: reading a named pipe would wait for its writer, and a device may never end.
 */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';

// Without O_NONBLOCK, opening a named pipe would already wait.
const READ = constants.O_RDONLY | constants.O_NONBLOCK;
/** Refuses a symbolic link. For folders that a user with fewer rights can write to. */
export const NO_LINK = constants.O_NOFOLLOW;

/** The path is not a regular file, or the file is too large. */
export class UnfitFileError extends Error {
  override readonly name = 'UnfitFileError';
  /** The fault alone, such as "is a directory, not a regular file". */
  readonly fault: string;

  constructor(file: string, fault: string) {
    super(`${path.basename(file)} ${fault}.`);
    this.fault = fault;
  }
}

/**
 * Reads a regular file.
 * @param largest how many bytes it may have
 * @param flags further flags of open(2), such as {@link NO_LINK}
 * @throws UnfitFileError, or the error of the system when it cannot be opened or read
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

/** The same without blocking the thread, for large files that are read while requests are served. */
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
 * @returns its descriptor
 * @throws UnfitFileError, or the error of the system when it cannot be opened
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

/** Names the cause of ENXIO, with which sockets and some devices refuse to be opened. */
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

// The buffer has the size at this moment, so a file that grows is not read past the limit.
function makeRoom(file: string, { size }: Stats, largest: number): Buffer {
  if (size > largest) throw new UnfitFileError(file, `is larger than ${largest} bytes`);
  return Buffer.alloc(size);
}
