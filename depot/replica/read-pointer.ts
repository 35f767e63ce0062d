/**
 * Reads a pointer of a remote store: with a conditional request, so that a pointer that has not changed
 * costs next to nothing, and with a time limit, so that a store that hangs does not stop the polling.
 */
import { readUpTo } from '../remote/content.ts';
import type { RemoteStore } from '../remote/remote.ts';
import { TransferError } from '../transfer/try-again.ts';

/** A pointer has about a kilobyte. */
const LONGEST_READ_MS = 10_000;

/**
 * @param largest in bytes
 * @param timeout makes the signal that ends a read
 * @returns a function that reads the text of the pointer. It throws a TransferError, or an Error if
 * there is no pointer or it is too large.
 */
export function makePointerReader(
  remote: RemoteStore,
  path: string,
  largest: number,
  timeout: (milliseconds: number) => AbortSignal = AbortSignal.timeout,
): () => Promise<string> {
  let last: { readonly etag: string | undefined; readonly text: string } | undefined;

  async function read(signal: AbortSignal): Promise<string> {
    const condition = last?.etag === undefined ? {} : { etag: last.etag };
    const reply = await remote.get(path, { ...condition, signal });
    if (reply.status === 'unchanged' && last !== undefined) return last.text;
    if (reply.status !== 'found') {
      throw new Error(`${remote.name} has no ${path}: nothing was pushed there yet.`);
    }
    const bytes = await readUpTo(reply.bytes, largest);
    if (bytes === undefined) {
      throw new Error(`${path} at ${remote.name} has more than ${largest} bytes.`);
    }
    last = { etag: reply.etag, text: bytes.toString('utf8') };
    return last.text;
  }

  return async () => {
    const signal = timeout(LONGEST_READ_MS);
    try {
      return await read(signal);
    } catch (cause) {
      if (!signal.aborted) throw cause;
      const seconds = LONGEST_READ_MS / 1000;
      throw new TransferError(`${remote.name} did not send ${path} within ${seconds} s`, { cause });
    }
  };
}
