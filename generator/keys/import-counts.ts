/**
 * Imports what keys have used into the table `key_usage`, which has a row for each key, day and run of
 * a proxy. Invariant: nothing counts twice, because the counts of a run only grow and the larger value
 * stays, in whichever order and however often reports arrive.
 */
import type { Database, Value } from '../../database/database.ts';
import {
  type DayUsage,
  dayOf,
  isReported,
  KEPT_USAGE_DAYS,
  type Usage,
} from '../../format/key-usage.ts';

const KEYS_PER_STATEMENT = 200;
const COUNTS = ['requests', 'not_modified', 'refused', 'bytes'] as const;
/** The statement that adds rows, or raises their counts. */
const ENDS = {
  mysql: `ON DUPLICATE KEY UPDATE ${COUNTS.map((name) => `${name} = GREATEST(${name}, VALUES(${name}))`).join(', ')}`,
  sqlite: `ON CONFLICT (key_id, day, run) DO UPDATE SET ${COUNTS.map((name) => `${name} = MAX(${name}, excluded.${name})`).join(', ')}`,
};

/**
 * @returns a function that imports counts, and once a day removes those that are no longer kept. It
 * skips counts that it has imported before.
 */
export function makeCountsImport(): (
  database: Database,
  now: Date,
  counts: readonly DayUsage[],
) => Promise<void> {
  /** What was imported last of each run and day. */
  const imported = new Map<string, DayUsage>();
  let tidiedOn = '';

  async function importDay(database: Database, usage: DayUsage): Promise<void> {
    const name = `${usage.run} ${usage.day}`;
    const before = imported.get(name)?.keys;
    const changed = [...usage.keys].filter(([id, used]) => !isEqual(used, before?.get(id)));
    for (let start = 0; start < changed.length; start += KEYS_PER_STATEMENT) {
      await raise(database, usage, changed.slice(start, start + KEYS_PER_STATEMENT));
    }
    imported.set(name, usage);
  }

  async function tidy(database: Database, time: number): Promise<void> {
    const today = dayOf(time);
    if (today === tidiedOn) return;
    for (const [name, { day }] of imported) if (!isReported(day, time)) imported.delete(name);
    const oldest = dayOf(time, 1 - KEPT_USAGE_DAYS);
    await database.run('DELETE FROM key_usage WHERE day < ?', [oldest]);
    tidiedOn = today;
  }

  return async function importCounts(database, now, counts) {
    const time = now.getTime();
    for (const usage of counts) if (isReported(usage.day, time)) await importDay(database, usage);
    await tidy(database, time);
  };
}

async function raise(
  database: Database,
  { run, day }: DayUsage,
  keys: readonly (readonly [number, Usage])[],
): Promise<void> {
  const ids = keys.map(([id]) => id);
  const found = await database.rows(
    `SELECT id FROM api_keys WHERE id IN (${ids.map(() => '?').join(', ')})`,
    ids,
  );
  // A report may name a key that was deleted, or, if somebody forged it, any number.
  const known = new Set(found.map(([id]) => Number(id)));
  const rows = keys
    .filter(([id]) => known.has(id))
    .map(([id, used]): Value[] => [
      id,
      day,
      run,
      used.requests,
      used.notModified,
      used.refused,
      used.bytes,
    ]);
  if (rows.length === 0) return;
  await database.run(
    `INSERT INTO key_usage (key_id, day, run, ${COUNTS.join(', ')})
     VALUES ${rows.map((row) => `(${row.map(() => '?').join(', ')})`).join(', ')} ${ENDS[database.kind]}`,
    rows.flat(),
  );
}

function isEqual(a: Usage, b: Usage | undefined): boolean {
  return (
    a.requests === b?.requests &&
    a.notModified === b.notModified &&
    a.refused === b.refused &&
    a.bytes === b.bytes
  );
}
