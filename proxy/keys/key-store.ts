/**
 * Follows `keys.json`, which the generator replaces when a key changes, and gives every key its
 * window: made once, and moved into a larger one when the key's limit was raised.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type KeyEntry, LARGEST_KEYS_FILE, parseKeys } from '../../format/keys-file.ts';
import { KEYS_FILE } from '../../format/layout.ts';
import { readBoundedFile } from '../../program/files/bounded-file.ts';
import { explainUnreadable } from '../../program/unreadable.ts';
import { HASH_DIGITS, type KeyWindow } from '../limits/handover.ts';
import { makeLargerWindow, makeRollingWindow, WINDOW_MS } from '../limits/rolling-window.ts';
import { type KeyRecord, type Keys, makeKeyTable, type SharedKey } from './key-table.ts';

export interface KeyStore extends Keys {
  /** Every key that is known. */
  all(): Iterable<KeyRecord>;
  /**
   * Reads the file if it was replaced since it was last read.
   * @returns whether it was read
   * @throws Error explaining to an operator why it cannot be read; the keys stay as they were
   */
  refresh(): Promise<boolean>;
  /** Why the last refresh could not read the file; undefined when it could. */
  fault(): string | undefined;
  /** When the file last agreed with the database, in milliseconds of the wall clock. */
  agreedAt(): number | undefined;
  /** The windows with requests that still count. */
  windows(now: number): KeyWindow[];
}

/**
 * @param announce hands all keys to the other serving threads, whenever they changed
 * @param saved the windows that an earlier process handed over
 */
export function makeKeyStore(
  snapshotsDir: string,
  announce: (keys: readonly SharedKey[]) => void,
  saved: readonly KeyWindow[] = [],
): KeyStore {
  const file = path.join(snapshotsDir, KEYS_FILE);
  const table = makeKeyTable();
  // Until their keys are read, which may be in a later file or not before the end of this run.
  const waiting = new Map(saved.map((window) => [savedName(window.id, window.hash), window]));
  let content: Buffer | undefined;
  let agreedAt: number | undefined;
  let fault: string | undefined;

  async function refresh(): Promise<boolean> {
    try {
      const isNew = await read();
      fault = undefined;
      return isNew;
    } catch (error) {
      const explained = await explainUnreadable(error, file);
      fault = explained.message;
      throw explained;
    }
  }

  async function read(): Promise<boolean> {
    const { mtimeMs } = await stat(file);
    if (mtimeMs === agreedAt) return false;
    // The generator sets a new time whenever it looked: only the content tells whether it changed.
    const found = await readBoundedFile(file, LARGEST_KEYS_FILE);
    const isNew = content === undefined || !found.equals(content);
    if (isNew) {
      take(found.toString('utf8'));
      content = found;
    }
    agreedAt = mtimeMs;
    return isNew;
  }

  function take(text: string): void {
    const moves: (() => void)[] = [];
    const keys = parseKeys(text).map((key): SharedKey => {
      const known = table.byHash(key.hash);
      if (known === undefined || known.id !== key.id) {
        return { ...key, window: makeWindow(key) };
      }
      const { window } = known;
      if (key.limit <= window.capacity) return { ...key, window: window.memory };
      // Nobody gets into the larger one before all that was counted stands in it.
      const larger = makeLargerWindow(key.limit);
      moves.push(() => window.moveTo(larger));
      return { ...key, window: larger.memory };
    });
    announce(keys);
    table.replace(keys);
    for (const move of moves) move();
  }

  function makeWindow({ id, hash, limit }: KeyEntry): SharedArrayBuffer {
    const name = savedName(id, hash);
    const times = waiting.get(name)?.times ?? [];
    waiting.delete(name);
    // There can be more times than the limit if it was lowered since: they all count.
    return makeRollingWindow(Math.max(limit, times.length), times).memory;
  }

  function windows(now: number): KeyWindow[] {
    const counted = [...table.entries()].map(([hash, { id, window }]) => ({
      id,
      hash,
      times: window.times(now),
    }));
    const recent = (times: readonly number[]) => times.filter((time) => now - time < WINDOW_MS);
    const unread = [...waiting.values()].map((saved) => ({ ...saved, times: recent(saved.times) }));
    return [...counted, ...unread].filter(({ times }) => times.length > 0);
  }

  return { ...table, refresh, fault: () => fault, agreedAt: () => agreedAt, windows };
}

function savedName(id: number, hash: string): string {
  return `${id} ${hash.slice(0, HASH_DIGITS)}`;
}
