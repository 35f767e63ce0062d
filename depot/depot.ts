/**
 * A depot: a place through which generations and keys reach other machines. There are four kinds: a folder,
 * S3, a web server, and the `/snapshot` of another installation's API; the last two can only be read. A
 * depot has objects, which are a path and bytes. It decides nothing and is not trusted: whoever reads an
 * object checks its bytes.
 *
 * The contract of every kind:
 *
 * - A path that {@link isObjectPath} does not allow throws an Error at once.
 * - A reader sees an object complete or not at all. Replacing an object is one step. After a crash or a
 *   cut connection, the old object is still there, complete.
 * - A call that follows a finished `put` or `remove` sees its effect. Only reads from a web server may be old.
 * - Writes are tried again. Reads are not, since their readers have to begin again. TransferError means
 *   that another try may help; any other Error will come again, such as denied access or a full disk.
 * - All calls may run at the same time. `close` ends those that wait for another machine.
 * - A call ends, whatever the other machine sends: every transfer and every list has a largest size.
 * - No message and no name contains a password or a key. What another machine has sent is cut and cleaned.
 */
import type { ErrorWithExitCode } from '../lib/program/failure.ts';

export interface Depot {
  /** What messages call the depot: its address without credentials. */
  readonly name: string;
  /**
   * Starts to read an object.
   * @returns undefined if there is none
   * @throws TransferError, or another Error
   */
  get(path: string): Promise<TransferredObject | undefined>;
  /** Closes the connections. Must be the last call. @param reason the error of the calls that are under way */
  close(reason?: string): void;
}

export interface WritableDepot extends Depot {
  /** Writes an object, or replaces one. Once this returns, a power cut does not lose it. */
  put(path: string, bytes: Buffer): Promise<void>;
  /** Lists all objects whose paths begin with a prefix such as `files/`. */
  list(prefix: string): Promise<StoredObject[]>;
  /** Removes an object. An object that is not there is not an error. */
  remove(path: string): Promise<void>;
}

export interface TransferredObject {
  /** How the bytes are compressed. */
  readonly coding?: 'zstd' | 'gzip' | undefined;
  /** Must be read. Ending the loop early ends the transfer. */
  readonly bytes: AsyncIterable<Buffer>;
}

export interface StoredObject {
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** When it was written, in milliseconds since 1970, by the clock of the depot. */
  readonly modifiedAt: number;
}

/** A transfer failed, and may succeed if it is tried again. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
  /** How long the other side asks to wait, in milliseconds; undefined if it does not ask. */
  waitMs: number | undefined;
}

/** A release, or something that it names, must not be published or replaced. */
export class RefusedReleaseError extends Error implements ErrorWithExitCode {
  override readonly name = 'RefusedReleaseError';
  readonly exitCode = 3;
}

/** @returns what the check returns @throws RefusedReleaseError, which says why, for any error of the check */
export function orRefuse<T>(what: string, check: () => T): T {
  try {
    return check();
  } catch (cause) {
    throw new RefusedReleaseError(`${what} is refused: ${(cause as Error).message}`, { cause });
  }
}

const PATH = /^(?!\.)[A-Za-z0-9._~-]{1,200}(?:\/(?!\.)[A-Za-z0-9._~-]{1,200})*$/;

/** Whether a text is the path of an object: none of these leads out of the depot, or needs to be encoded. */
export function isObjectPath(path: string): boolean {
  return PATH.test(path);
}

/** @returns the path @throws Error unless {@link isObjectPath} */
export function checkPath(path: string): string {
  if (isObjectPath(path)) return path;
  throw new Error(`${JSON.stringify(path)} is not the path of an object in a depot.`);
}

/** How the bytes of an object are compressed: those of generations always with zstd. */
export function codingOf(path: string): 'zstd' | undefined {
  return path.endsWith('.zst') ? 'zstd' : undefined;
}
