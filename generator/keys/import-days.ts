/**
 * Updates `api_keys.last_used_on` from what proxies report. Invariant: it never moves back, in whichever
 * order they report.
 */
import type { Database } from '../../database/database.ts';

const KEYS_PER_STATEMENT = 500;
const DAY_MS = 24 * 3600 * 1000;

/** For the id of each key, the day on which it was last used: "YYYY-MM-DD" in UTC. */
export type Days = ReadonlyMap<number, string>;

/**
 * @returns a function that imports days, and skips those that it has imported before
 */
export function makeDaysImport(): (database: Database, now: Date, days: Days) => Promise<void> {
  /** For the id of each key, the latest day that was imported. */
  const latestDays = new Map<number, string>();

  return async function importDays(database, now, days) {
    // A proxy whose clock is ahead must not set a future day, which would then stay.
    const tomorrow = new Date(now.getTime() + DAY_MS).toISOString().slice(0, 10);
    const idsByDay = new Map<string, number[]>();
    for (const [id, day] of days) {
      if (day <= (latestDays.get(id) ?? '') || day > tomorrow) continue;
      const ids = idsByDay.get(day);
      if (ids === undefined) idsByDay.set(day, [id]);
      else ids.push(id);
    }
    for (const [day, ids] of idsByDay) {
      await moveForward(database, day, ids);
      for (const id of ids) latestDays.set(id, day);
    }
  };
}

async function moveForward(database: Database, day: string, ids: readonly number[]): Promise<void> {
  for (let start = 0; start < ids.length; start += KEYS_PER_STATEMENT) {
    const batch = ids.slice(start, start + KEYS_PER_STATEMENT);
    await database.run(
      `UPDATE api_keys SET last_used_on = ?
       WHERE id IN (${batch.map(() => '?').join(', ')})
         AND (last_used_on IS NULL OR last_used_on < ?)`,
      [day, ...batch, day],
    );
  }
}
