/**
 * Transfers: repeated after a failure, a few at a time, and decompressed within bounds. Whatever another machine
 * sends, a transfer ends: its bytes are counted as they arrive and as they are decompressed, and so is its time.
 */
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { createGunzip, createZstdDecompress, constants as zlib } from 'node:zlib';
import { messageOf } from '../lib/program/failure.ts';
import type { Progress } from '../lib/program/progress.ts';
import { type Depot, RefusedReleaseError, TransferError, type TransferredObject } from './depot.ts';

/** The wall clock and its timer, as a parameter: tests pass their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after this time. */
  pause(milliseconds: number): Promise<unknown>;
}

export const systemClock: Clock = { now: Date.now, pause: setTimeout };

/** Is told how a pull or a push advances. */
export type TransferReport = Pick<Progress, 'advance' | 'step' | 'warn'>;

/** Bytes as megabytes with one decimal. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/**
 * How long a transfer may stand still. A busy thread does not take a fast machine for a slow one: undici counts such
 * times in ticks of half a second, of which a turn of the event loop adds at most one, however long it takes.
 */
export const STALL_MS = 30_000;
/** In bytes per millisecond: a transfer that is slower than this on the whole fails. */
const SLOWEST = 16;

/** How long the transfer of so many bytes may take in all, in milliseconds. */
export function longestMs(bytes: number): number {
  return STALL_MS + bytes / SLOWEST;
}

/** How many files are transferred at the same time. */
const PARALLEL = 4;
/** How many tries may fail; the second if the other side asks to try again later. */
const MOST_TRIES = 5;
const MOST_WAITS = 20;
const FIRST_PAUSE_MS = 250;

/**
 * Repeats work that fails with a TransferError, after a pause.
 * @param name what error messages begin with
 */
export async function tryAgain<T>(
  name: string,
  work: () => Promise<T>,
  clock = systemClock,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof TransferError)) throw error;
      if (failures >= (error.waitMs === undefined ? MOST_TRIES : MOST_WAITS)) {
        throw new Error(`${name}: ${error.message} (tried ${failures} times)`, { cause: error });
      }
      await clock.pause(error.waitMs ?? FIRST_PAUSE_MS * 2 ** failures);
    }
  }
}

/** In bytes, of all files together. */
export function totalSize(files: readonly { readonly size: number }[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

/**
 * Transfers files, a few at a time, but only one that is large. The largest come first, so that none is left alone
 * at the end. After an error, no other is begun, and those that are under way end: the next pull or push finds them.
 * @param action what the report calls it, such as "sending"
 * @param large in bytes; by default, no file is
 * @throws the first error
 */
export async function transferAll<T extends { readonly size: number }>(
  action: string,
  files: readonly T[],
  transfer: (file: T) => Promise<unknown>,
  { advance }: TransferReport,
  large = Number.POSITIVE_INFINITY,
): Promise<void> {
  const size = totalSize(files);
  const queue = files.toSorted((a, b) => a.size - b.size);
  let done = 0;
  let lastLarge: Promise<unknown> = Promise.resolve();
  const transferInTurn = (file: T) => {
    if (file.size < large) return transfer(file);
    lastLarge = lastLarge.then(() => transfer(file));
    return lastLarge;
  };
  async function transferNext(): Promise<void> {
    for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
      await transferInTurn(file).catch((error: unknown) => {
        queue.length = 0;
        throw error;
      });
      done += file.size;
      advance(action, `${megabytes(done)} of ${megabytes(size)} MB`, size && done / size);
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: PARALLEL }, transferNext));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/**
 * As a power of two: the largest window that a decoder accepts, and allocates. Pushes use 21; by default, a
 * hostile object could ask for 128 MB.
 */
const LIMITS = { [zlib.ZSTD_d_windowLogMax]: 23 };
/** In bytes. With the usual pieces of 16 KB, decoding takes twice as long. */
const LONGEST_PIECE = 256 * 1024;
const DECODERS = {
  gzip: () => createGunzip({ chunkSize: LONGEST_PIECE }),
  zstd: () => createZstdDecompress({ chunkSize: LONGEST_PIECE, params: LIMITS }),
};

/** In bytes: what both codings add to content that cannot be compressed, and more. */
const largestCoded = (most: number) => most + most / 64 + 4096;

/**
 * The bytes of a transfer as they arrive. Frames that decompress to nothing are counted here.
 * @throws RefusedReleaseError if there are more than content of this size needs; TransferError if they take too long
 */
async function* bounded(
  bytes: AsyncIterable<Buffer>,
  most: number,
  what: string,
  clock: Clock,
): AsyncGenerator<Buffer> {
  const longest = longestMs(most);
  const started = clock.now();
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
    if (size > largestCoded(most)) {
      throw new RefusedReleaseError(`${what} is sent as more bytes than ${most} need.`);
    }
    if (clock.now() - started > longest) {
      throw new TransferError(`${what} was not complete after ${Math.round(longest / 1000)} s`);
    }
    yield piece;
  }
}

/**
 * The content of an object. Nothing is decompressed ahead of the reader beyond the buffers of the decoder.
 * @param most how many bytes it may have
 * @param what the object, for errors
 * @throws RefusedReleaseError if it has more or is damaged, TransferError if its transfer fails
 */
export async function* checkedContent(
  found: TransferredObject,
  most: number,
  what: string,
  clock = systemClock,
): AsyncGenerator<Buffer> {
  const bytes = bounded(found.bytes, most, what, clock);
  const decoder = found.coding && DECODERS[found.coding]();
  // If the transfer fails, the decoder fails with the same error, which the loop then throws.
  const feeding = decoder && pipeline(bytes, decoder).catch(() => {});
  let size = 0;
  try {
    for await (const piece of decoder ?? bytes) {
      size += piece.length;
      if (size > most) {
        throw new RefusedReleaseError(`${what} has more than the expected ${most} bytes.`);
      }
      yield piece;
    }
  } catch (cause) {
    // The codes of zlib: Z_DATA_ERROR, ZSTD_error_prefix_unknown …
    if (!(cause as NodeJS.ErrnoException).code?.startsWith('Z')) throw cause;
    throw new RefusedReleaseError(`${what} is damaged: ${messageOf(cause)}.`, { cause });
  } finally {
    decoder?.destroy();
    await feeding;
  }
}

/** The whole content of a small object. @throws as {@link checkedContent} */
export function readWhole(
  found: TransferredObject,
  most: number,
  what: string,
  clock = systemClock,
): Promise<Buffer> {
  return buffer(checkedContent(found, most, what, clock));
}

/**
 * Reads a small object.
 * @returns undefined if there is none
 * @throws as {@link checkedContent} and {@link tryAgain}
 */
export function readObject(
  depot: Depot,
  path: string,
  most: number,
  clock = systemClock,
): Promise<Buffer | undefined> {
  const what = `${path} at ${depot.name}`;
  const read = async () => {
    const found = await depot.get(path);
    return found && readWhole(found, most, what, clock);
  };
  return tryAgain(`read ${what}`, read, clock);
}
