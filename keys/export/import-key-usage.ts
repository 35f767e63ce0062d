/**
 * Imports what proxies report about the use of keys. Nothing depends on the order of the reports, or on how
 * often one is read: the time of last use never moves back, unless it is in the future, and nothing counts
 * twice, because the counts of a run of a proxy only grow and the larger value stays.
 */
import { lstatSync } from 'node:fs';
import path from 'node:path';
import type { Database, Value } from '../../lib/database/database.ts';
import {
  type DayUsage,
  dayOf,
  isReported,
  KEPT_USAGE_DAYS,
  LARGEST_KEY_USAGE,
  parseKeyUsage,
  type Usage,
} from '../../lib/format/key-usage-file.ts';
import { isKeyUsageFile, PROXY_FOLDER } from '../../lib/format/layout.ts';
import { namesIn } from '../../lib/generations/generations.ts';
import { NO_LINK, readBoundedFileSync } from '../../lib/program/files/bounded-file.ts';
import { addSeconds, latestTime, marks, toDatabaseTime } from '../tables/values.ts';

const KEYS_PER_STATEMENT = 200;
/** Columns that version 1.0 needs. A table has them until somebody removes them, and its rows are never without a value. */
const FORMER_COLUMNS = ['not_modified', 'bytes'];
/** The end of a statement that adds rows, or raises their counts. */
const ENDS = {
  mysql: `ON DUPLICATE KEY UPDATE
    requests = GREATEST(requests, VALUES(requests)), refused = GREATEST(refused, VALUES(refused))`,
  sqlite: `ON CONFLICT (key_id, day, run) DO UPDATE SET
    requests = MAX(requests, excluded.requests), refused = MAX(refused, excluded.refused)`,
};

/**
 * @returns a function that imports the reports of the proxies of a snapshots folder. Later calls skip reports and
 * values that have not changed. A report that cannot be imported does not stop the others; the first error is
 * thrown at the end.
 */
export function makeKeyUsageImport(
  snapshotsDir: string,
): (database: Database, now: Date) => Promise<void> {
  const folder = path.join(snapshotsDir, PROXY_FOLDER);
  /** For each imported report, when it was written. */
  const imported = new Map<string, number>();
  /** For the id of each key, the latest time of use that was imported. */
  const latestUses = new Map<number, string>();
  /** What was imported last of each run and day. */
  const importedCounts = new Map<string, DayUsage>();
  let tidiedOn = '';

  /** @param latest the latest time that may be right: a later one was set while the clock was ahead */
  async function importLastUse(
    database: Database,
    { day, keys }: DayUsage,
    latest: string,
  ): Promise<void> {
    const bySecond = Map.groupBy(keys, ([, { lastSecond }]) => lastSecond);
    for (const [second, used] of bySecond) {
      if (second === undefined) continue;
      const time = toDatabaseTime(addSeconds(new Date(day), second));
      if (time > latest) continue;
      const ids = used.flatMap(([id]) => {
        const known = latestUses.get(id) ?? '';
        return known < time || known > latest ? [id] : [];
      });
      for (const batch of batchesOf(ids)) {
        await database.run(
          `UPDATE api_keys SET last_used_at = ? WHERE id IN (${marks(batch)})
             AND (last_used_at IS NULL OR last_used_at < ? OR last_used_at > ?)`,
          [time, ...batch, time, latest],
        );
      }
      for (const id of ids) latestUses.set(id, time);
    }
  }

  async function importCounts(
    database: Database,
    usage: DayUsage,
    former: readonly string[],
  ): Promise<void> {
    const name = `${usage.run} ${usage.day}`;
    const before = importedCounts.get(name)?.keys;
    const changed = [...usage.keys].filter(([id, { requests, refused }]) => {
      const known = before?.get(id);
      return requests !== known?.requests || refused !== known.refused;
    });
    for (const batch of batchesOf(changed)) await raiseCounts(database, usage, batch, former);
    importedCounts.set(name, usage);
  }

  /** Once a day, removes the counts that are no longer kept. */
  async function tidy(database: Database, time: number): Promise<void> {
    const today = dayOf(time);
    if (today === tidiedOn) return;
    for (const [name, { day }] of importedCounts) {
      if (!isReported(day, time)) importedCounts.delete(name);
    }
    // Counted in days with counts, not by the clock, which may be wrong.
    const [[oldest] = []] = await database.rows(
      `SELECT DISTINCT day FROM key_usage ORDER BY day DESC LIMIT 1 OFFSET ${KEPT_USAGE_DAYS - 1}`,
    );
    if (oldest != null) await database.run('DELETE FROM key_usage WHERE day < ?', [oldest]);
    tidiedOn = today;
  }

  return async (database, now) => {
    const time = now.getTime();
    const faults: Error[] = [];
    let former: readonly string[] | undefined;
    // Without the folder, no proxy has written anything yet.
    for (const name of namesIn(folder).filter(isKeyUsageFile)) {
      try {
        const file = path.join(folder, name);
        const writtenAt = lstatSync(file, { throwIfNoEntry: false })?.mtimeMs;
        if (writtenAt === undefined || writtenAt === imported.get(name)) continue;
        // Links are refused: the proxy may run as a user with fewer rights, and could link to any file.
        const text = readBoundedFileSync(file, LARGEST_KEY_USAGE, NO_LINK).toString('utf8');
        for (const usage of parseKeyUsage(text, name)) {
          // A proxy whose clock is ahead must not set a future day, which would then stay.
          if (!isReported(usage.day, time)) continue;
          former ??= await formerColumns(database);
          await importCounts(database, usage, former);
          await importLastUse(database, usage, latestTime(now));
        }
        await tidy(database, time);
        imported.set(name, writtenAt);
      } catch (error) {
        faults.push(error as Error);
      }
    }
    if (faults[0] !== undefined) throw faults[0];
  };
}

async function formerColumns(database: Database): Promise<readonly string[]> {
  const found = (await database.columns()).get('key_usage');
  return FORMER_COLUMNS.filter((name) => found?.has(name));
}

/** @param former columns of the table that get 0 */
async function raiseCounts(
  database: Database,
  { run, day }: DayUsage,
  keys: readonly (readonly [number, Usage])[],
  former: readonly string[],
): Promise<void> {
  const ids = keys.map(([id]) => id);
  const found = await database.rows(`SELECT id FROM api_keys WHERE id IN (${marks(ids)})`, ids);
  // A report may name a key that was deleted, or, if somebody forged it, any number.
  const known = new Set(found.map(([id]) => id));
  const rows = keys
    .filter(([id]) => known.has(id))
    .map(([id, { requests, refused }]): Value[] => {
      return [id, day, run, requests, refused, ...former.map(() => 0)];
    });
  const columns = ['key_id', 'day', 'run', 'requests', 'refused', ...former];
  if (rows.length === 0) return;
  await database.run(
    `INSERT INTO key_usage (${columns.join(', ')})
     VALUES ${rows.map((row) => `(${marks(row)})`).join(', ')} ${ENDS[database.kind]}`,
    rows.flat(),
  );
}

function* batchesOf<T>(values: readonly T[]): Iterable<readonly T[]> {
  for (let start = 0; start < values.length; start += KEYS_PER_STATEMENT) {
    yield values.slice(start, start + KEYS_PER_STATEMENT);
  }
}
