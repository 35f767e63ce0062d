/**
 * The API keys in memory: finds the record of a raw key. Keys are kept as hashes. Raw keys that were
 * used recently are cached as well, so that a key is not hashed at every request.
 */
import { LRUCache } from 'lru-cache';
import { hashKey, isWellFormedKey } from '../../format/api-key.ts';
import type { DecidedState, KeyEntry } from '../../format/keys-file.ts';
import { openRollingWindow, type Quota, type RollingWindow } from '../limits/rolling-window.ts';
import { type DailyQuota, dayCountOf } from './daily-quota.ts';
import { useCountsOf } from './use-counts.ts';

const MOST_RAW_KEYS = 10_000;

/** An entry of `keys.json` with the memory that all serving threads share. */
export interface SharedKey extends KeyEntry {
  readonly window: SharedArrayBuffer;
  /** From `newUseCounts`. The memory belongs to the id: a key that is rotated keeps it. */
  readonly uses: SharedArrayBuffer;
}

/** A key as one thread knows it. The record and its window stay when `keys.json` is replaced. */
export interface KeyRecord extends DailyQuota {
  readonly id: number;
  state: DecidedState;
  limit: number;
  dailyQuota: number | undefined;
  window: RollingWindow;
  /** The cells of this thread, for `countUse`. */
  readonly uses: Float64Array;
}

/** The operations on keys that a request needs. */
export interface Keys {
  /** The record of a raw key if it is cached; the key is not hashed. */
  recent(rawKey: string): KeyRecord | undefined;
  /** The record of a raw key, in any state; undefined if it is malformed or unknown. */
  find(rawKey: string): KeyRecord | undefined;
  /** Counts a request with a key if the key's limit allows it. @param most a lower limit */
  admit(record: KeyRecord, now: number, most?: number): Quota;
  /** Counts a request with a key that was admitted elsewhere. */
  record(record: KeyRecord, now: number): void;
  /** How many keys are known; undefined until {@link KeyTable.replace} is first called. */
  size(): number | undefined;
}

export interface KeyTable extends Keys {
  /** Replaces all keys that were known. */
  replace(keys: readonly SharedKey[]): void;
  /** The record of a key by its hash. */
  byHash(hash: string): KeyRecord | undefined;
  all(): Iterable<KeyRecord>;
  /** All records by their hashes. */
  entries(): Iterable<[string, KeyRecord]>;
}

/**
 * @param receive called when a window was moved to a larger one: it must call `replace` with the newer
 * list, which contains the larger window
 * @param thread the number of this serving thread; the first is 0
 */
export function makeKeyTable(receive: () => void = () => {}, thread = 0): KeyTable {
  const rawKeys = new LRUCache<string, KeyRecord>({ max: MOST_RAW_KEYS });
  let records: Map<string, KeyRecord> | undefined;

  return {
    recent: (rawKey) => rawKeys.get(rawKey),
    find(rawKey) {
      if (!isWellFormedKey(rawKey)) return undefined;
      const record = records?.get(hashKey(rawKey));
      // A copy: a slice of the request head would keep the whole head in memory.
      if (record !== undefined) rawKeys.set(Buffer.from(rawKey).toString(), record);
      return record;
    },
    admit(record, now, most = record.limit) {
      for (;;) {
        // Never more than the window can hold.
        const limit = Math.min(most, record.window.capacity);
        const quota = record.window.admit(limit, now);
        if (quota !== undefined) return quota;
        receive();
      }
    },
    record(record, now) {
      while (!record.window.record(now)) receive();
    },
    size: () => records?.size,
    byHash: (hash) => records?.get(hash),
    all: () => records?.values() ?? [],
    entries: () => records?.entries() ?? [],
    replace(keys) {
      const next = new Map<string, KeyRecord>();
      for (const { id, hash, state, limit, dailyQuota, window, uses } of keys) {
        const known = records?.get(hash);
        if (known !== undefined && known.id === id) {
          known.state = state;
          known.limit = limit;
          known.dailyQuota = dailyQuota;
          if (known.window.memory !== window) known.window = openRollingWindow(window);
          next.set(hash, known);
        } else {
          next.set(hash, {
            ...{ id, state, limit, dailyQuota },
            window: openRollingWindow(window),
            uses: useCountsOf(uses, thread),
            dayCount: dayCountOf(uses),
          });
        }
      }
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
