/**
 * Reads `keys.json`, which the generator replaces when a key changes, and creates the rolling window of
 * each key. When a key's limit is raised beyond the capacity of its window, the counted requests move
 * into a larger window.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type KeyEntry, LARGEST_KEYS_FILE, parseKeys } from '../../format/keys-file.ts';
import { KEYS_FILE } from '../../format/layout.ts';
import { explainUnreadable } from '../../program/file-access.ts';
import { readBoundedFile } from '../../program/files/bounded-file.ts';
import { HASH_DIGITS, type KeyWindow } from '../limits/handover.ts';
import { makeLargerWindow, makeRollingWindow, WINDOW_MS } from '../limits/rolling-window.ts';
import { continueDay, type DayAdmitted } from './daily-quota.ts';
import { type KeyRecord, type Keys, makeKeyTable, type SharedKey } from './key-table.ts';
import { newUseCounts } from './use-counts.ts';

export interface KeyStore extends Keys {
  /** The records of all known keys. */
  all(): Iterable<KeyRecord>;
  /** For the id of each known key, the memory of its counts, from `newUseCounts`. */
  uses(): ReadonlyMap<number, SharedArrayBuffer>;
  /**
   * Reads the file if its modification time has changed since it was last read.
   * @returns whether its content has changed
   * @throws Error that explains to an operator why the file cannot be read; the keys stay as they were
   */
  refresh(): Promise<boolean>;
  /** Why the last refresh could not read the file; undefined if it could. */
  fault(): string | undefined;
  /** When the file last agreed with the database, in milliseconds of the wall clock. */
  confirmedAt(): number | undefined;
  /** The windows that contain requests that still count. */
  windows(now: number): KeyWindow[];
}

/**
 * @param announce called with all keys whenever one changed, to send them to the other serving threads
 * @param saved the windows that an earlier process handed over
 * @param threads how many serving threads count requests
 * @param earlier what earlier runs have admitted on a day, which is usually the present one
 */
export function makeKeyStore(
  snapshotsDir: string,
  announce: (keys: readonly SharedKey[]) => void,
  saved: readonly KeyWindow[] = [],
  threads = 1,
  earlier?: DayAdmitted,
): KeyStore {
  const file = path.join(snapshotsDir, KEYS_FILE);
  const table = makeKeyTable();
  // Saved windows whose keys were not read yet. A key may come with a later file, or never in this run.
  const unclaimed = new Map(saved.map((window) => [savedName(window.id, window.hash), window]));
  let usesById = new Map<number, SharedArrayBuffer>();
  let content: Buffer | undefined;
  let confirmedAt: number | undefined;
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
    if (mtimeMs === confirmedAt) return false;
    // The generator sets a new time at every check: only the content shows whether a key changed.
    const found = await readBoundedFile(file, LARGEST_KEYS_FILE);
    const isNew = content === undefined || !found.equals(content);
    if (isNew) {
      take(found.toString('utf8'));
      content = found;
    }
    confirmedAt = mtimeMs;
    return isNew;
  }

  function take(text: string): void {
    const moves: (() => void)[] = [];
    const nextUses = new Map<number, SharedArrayBuffer>();
    const keys = parseKeys(text).map((entry): SharedKey => {
      const uses = usesById.get(entry.id) ?? newUses(entry.id);
      nextUses.set(entry.id, uses);
      const key = { ...entry, uses };
      const known = table.byHash(key.hash);
      if (known === undefined || known.id !== key.id) {
        return { ...key, window: makeWindow(key) };
      }
      const { window } = known;
      if (key.limit <= window.capacity) return { ...key, window: window.memory };
      // The larger window makes every caller wait until the counted requests were moved into it.
      const larger = makeLargerWindow(key.limit);
      moves.push(() => window.moveTo(larger));
      return { ...key, window: larger.memory };
    });
    usesById = nextUses;
    announce(keys);
    table.replace(keys);
    for (const move of moves) move();
  }

  function newUses(id: number): SharedArrayBuffer {
    const uses = newUseCounts(threads);
    continueDay(uses, earlier?.day ?? 0, earlier?.admitted.get(id) ?? 0);
    return uses;
  }

  function makeWindow({ id, hash, limit }: KeyEntry): SharedArrayBuffer {
    const name = savedName(id, hash);
    const times = unclaimed.get(name)?.times ?? [];
    unclaimed.delete(name);
    // If the limit was lowered since, there can be more times than the limit. All of them count.
    return makeRollingWindow(Math.max(limit, times.length), times).memory;
  }

  function windows(now: number): KeyWindow[] {
    const counted = [...table.entries()].map(([hash, { id, window }]) => ({
      id,
      hash,
      times: window.times(now),
    }));
    const recent = (times: readonly number[]) => times.filter((time) => now - time < WINDOW_MS);
    const unread = [...unclaimed.values()].map((saved) => ({
      ...saved,
      times: recent(saved.times),
    }));
    return [...counted, ...unread].filter(({ times }) => times.length > 0);
  }

  return {
    ...table,
    uses: () => usesById,
    refresh,
    fault: () => fault,
    confirmedAt: () => confirmedAt,
    windows,
  };
}

function savedName(id: number, hash: string): string {
  return `${id} ${hash.slice(0, HASH_DIGITS)}`;
}
