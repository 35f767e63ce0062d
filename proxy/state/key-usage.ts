/**
 * Reports key usage in a file: the day on which each key was last used, and what each key has used on
 * the last days; owners see both on their account page. The days of last use are read from the rolling
 * windows at intervals, so that requests need not record them.
 *
 * Invariant: a day or a count that was written stays in the file until a later one replaces it, even
 * after a restart or when another proxy writes the same file, because the generator may not have read
 * it yet. Counts are dropped when their day is no longer reported (`format/key-usage.ts`).
 */
import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import {
  type DayUsage,
  dayOf,
  encodeKeyUsage,
  isReported,
  type KeyUsageReport,
  LARGEST_KEY_USAGE,
  parseKeyUsage,
} from '../../format/key-usage.ts';
import { readBoundedFile } from '../../program/files/bounded-file.ts';
import type { KeyRecord } from '../keys/key-table.ts';
import { makeDayCounts } from './day-counts.ts';
import type { InstanceFiles } from './instance-files.ts';

export interface KeyUsage {
  /**
   * Writes the file if a key was used on a later day than the file says, or if a count has grown.
   * @returns whether the file was written
   * @throws Error if the folder is not writable, even when there is nothing to write
   */
  write(): Promise<boolean>;
}

/** The keys whose use is reported. */
export interface UsedKeys {
  /** The records of all known keys. */
  all(): Iterable<Pick<KeyRecord, 'id' | 'window'>>;
  /** For the id of each known key, the memory of its counts. */
  uses(): ReadonlyMap<number, SharedArrayBuffer>;
}

/**
 * @param name the name of the file
 * @param now the clock of the windows
 * @param wallClock milliseconds since 1970
 */
export function makeKeyUsage(
  files: InstanceFiles,
  name: string,
  keys: UsedKeys,
  now: () => number,
  wallClock: () => number,
): KeyUsage {
  const file = files.pathOf(name);
  const run = randomBytes(8).toString('hex');
  const days = new Map<number, string>();
  const counts = makeDayCounts(keys.uses, wallClock);
  /** What earlier runs of the proxy, or another proxy with the same file, have counted. */
  let otherCounts: readonly DayUsage[] = [];
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

  /** Adds what another process has written to the file. */
  async function readOthers(today: string): Promise<void> {
    const stats = await stat(file).catch(() => undefined);
    if (stats?.mtimeMs === readAt) return;
    readAt = stats?.mtimeMs;
    const written = await readReport(file, name);
    for (const [id, day] of written?.days ?? []) if (day <= today) note(id, day);
    // What is no longer in the file must be written again.
    for (const [id, day] of days) if (day > (written?.days.get(id) ?? '')) isWritten = false;
    const found = Map.groupBy(written?.counts ?? [], (each) => each.run === run);
    if (written !== undefined) otherCounts = found.get(false) ?? [];
    else if (otherCounts.length > 0) isWritten = false;
    if (textOf(found.get(true) ?? []) !== textOf(ownCounts())) isWritten = false;
  }

  function ownCounts(): DayUsage[] {
    return counts.days().map(([day, used]) => ({ run, day, keys: used }));
  }

  function report(): KeyUsageReport {
    const others = otherCounts.filter(({ day }) => isReported(day, wallClock()));
    return { days, counts: [...others, ...ownCounts()] };
  }

  return {
    async write() {
      if (!(await files.prepare())) return false;
      const today = dayOf(wallClock());
      dropFuture(today);
      await readOthers(today);
      const offset = wallClock() - now();
      for (const { id, window } of keys.all()) {
        const last = window.lastAdmitted();
        if (last === Number.NEGATIVE_INFINITY) continue;
        if (note(id, dayOf(offset + last))) isWritten = false;
      }
      if (counts.collect()) isWritten = false;
      if (isWritten) return false;
      readAt = await files.replace(name, encodeKeyUsage(report()));
      isWritten = true;
      return true;
    },
  };
}

/** A text for comparing counts. */
function textOf(counts: readonly DayUsage[]): string {
  return encodeKeyUsage({ days: new Map(), counts });
}

/** The content of the file; undefined if it is missing, damaged or too large: it is then replaced. */
async function readReport(file: string, name: string): Promise<KeyUsageReport | undefined> {
  try {
    const bytes = await readBoundedFile(file, LARGEST_KEY_USAGE);
    return parseKeyUsage(bytes.toString('utf8'), name);
  } catch {
    return undefined;
  }
}
