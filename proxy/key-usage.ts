/**
 * Writes `key-usage.json`: on which day each key was used last, for owners to see on their page. It
 * is read off the windows of the limits now and then, so that no request does anything for it.
 */
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { encodeKeyUsage } from '../format/key-usage.ts';
import { KEY_USAGE_FILE } from '../format/layout.ts';
import type { KeyRecord } from './key-table.ts';

export interface KeyUsage {
  /** Writes the file where a key was used on another day than it says. @returns whether it wrote */
  write(): Promise<boolean>;
}

/**
 * @param recordsOf every key that is known
 * @param now the clock of the windows
 * @param wallClock milliseconds since 1970
 */
export function makeKeyUsage(
  snapshotsDir: string,
  recordsOf: () => Iterable<Pick<KeyRecord, 'id' | 'window'>>,
  now: () => number,
  wallClock: () => number,
): KeyUsage {
  const file = path.join(snapshotsDir, KEY_USAGE_FILE);
  // What an earlier process wrote is in the database by now: days are only ever moved on there.
  const days = new Map<number, string>();
  let isWritten = true;

  return {
    async write() {
      const offset = wallClock() - now();
      for (const { id, window } of recordsOf()) {
        const last = window.lastAdmitted();
        if (last === Number.NEGATIVE_INFINITY) continue;
        const day = new Date(offset + last).toISOString().slice(0, 10);
        if (day <= (days.get(id) ?? '')) continue;
        days.set(id, day);
        isWritten = false;
      }
      if (isWritten) return false;
      await replace(file, encodeKeyUsage(days));
      isWritten = true;
      return true;
    },
  };
}

// Not synced: after a power cut a day is lost at most, and that until the key's next use.
async function replace(file: string, content: string): Promise<void> {
  const next = `${file}.${process.pid}`;
  try {
    await writeFile(next, content, { mode: 0o600 });
    await rename(next, file);
  } catch (cause) {
    await rm(next, { force: true }).catch(() => {});
    throw new Error(`write ${KEY_USAGE_FILE}: ${(cause as Error).message}`, { cause });
  }
}
