/**
 * Reads `keys.json`, which the generator replaces when a key changes, and creates the rolling window of
 * each key. When a key's limit is raised beyond the capacity of its window, the key gets a larger one with
 * the requests that were counted until then. Until the other threads know of it, a moment later, what they
 * admit is counted in the old one.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { LARGEST_KEYS_FILE, parseKeys } from '../../format/keys-file.ts';
import { KEYS_FILE } from '../../format/layout.ts';
import { readBoundedFile } from '../../program/files/bounded-file.ts';
import { makeRollingWindow } from '../limits/rolling-window.ts';
import { type KeyTable, makeKeyTable, newUseCounts, type SharedKey } from './key-table.ts';

export interface KeyStore extends Omit<KeyTable, 'replace'> {
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
}

/**
 * @param announce called with all keys whenever one changed, to send them to the other serving threads;
 * may return a promise that they know the keys, for which `refresh` waits
 * @param now the clock of the windows
 * @param threads how many serving threads count requests
 */
export function makeKeyStore(
  snapshotsDir: string,
  announce: (keys: readonly SharedKey[]) => Promise<void> | void,
  now: () => number,
  threads = 1,
): KeyStore {
  const table = makeKeyTable();
  const file = path.join(snapshotsDir, KEYS_FILE);
  let usesById = new Map<number, SharedArrayBuffer>();
  let content: Buffer | undefined;
  let confirmedAt: number | undefined;
  let fault: string | undefined;

  async function take(text: string): Promise<void> {
    const keys = parseKeys(text).map((entry): SharedKey => {
      const key = { ...entry, uses: usesById.get(entry.id) ?? newUseCounts(threads) };
      const known = table.byHash(entry.hash);
      const window = known?.id === entry.id ? known.window : undefined;
      if (window !== undefined && key.limit <= window.capacity) {
        return { ...key, window: window.memory };
      }
      return { ...key, window: makeRollingWindow(key.limit, window?.times(now())).memory };
    });
    usesById = new Map(keys.map(({ id, uses }) => [id, uses]));
    const isAnnounced = announce(keys);
    table.replace(keys);
    await isAnnounced;
  }

  async function read(): Promise<boolean> {
    const { mtimeMs } = await stat(file);
    if (mtimeMs === confirmedAt) return false;
    // The generator sets a new time at every check: only the content shows whether a key changed.
    const found = await readBoundedFile(file, LARGEST_KEYS_FILE);
    const isNew = content === undefined || !found.equals(content);
    if (isNew) {
      await take(found.toString('utf8'));
      content = found;
    }
    confirmedAt = mtimeMs;
    return isNew;
  }

  return {
    ...table,
    uses: () => usesById,
    async refresh() {
      try {
        const isNew = await read();
        fault = undefined;
        return isNew;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        const isAbsent = code === 'ENOENT';
        fault = isAbsent ? `There is no ${KEYS_FILE} in ${snapshotsDir}.` : message;
        throw new Error(fault, { cause: error });
      }
    },
    fault: () => fault,
    confirmedAt: () => confirmedAt,
  };
}
