/**
 * The API keys in memory: handed raw keys, hands on records. Only hashes are kept, but for the raw
 * keys in use, which stand here so that a key is not hashed at every request.
 */
import { LRUCache } from 'lru-cache';
import { hashKey, isWellFormedKey } from '../../format/api-key.ts';
import type { DecidedState, KeyEntry } from '../../format/keys-file.ts';
import { openRollingWindow, type Quota, type RollingWindow } from '../limits/rolling-window.ts';

const MOST_RAW_KEYS = 10_000;

/** A line of `keys.json` with the memory of its window, which all serving threads share. */
export interface SharedKey extends KeyEntry {
  readonly window: SharedArrayBuffer;
}

/** A key for as long as the process lives: its window outlasts a new `keys.json`. */
export interface KeyRecord {
  readonly id: number;
  state: DecidedState;
  limit: number;
  window: RollingWindow;
}

/** What a request needs of the keys. */
export interface Keys {
  /** The record of a raw key that is cached; costs no hash. */
  recent(rawKey: string): KeyRecord | undefined;
  /** The record of a raw key, whatever its state; undefined if it is malformed or unknown. */
  find(rawKey: string): KeyRecord | undefined;
  /** Counts a request of a key. */
  admit(record: KeyRecord, now: number): Quota;
  /** How many keys are known; undefined before any were handed over. */
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

/** @param receive fetches a newer list at once; called when a window has moved to a larger one */
export function makeKeyTable(receive: () => void = () => {}): KeyTable {
  const rawKeys = new LRUCache<string, KeyRecord>({ max: MOST_RAW_KEYS });
  let records: Map<string, KeyRecord> | undefined;

  return {
    recent: (rawKey) => rawKeys.get(rawKey),
    find(rawKey) {
      if (!isWellFormedKey(rawKey)) return undefined;
      const record = records?.get(hashKey(rawKey));
      // A copy: what was cut from a head would hold the whole head for as long.
      if (record !== undefined) rawKeys.set(Buffer.from(rawKey).toString(), record);
      return record;
    },
    admit(record, now) {
      for (;;) {
        // A window that grew since holds what the limit was then.
        const limit = Math.min(record.limit, record.window.capacity);
        const quota = record.window.admit(limit, now);
        if (quota !== undefined) return quota;
        receive();
      }
    },
    size: () => records?.size,
    byHash: (hash) => records?.get(hash),
    all: () => records?.values() ?? [],
    entries: () => records?.entries() ?? [],
    replace(keys) {
      const next = new Map<string, KeyRecord>();
      for (const { id, hash, state, limit, window } of keys) {
        const known = records?.get(hash);
        if (known !== undefined && known.id === id) {
          known.state = state;
          known.limit = limit;
          if (known.window.memory !== window) known.window = openRollingWindow(window);
          next.set(hash, known);
        } else {
          next.set(hash, { id, state, limit, window: openRollingWindow(window) });
        }
      }
      // A key that is gone from the database must not live on through the raw keys in memory.
      for (const [hash, record] of records ?? []) {
        if (next.get(hash) === record) continue;
        record.state = 'revoked';
        // If the key returns, it has another record, which these would hide.
        rawKeys.clear();
      }
      records = next;
    },
  };
}
