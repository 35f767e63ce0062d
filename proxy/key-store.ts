/**
 * What the proxy knows of API keys: `keys.json`, read again whenever the generator replaced it.
 * It is handed raw keys and hands on records; only hashes are kept, but for the raw keys in use,
 * which stand in memory so that a key is not hashed at every request.
 */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { hashKey, isWellFormedKey } from '../format/api-key.ts';
import { type KeyState, LARGEST_KEYS_FILE, parseKeys } from '../format/keys-file.ts';
import { KEYS_FILE } from '../format/layout.ts';
import { makeRollingWindow, type RollingWindow } from './limits/rolling-window.ts';

const MOST_RAW_KEYS = 10_000;

/** A key for as long as the process lives: its window and last use outlast a new `keys.json`. */
export interface KeyRecord {
  readonly id: number;
  state: KeyState;
  limit: number;
  readonly window: RollingWindow;
  /** On the limiter's clock; -Infinity before the first admitted request. */
  lastAdmitted: number;
}

export interface KeyStore {
  /** The record of a raw key that was in use lately; costs no hash. */
  recent(rawKey: string): KeyRecord | undefined;
  /** The record of a raw key, whatever its state; undefined if it is malformed or unknown. */
  find(rawKey: string): KeyRecord | undefined;
  /** Reads the file if it was replaced since. @returns whether it was read */
  refresh(): Promise<boolean>;
  /** How many keys are known; undefined before a file was read. */
  size(): number | undefined;
  /** When the file last agreed with the database, in milliseconds of the wall clock. */
  agreedAt(): number | undefined;
}

export function makeKeyStore(snapshotsDir: string): KeyStore {
  const file = path.join(snapshotsDir, KEYS_FILE);
  const rawKeys = new LRUCache<string, KeyRecord>({ max: MOST_RAW_KEYS });
  let records: Map<string, KeyRecord> | undefined;
  let content: Buffer | undefined;
  let agreedAt: number | undefined;

  async function refresh(): Promise<boolean> {
    const { mtimeMs, size } = await stat(file);
    if (mtimeMs === agreedAt) return false;
    if (size > LARGEST_KEYS_FILE) {
      throw new Error(`${KEYS_FILE} is larger than ${LARGEST_KEYS_FILE} bytes.`);
    }
    // The generator sets a new time whenever it looked: only the content tells whether it changed.
    const found = await readFile(file);
    const isNew = content === undefined || !found.equals(content);
    if (isNew) {
      replaceRecords(found.toString('utf8'));
      content = found;
    }
    agreedAt = mtimeMs;
    return isNew;
  }

  function replaceRecords(text: string): void {
    const next = new Map<string, KeyRecord>();
    for (const { id, hash, state, limit } of parseKeys(text)) {
      const known = records?.get(hash);
      if (known !== undefined && known.id === id) {
        known.state = state;
        known.limit = limit;
        next.set(hash, known);
      } else {
        const window = makeRollingWindow();
        next.set(hash, { id, state, limit, window, lastAdmitted: Number.NEGATIVE_INFINITY });
      }
    }
    // A key that is gone from the database must not live on through the raw keys in memory.
    for (const [hash, record] of records ?? []) {
      if (next.get(hash) !== record) record.state = 'revoked';
    }
    records = next;
  }

  return {
    recent: (rawKey) => rawKeys.get(rawKey),
    find(rawKey) {
      if (!isWellFormedKey(rawKey)) return undefined;
      const record = records?.get(hashKey(rawKey));
      if (record !== undefined) rawKeys.set(rawKey, record);
      return record;
    },
    refresh,
    size: () => records?.size,
    agreedAt: () => agreedAt,
  };
}
