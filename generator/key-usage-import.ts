/**
 * Notes in `api_keys` on which day each key was used last, from the file that the proxy writes. A
 * day is only ever moved on.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../database/database.ts';
import { LARGEST_KEY_USAGE, parseKeyUsage } from '../format/key-usage.ts';
import { KEY_USAGE_FILE } from '../format/layout.ts';

const KEYS_PER_STATEMENT = 500;
const DAY_MS = 24 * 3600 * 1000;

/** @returns takes over what is new in the file; called again, it does nothing until the file changed */
export function makeKeyUsageImport(
  snapshotsDir: string,
): (database: Database, now: Date) => Promise<void> {
  const file = path.join(snapshotsDir, KEY_USAGE_FILE);
  let known = new Map<number, string>();
  let takenAt: number | undefined;

  return async function importKeyUsage(database, now) {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found === undefined || found.mtimeMs === takenAt) return;
    if (found.size > LARGEST_KEY_USAGE) {
      throw new Error(`${KEY_USAGE_FILE} is larger than ${LARGEST_KEY_USAGE} bytes.`);
    }
    const days = parseKeyUsage(readFileSync(file, 'utf8'));
    // Made by an older version, the table has no place for it.
    if (!(await database.columns()).get('api_keys')?.has('last_used_on')) return;
    // A proxy whose clock is wrong must not fix a day of the future for good.
    const latest = new Date(now.getTime() + DAY_MS).toISOString().slice(0, 10);
    const idsByDay = new Map<string, number[]>();
    for (const [id, day] of days) {
      if (known.get(id) === day || day > latest) continue;
      const ids = idsByDay.get(day);
      if (ids === undefined) idsByDay.set(day, [id]);
      else ids.push(id);
    }
    for (const [day, ids] of idsByDay) await moveOn(database, day, ids);
    known = days;
    takenAt = found.mtimeMs;
  };
}

async function moveOn(database: Database, day: string, ids: readonly number[]): Promise<void> {
  for (let start = 0; start < ids.length; start += KEYS_PER_STATEMENT) {
    const some = ids.slice(start, start + KEYS_PER_STATEMENT);
    await database.run(
      `UPDATE api_keys SET last_used_on = ?
       WHERE id IN (${some.map(() => '?').join(', ')})
         AND (last_used_on IS NULL OR last_used_on < ?)`,
      [day, ...some, day],
    );
  }
}
