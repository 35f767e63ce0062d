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
import { type KeyRecord, type KeyTable, makeKeyTable, type SharedKey } from './key-table.ts';
import { newUseCounts } from './use-counts.ts';

export interface KeyStore extends Omit<KeyTable, 'replace' | 'entries'> {
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
  const table = makeKeyTable();
  const unclaimed = makeUnclaimedWindows(saved);
  let usesById = new Map<number, SharedArrayBuffer>();

  function take(text: string): void {
    const moves: (() => void)[] = [];
    const keys = parseKeys(text).map((entry): SharedKey => {
      const key = { ...entry, uses: usesById.get(entry.id) ?? newUses(entry.id) };
      const known = recordOf(key);
      if (known === undefined) return { ...key, window: unclaimed.claim(key) };
      const { window } = known;
      if (key.limit <= window.capacity) return { ...key, window: window.memory };
      // The larger window makes every caller wait until the counted requests were moved into it.
      const larger = makeLargerWindow(key.limit);
      moves.push(() => window.moveTo(larger));
      return { ...key, window: larger.memory };
    });
    usesById = new Map(keys.map(({ id, uses }) => [id, uses]));
    announce(keys);
    table.replace(keys);
    for (const move of moves) move();
  }

  function newUses(id: number): SharedArrayBuffer {
    const uses = newUseCounts(threads);
    continueDay(uses, earlier?.day ?? 0, earlier?.admitted.get(id) ?? 0);
    return uses;
  }

  /** The record of a key or, if it was just rotated, of the raw key that still works beside it. */
  function recordOf(key: KeyEntry): KeyRecord | undefined {
    return hashesOf(key)
      .map(table.byHash)
      .find((record) => record?.id === key.id);
  }

  return {
    ...table,
    ...makeFileReader(path.join(snapshotsDir, KEYS_FILE), take),
    uses: () => usesById,
    windows(now) {
      const counted = [...table.entries()].map(([hash, { id, window }]) => ({
        id,
        hash,
        times: window.times(now),
      }));
      return [...counted, ...unclaimed.rest(now)].filter(({ times }) => times.length > 0);
    },
  };
}

/** Reads the file when it has changed. @param take gets its content, and throws if it is damaged */
function makeFileReader(
  file: string,
  take: (text: string) => void,
): Pick<KeyStore, 'refresh' | 'fault' | 'confirmedAt'> {
  let content: Buffer | undefined;
  let confirmedAt: number | undefined;
  let fault: string | undefined;

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

  return {
    async refresh() {
      try {
        const isNew = await read();
        fault = undefined;
        return isNew;
      } catch (error) {
        const explained = await explainUnreadable(error, file);
        fault = explained.message;
        throw explained;
      }
    },
    fault: () => fault,
    confirmedAt: () => confirmedAt,
  };
}

/** Saved windows whose keys were not read yet. A key may come with a later file, or never in this run. */
function makeUnclaimedWindows(saved: readonly KeyWindow[]) {
  const byName = new Map(saved.map((window) => [savedName(window.id, window.hash), window]));
  return {
    /** A new window for a key, with the times of its saved one. */
    claim(key: KeyEntry): SharedArrayBuffer {
      const { id, limit } = key;
      const names = hashesOf(key).map((hash) => savedName(id, hash));
      const name = names.find((each) => byName.has(each)) ?? '';
      const times = byName.get(name)?.times ?? [];
      byName.delete(name);
      // If the limit was lowered since, there can be more times than the limit. All of them count.
      return makeRollingWindow(Math.max(limit, times.length), times).memory;
    },
    /** What is left, without the times that no longer count. */
    rest: (now: number): KeyWindow[] =>
      [...byName.values()].map((window) => ({
        ...window,
        times: window.times.filter((time) => now - time < WINDOW_MS),
      })),
  };
}

/** The hashes of the raw keys that share a window. */
function hashesOf({ hash, previous }: KeyEntry): string[] {
  return previous === undefined ? [hash] : [hash, previous.hash];
}

function savedName(id: number, hash: string): string {
  return `${id} ${hash.slice(0, HASH_DIGITS)}`;
}
