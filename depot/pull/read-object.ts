/**
 * Reads an object of a remote store whose content never changes. If the transfer is cut off, it
 * continues where it ended, so that a decoder behind it does not have to start over.
 */

import type { FoundObject, RemoteStore } from '../remote/remote.ts';
import type { Clock } from '../transfer/clock.ts';
import { tryAgain } from '../transfer/try-again.ts';
import { GoneError } from './source.ts';

export interface ObjectTransfer {
  readonly remote: RemoteStore;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * @param found the reply to the first request for the object; the bytes begin where it begins
 * @throws GoneError if the object has been removed in the meantime, or Error if the transfer was cut off several
 * times in a row without a new byte
 */
export async function* readObject(
  found: FoundObject,
  { remote, path, signal, clock }: ObjectTransfer,
): AsyncGenerator<Buffer> {
  let position = found.offset;
  let reply: FoundObject | undefined = found;
  let pieces: AsyncIterator<Buffer> | undefined = found.bytes[Symbol.asyncIterator]();
  /** How many bytes of the reply were read before, because the store has started over. */
  let known = 0;

  async function open(): Promise<AsyncIterator<Buffer>> {
    const next = await remote.get(path, { offset: position, signal });
    if (next.status !== 'found') throw new GoneError(`${remote.name} no longer has ${path}.`);
    reply = next;
    known = position - next.offset;
    return next.bytes[Symbol.asyncIterator]();
  }

  /** @returns the next bytes, possibly none; undefined at the end */
  async function next(): Promise<Buffer | undefined> {
    try {
      pieces ??= await open();
      const { done, value } = await pieces.next();
      if (done) return undefined;
      const fresh = value.subarray(Math.min(known, value.length));
      known -= value.length - fresh.length;
      position += fresh.length;
      return fresh;
    } catch (error) {
      pieces = undefined;
      throw error;
    }
  }

  try {
    for (;;) {
      const piece = await tryAgain(path, next, () => position, clock);
      if (piece === undefined) return;
      yield piece;
    }
  } finally {
    reply?.drop();
  }
}
