/**
 * Reports key usage in a file: what each key has used on the last days, which owners see on their account
 * page. What was counted since the last report belongs to the day of this one, so requests of a minute
 * before midnight may count for the next day.
 *
 * The file is in `SNAPSHOTS_DIR/proxy`, the only folder that the proxy writes to. Its name contains the
 * PORT, so that several proxies can share the folder.
 *
 * Invariant: a count that was written stays in the file until a larger one replaces it, even after a restart
 * or when another proxy writes the same file, because `schedule` may not have imported it yet. Counts never
 * decrease, because the database keeps the largest that it has seen. They are dropped when there are enough
 * later days (`lib/format/key-usage-file.ts`).
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import {
  DAY_MS,
  type DayUsage,
  dayOf,
  encodeKeyUsage,
  keptDays,
  LARGEST_KEY_USAGE,
  parseKeyUsage,
  type ReportedUsage,
  type Usage,
} from '../../../lib/format/key-usage-file.ts';
import { keyUsageFile, PROXY_FOLDER } from '../../../lib/format/layout.ts';
import { makeFolder } from '../../../lib/generations/files/file-modes.ts';
import { removeDeadWrites, replaceFile } from '../../../lib/generations/files/replace-file.ts';
import { readBoundedFile } from '../../../lib/program/files/bounded-file.ts';
import { getOrAdd } from '../../../lib/program/get-or-add.ts';

/**
 * @param takeUsage returns what keys have used since the last call, by their ids: for each serving thread
 * @param wallClock milliseconds since 1970
 */
export function makeUsageReport(
  snapshotsDir: string,
  port: number,
  takeUsage: () => Promise<readonly ReadonlyMap<number, Usage>[]>,
  wallClock: () => number,
) {
  const folder = path.join(snapshotsDir, PROXY_FOLDER);
  const file = path.join(folder, keyUsageFile(port));
  const run = randomBytes(8).toString('hex');
  /** For each day, what each key has used in this run. */
  const counts = new Map<string, Map<number, ReportedUsage>>();
  /** What earlier runs of the proxy, or another proxy with the same file, have counted. */
  let others: readonly DayUsage[] = [];
  let written = '';

  /** Adds what keys have used since the last call. */
  async function collect(now: number): Promise<void> {
    const today = dayOf(now);
    const second = Math.floor((now % DAY_MS) / 1000);
    for (const [id, usage] of (await takeUsage()).flatMap((each) => [...each])) {
      const keys = getOrAdd(counts, today, () => new Map<number, ReportedUsage>());
      const known = keys.get(id);
      keys.set(id, {
        requests: (known?.requests ?? 0) + usage.requests,
        refused: (known?.refused ?? 0) + usage.refused,
        lastSecond: usage.requests > 0 ? second : known?.lastSecond,
      });
    }
  }

  /** Takes over what another process has written to the file. One that is damaged is replaced. */
  async function readOthers(): Promise<void> {
    const text = await readBoundedFile(file, LARGEST_KEY_USAGE).then(String, () => '');
    if (text === written) return;
    written = text;
    try {
      others = parseKeyUsage(text, '').filter((each) => each.run !== run);
    } catch {
      // What others have counted before stays.
    }
  }

  function report(now: number): string {
    const own = [...counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([day, keys]) => ({ run, day, keys }));
    const all = [...others, ...own];
    const days = all.map(({ day }) => day);
    const kept = keptDays(days, now);
    for (const day of counts.keys()) if (!kept.has(day)) counts.delete(day);
    return encodeKeyUsage(all.filter(({ day }) => kept.has(day)));
  }

  return {
    /**
     * Writes the file if a key was used, or if the file lacks what was written before.
     * @returns whether the file was written; false if there is no snapshots folder, which is not created
     * @throws Error if the folder is not writable, even when there is nothing to write
     */
    async write(): Promise<boolean> {
      if (!existsSync(snapshotsDir)) return false;
      await prepareFolder(folder);
      const now = wallClock();
      await readOthers();
      await collect(now);
      const text = report(now);
      const isUnused = written === '' && counts.size === 0;
      if (text === written || isUnused) return false;
      // A sync could delay requests. After a power cut the file may be damaged or missing.
      replaceFile(file, text, { isSynced: false });
      written = text;
      return true;
    },
  };
}

/** @throws Error that names the folder if no file can be created in it */
async function prepareFolder(folder: string): Promise<void> {
  try {
    makeFolder(folder);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    removeDeadWrites(folder);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`Cannot write to ${folder}: ${message}.`, { cause: error });
  }
}
