/**
 * Deltas of files, for clients that have another version of a file (`format/dcz.ts`). Mirrors fetch them
 * after each publication, so the recent ones are cached.
 *
 * A separate process makes each delta, because its memory is free when it ends: when a thread made them,
 * the proxy kept 130 MB more. Invariant: one process at a time. Clients do not wait for long: while too
 * many wait, or after five seconds, a client gets the whole file instead.
 */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import type { StoredFile } from '../snapshot/stored-file.ts';
import type { DeltaOrder } from './make-delta.ts';

const PROGRAM = path.join(import.meta.dirname, 'make-delta.ts');
/** With the cache of compiled code, a start takes 0.07 s of CPU time instead of 0.2 s. */
const ENVIRONMENT = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };
const LONGEST_MS = 60_000;
const LONGEST_ERROR = 2000;
/** In bytes. A smaller file is sent whole: starting a process costs more than it saves. */
const SMALLEST_FILE = 64 * 1024;
const MOST_WAITING = 8;
/**
 * How long a client waits before it gets the whole file; the next one may then get the delta. It is
 * less than nginx waits for a proxy (10 s).
 */
const LONGEST_WAIT_MS = 5_000;
/** In bytes, for all cached deltas of one thread. */
const CACHE_BYTES = 12 * 1024 * 1024;
/** What an entry of the cache takes besides its bytes, also if it says that there is no delta. */
const ENTRY_BYTES = 300;

/** @returns undefined if this file has no delta for this dictionary */
export type FindDelta = (stored: StoredFile, dictionary: string) => Promise<Buffer | undefined>;

export function makeDeltas(onError: (error: Error) => void): FindDelta {
  const cache = new LRUCache<string, { readonly bytes: Buffer | undefined }>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ bytes }) => ENTRY_BYTES + (bytes?.length ?? 0),
  });
  const pending = new Map<string, Promise<Buffer | undefined>>();
  let last: Promise<unknown> = Promise.resolve();

  async function make(name: string, order: DeltaOrder): Promise<Buffer | undefined> {
    try {
      const bytes = await run(order);
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
    return within(LONGEST_WAIT_MS, making);
  };
}

/** @returns undefined if the promise takes longer */
async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function run(order: DeltaOrder): Promise<Buffer | undefined> {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: ENVIRONMENT,
    timeout: LONGEST_MS,
  });
  const output: Buffer[] = [];
  let errors = '';
  child.stdout.on('data', (piece: Buffer) => output.push(piece));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-LONGEST_ERROR);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const bytes = Buffer.concat(output);
      if (code === 0) resolve(bytes.length === 0 ? undefined : bytes);
      else reject(new Error(`make-delta.ts ended with ${code ?? signal}: ${errors}`));
    });
  });
}
