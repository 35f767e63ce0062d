/**
 * Differences between versions of a file, for clients that have one of them: the new version compressed
 * with the old one as the dictionary (RFC 9842, "dcz"). Mirrors fetch them after each publication, so
 * those that were made lately are cached.
 *
 * Invariant: one worker at a time. Clients do not wait for long: if others are waiting already, there
 * is no difference, and the client gets the whole file.
 */
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { StoredFile } from '../snapshot/stored-file.ts';
import type { DifferenceOrder } from './difference-worker.ts';

/** In bytes. A smaller file is sent whole: starting a worker costs more than it saves. */
const SMALLEST_FILE = 64 * 1024;
const MOST_WAITING = 16;
/** In bytes, for all cached differences of one thread. */
const CACHE_BYTES = 12 * 1024 * 1024;
/** A cached result that there is no difference takes about this much, as does the entry of any other. */
const ENTRY_BYTES = 300;

/** @returns undefined if there is no difference for this file and dictionary */
export type FindDifference = (
  stored: StoredFile,
  dictionary: string,
) => Promise<Buffer | undefined>;

export function makeDifferences(onError: (error: Error) => void): FindDifference {
  const cache = new LRUCache<string, { readonly bytes: Buffer | undefined }>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ bytes }) => ENTRY_BYTES + (bytes?.length ?? 0),
  });
  const pending = new Map<string, Promise<Buffer | undefined>>();
  let last: Promise<unknown> = Promise.resolve();

  async function make(name: string, order: DifferenceOrder): Promise<Buffer | undefined> {
    try {
      const bytes = await runWorker(order);
      cache.set(name, { bytes });
      return bytes;
    } catch (error) {
      onError(error as Error);
      return undefined;
    } finally {
      pending.delete(name);
    }
  }

  return async ({ dir, file }, dictionary) => {
    if (file.size < SMALLEST_FILE) return undefined;
    const name = `${dictionary} ${file.sha256} ${file.path}`;
    const known = cache.get(name);
    if (known !== undefined) return known.bytes;
    let making = pending.get(name);
    if (making === undefined) {
      if (pending.size >= MOST_WAITING) return undefined;
      const snapshotsDir = path.dirname(path.dirname(dir));
      making = last.then(() => make(name, { snapshotsDir, dir, file, dictionary }));
      pending.set(name, making);
      last = making;
    }
    return making;
  };
}

function runWorker(order: DifferenceOrder): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./difference-worker.ts', import.meta.url), {
      workerData: order,
    });
    worker.unref();
    worker.once('message', (bytes: Uint8Array | undefined) =>
      resolve(bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)),
    );
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`The difference thread ended with ${code}.`)));
  });
}
