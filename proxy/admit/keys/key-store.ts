/**
 * Reads `keys.json`, which `schedule` replaces when a key changes, and creates the rolling window of
 * each key. The window belongs to the id of the key, so a key that is rotated keeps it. When a key's limit is
 * raised beyond the capacity of its window, the key gets a larger one with the requests that were counted
 * until then. Until the serving threads know of it, a moment later, what they admit is counted in the old one.
 */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { LARGEST_KEYS_FILE, parseKeys } from '../../../lib/format/keys-file.ts';
import { KEYS_FILE } from '../../../lib/format/layout.ts';
import { readBoundedFile } from '../../../lib/program/files/bounded-file.ts';
import { makeRollingWindow, RollingWindow } from '../limits/rolling-window.ts';
import type { SharedKey } from './key-table.ts';

export interface KeyStore {
  /** How many keys are known; undefined before the file was first read. */
  size(): number | undefined;
  /**
   * Reads the file if its modification time has changed since it was last read.
   * @throws Error that explains to an operator why the file cannot be read; the keys stay as they were
   */
  refresh(): Promise<void>;
  /** When the file last agreed with the database, in milliseconds of the wall clock. */
  confirmedAt(): number | undefined;
}

/**
 * @param announce called with all keys whenever one changed, to send them to the serving threads;
 * may return a promise that they know the keys, for which `refresh` waits
 * @param now the clock of the windows
 */
export function makeKeyStore(
  snapshotsDir: string,
  announce: (keys: readonly SharedKey[]) => unknown,
  now: () => number,
): KeyStore {
  const file = path.join(snapshotsDir, KEYS_FILE);
  /** By id. */
  let keys: ReadonlyMap<number, SharedKey> | undefined;
  let content: Buffer | undefined;
  let confirmedAt: number | undefined;

  function windowFor(id: number, limit: number): SharedArrayBuffer {
    const known = keys?.get(id);
    if (known === undefined) return makeRollingWindow(limit).memory;
    const window = new RollingWindow(known.window);
    if (limit <= window.capacity) return known.window;
    return makeRollingWindow(limit, window.times(now())).memory;
  }

  async function read(): Promise<void> {
    const { mtimeMs } = await stat(file);
    if (mtimeMs === confirmedAt) return;
    // `schedule` sets a new time at every check: only the content shows whether a key changed.
    const found = await readBoundedFile(file, LARGEST_KEYS_FILE);
    if (content === undefined || !found.equals(content)) {
      const windows = new Map<number, SharedArrayBuffer>();
      // A key that was rotated may have two entries for a time: they have one window.
      const next = parseKeys(found.toString('utf8')).map((entry) => {
        const window = windows.get(entry.id) ?? windowFor(entry.id, entry.limit);
        windows.set(entry.id, window);
        return { ...entry, window };
      });
      keys = new Map(next.map((key) => [key.id, key]));
      await announce(next);
      content = found;
    }
    confirmedAt = mtimeMs;
  }

  return {
    size: () => keys?.size,
    async refresh() {
      try {
        await read();
      } catch (cause) {
        const { code, message } = cause as NodeJS.ErrnoException;
        const isAbsent = code === 'ENOENT';
        throw new Error(isAbsent ? `There is no ${KEYS_FILE} in ${snapshotsDir}.` : message, {
          cause,
        });
      }
    },
    confirmedAt: () => confirmedAt,
  };
}
