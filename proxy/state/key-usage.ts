/**
 * Reports the day on which each key was last used; owners see it on their account page. The days are
 * read from the rolling windows at intervals, so that requests need not record them.
 *
 * Invariant: a day that was written stays in the file until a later day replaces it, even after a
 * restart or when another proxy writes the same file, because the generator may not have read it yet.
 */
import { stat } from 'node:fs/promises';
import { encodeKeyUsage, LARGEST_KEY_USAGE, parseKeyUsage } from '../../format/key-usage.ts';
import { readBoundedFile } from '../../program/files/bounded-file.ts';
import type { KeyRecord } from '../keys/key-table.ts';
import type { InstanceFiles } from './instance-files.ts';

export interface KeyUsage {
  /**
   * Writes the file if a key was used on a later day than the file says.
   * @returns whether the file was written
   * @throws Error if the folder is not writable, even when there is nothing to write
   */
  write(): Promise<boolean>;
}

/**
 * @param name the name of the file
 * @param recordsOf returns the records of all known keys
 * @param now the clock of the windows
 * @param wallClock milliseconds since 1970
 */
export function makeKeyUsage(
  files: InstanceFiles,
  name: string,
  recordsOf: () => Iterable<Pick<KeyRecord, 'id' | 'window'>>,
  now: () => number,
  wallClock: () => number,
): KeyUsage {
  const file = files.pathOf(name);
  const days = new Map<number, string>();
  let isWritten = true;
  let readAt: number | undefined;

  /** Remembers a day if it is later than the known day of the key. @returns whether it is later */
  function note(id: number, day: string): boolean {
    if (day <= (days.get(id) ?? '')) return false;
    days.set(id, day);
    return true;
  }

  /** A wrong clock can leave a day in the future, which would hide every real day before it. */
  function dropFuture(today: string): void {
    for (const [id, day] of days) if (day > today) days.delete(id);
  }

  /** Adds the days that another process has written to the file. */
  async function readOthers(today: string): Promise<void> {
    const found = await stat(file).catch(() => undefined);
    if (found?.mtimeMs === readAt) return;
    readAt = found?.mtimeMs;
    const written = await readDays(file, name);
    for (const [id, day] of written) if (day <= today) note(id, day);
    // Days that are no longer in the file must be written again.
    for (const [id, day] of days) if (day > (written.get(id) ?? '')) isWritten = false;
  }

  return {
    async write() {
      if (!(await files.prepare())) return false;
      const today = dayOf(wallClock());
      dropFuture(today);
      await readOthers(today);
      const offset = wallClock() - now();
      for (const { id, window } of recordsOf()) {
        const last = window.lastAdmitted();
        if (last === Number.NEGATIVE_INFINITY) continue;
        if (note(id, dayOf(offset + last))) isWritten = false;
      }
      if (isWritten) return false;
      readAt = await files.replace(name, encodeKeyUsage(days));
      isWritten = true;
      return true;
    },
  };
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** The days in the file; none if the file is missing, damaged or too large: it is then replaced. */
async function readDays(file: string, name: string): Promise<Map<number, string>> {
  try {
    const bytes = await readBoundedFile(file, LARGEST_KEY_USAGE);
    return parseKeyUsage(bytes.toString('utf8'), name);
  } catch {
    return new Map();
  }
}
