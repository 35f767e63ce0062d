/**
 * The API keys in memory: finds the record of a raw key. Keys are kept as hashes. Raw keys that were
 * used recently are cached as well, so that a key is not hashed at every request.
 */
import { LRUCache } from 'lru-cache';
import { hashKey, isWellFormedKey } from '../../format/api-key.ts';
import type { DecidedState, KeyEntry } from '../../format/keys-file.ts';
import { openRollingWindow, type RollingWindow } from '../limits/rolling-window.ts';

const MOST_RAW_KEYS = 10_000;

/** An entry of `keys.json` with the memory that all serving threads share. */
export interface SharedKey extends KeyEntry {
  readonly window: SharedArrayBuffer;
  /** From `newUseCounts`. The memory belongs to the id: a key that is rotated keeps it. */
  readonly uses: SharedArrayBuffer;
}

/**
 * A raw key as one thread knows it. The record and its window stay when `keys.json` is replaced.
 */
export interface KeyRecord {
  readonly id: number;
  /** The name of its window in Redis. */
  readonly windowName: string;
  state: DecidedState;
  /** At most the capacity of the window. */
  limit: number;
  window: RollingWindow;
  /** The cells of this thread, by {@link USE}. */
  readonly uses: Float64Array;
}

/** The operations on keys that a request needs. */
export interface Keys {
  /** The record of a raw key, in any state; undefined if it is malformed or unknown. */
  find(rawKey: string): KeyRecord | undefined;
  /** How many keys are known; undefined until {@link KeyTable.replace} is first called. */
  size(): number | undefined;
}

export interface KeyTable extends Keys {
  /** Replaces all keys that were known. */
  replace(keys: readonly SharedKey[]): void;
  /** The record of a key by its hash. */
  byHash(hash: string): KeyRecord | undefined;
}

/** Whether requests with a raw key are accepted. */
export function isValid({ state }: KeyRecord): boolean {
  return state === 'approved';
}

/** @param thread the number of this serving thread; the first is 0 */
export function makeKeyTable(thread = 0): KeyTable {
  const rawKeys = new LRUCache<string, KeyRecord>({ max: MOST_RAW_KEYS });
  let records: Map<string, KeyRecord> | undefined;

  const byHash = (hash: string) => records?.get(hash);

  /** The record of a key: the known one with the new values, or a new one. */
  function recordOf({ id, hash, state, limit, window, uses }: SharedKey): KeyRecord {
    const known = byHash(hash);
    if (known === undefined || known.id !== id) {
      return {
        id,
        windowName: `k${id}`,
        state,
        limit,
        window: openRollingWindow(window),
        uses: useCountsOf(uses, thread),
      };
    }
    Object.assign(known, { state, limit });
    if (known.window.memory !== window) known.window = openRollingWindow(window);
    return known;
  }

  return {
    find(rawKey) {
      const cached = rawKeys.get(rawKey);
      if (cached !== undefined || !isWellFormedKey(rawKey)) return cached;
      const record = byHash(hashKey(rawKey));
      // A copy: a slice of the request head would keep the whole head in memory.
      if (record !== undefined) rawKeys.set(Buffer.from(rawKey).toString(), record);
      return record;
    },
    size: () => records?.size,
    byHash,
    replace(keys) {
      const next = new Map(keys.map((key) => [key.hash, recordOf(key)]));
      // A key that was deleted from the database must not stay valid through the cached raw keys.
      for (const [hash, record] of records ?? []) {
        if (next.get(hash) === record) continue;
        record.state = 'revoked';
        // If the key returns, it gets a new record. The cache would still return the old one.
        rawKeys.clear();
      }
      records = next;
    },
  };
}

// Counts of what each key uses. Each thread adds to cells of its own, so that counting needs no lock. They
// only grow; the first thread reads the sums at intervals (`key-usage.ts`).

/** What is counted. The numbers are positions within the cells of a thread. */
export const USE = { requests: 0, notModified: 1, refused: 2, bytes: 3 } as const;

const CELLS = 4;

/** The cells of one key, for a number of threads. */
export function newUseCounts(threads = 1): SharedArrayBuffer {
  return new SharedArrayBuffer(threads * CELLS * Float64Array.BYTES_PER_ELEMENT);
}

/** The cells that one thread adds to. @param thread the first is 0 */
export function useCountsOf(memory: SharedArrayBuffer, thread: number): Float64Array {
  return new Float64Array(memory, thread * CELLS * Float64Array.BYTES_PER_ELEMENT, CELLS);
}

/** The sums of all threads: one number for each of {@link USE}. @param memory from `newUseCounts` */
export function sumOfUse(memory: SharedArrayBuffer): Float64Array {
  const sums = new Float64Array(CELLS);
  for (const [index, count] of new Float64Array(memory).entries()) sums[index % CELLS] += count;
  return sums;
}
