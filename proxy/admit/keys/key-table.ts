/**
 * The API keys in the memory of one serving thread: finds the record of a raw key, and counts what keys use.
 * Keys are kept as hashes. Raw keys that were used recently are cached as well, so that a key is not hashed at
 * every request.
 */
import { LRUCache } from 'lru-cache';
import { hashKey, isWellFormedKey } from '../../../lib/format/api-key.ts';
import type { Usage } from '../../../lib/format/key-usage-file.ts';
import type { DecidedState, KeyEntry } from '../../../lib/format/keys-file.ts';
import { getOrAdd } from '../../../lib/program/get-or-add.ts';
import type { HeaderLines } from '../../http/response.ts';
import { RollingWindow } from '../limits/rolling-window.ts';

const MOST_RAW_KEYS = 10_000;
const UNUSED: Usage = { requests: 0, refused: 0 };

/** An entry of `keys.json` with its window, which all serving threads share. */
export interface SharedKey extends KeyEntry {
  readonly window: SharedArrayBuffer;
}

/**
 * A raw key as one thread knows it. The record and its window stay when `keys.json` is replaced.
 */
export interface KeyRecord {
  readonly id: number;
  /** The name of its window in Redis. */
  readonly windowName: string;
  /** The field of its responses that names it in the log of a server in front. */
  readonly idHeader: HeaderLines;
  state: DecidedState;
  /** When an old key stops working, in milliseconds of the wall clock; undefined for any other key. */
  endsAt: number | undefined;
  /** At most the capacity of the window. */
  limit: number;
  window: RollingWindow;
  /** What it has used on this thread since `takeUsage`. It belongs to the id: a key that is rotated keeps it. */
  readonly usage: { -readonly [Name in keyof Usage]: number };
}

export interface KeyTable {
  /** The record of a raw key, in any state; undefined if it is malformed or unknown. */
  find(rawKey: string): KeyRecord | undefined;
  /** The record of a key by its hash. */
  byHash(hash: string): KeyRecord | undefined;
  /** How many keys are known; undefined until `replace` is first called. */
  size(): number | undefined;
  /** Replaces all keys that were known. */
  replace(keys: readonly SharedKey[]): void;
  /** What keys have used since the last call, by their ids. */
  takeUsage(): ReadonlyMap<number, Usage>;
}

/** Whether requests with a raw key are accepted. @param now the wall clock */
export function isValid({ state, endsAt }: KeyRecord, now = Date.now): boolean {
  return state === 'approved' && (endsAt === undefined || now() < endsAt);
}

export function makeKeyTable(): KeyTable {
  const rawKeys = new LRUCache<string, KeyRecord>({ max: MOST_RAW_KEYS });
  const usageById = new Map<number, KeyRecord['usage']>();
  let records: Map<string, KeyRecord> | undefined;

  const byHash = (hash: string) => records?.get(hash);

  /** The record of a key: the known one with the new values, or a new one. */
  function recordOf({ id, hash, state, limit, ends_at, window: memory }: SharedKey): KeyRecord {
    const endsAt = ends_at === undefined ? undefined : Date.parse(ends_at);
    const known = byHash(hash);
    if (known === undefined || known.id !== id) {
      const window = new RollingWindow(memory);
      const usage = getOrAdd(usageById, id, () => ({ ...UNUSED }));
      const idHeader = `X-Key-Id: ${id}\r\n`;
      return { id, windowName: `k${id}`, idHeader, state, endsAt, limit, window, usage };
    }
    Object.assign(known, { state, endsAt, limit });
    if (known.window.memory !== memory) known.window = new RollingWindow(memory);
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
    takeUsage() {
      const taken = new Map<number, Usage>();
      for (const [id, usage] of usageById) {
        if (Object.values(usage).every((count) => count === 0)) continue;
        taken.set(id, { ...usage });
        Object.assign(usage, UNUSED);
      }
      return taken;
    },
  };
}
