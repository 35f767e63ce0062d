/**
 * Updates in `api_keys` the day on which each key was last used, from the files that proxies write.
 * The file of an earlier version, which lay in `SNAPSHOTS_DIR` itself, is imported once and removed.
 *
 * Invariant: a day only ever moves forward, whichever proxy reports which day in whatever order.
 */
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../../database/database.ts';
import { LARGEST_KEY_USAGE, parseKeyUsage } from '../../format/key-usage.ts';
import { isKeyUsageFile, OLD_KEY_USAGE_FILE, PROXY_FOLDER } from '../../format/layout.ts';
import { NO_LINK, readBoundedFileSync } from '../../program/files/bounded-file.ts';

const KEYS_PER_STATEMENT = 500;
const DAY_MS = 24 * 3600 * 1000;

/**
 * @returns a function that imports what is new in the files. Called again, it does nothing until one
 * changes. A file that cannot be read does not hold up the others: its error is thrown at the end.
 */
export function makeKeyUsageImport(
  snapshotsDir: string,
): (database: Database, now: Date) => Promise<void> {
  const folder = path.join(snapshotsDir, PROXY_FOLDER);
  const importedAt = new Map<string, number>();
  /** The days that the database is known to have. */
  const imported = new Map<number, string>();

  /** @returns false when there was nothing new, or the database cannot take it yet */
  async function importFile(database: Database, now: Date, file: string): Promise<boolean> {
    const found = readChanged(file, importedAt.get(file));
    if (found === undefined) return false;
    const days = parseKeyUsage(found.text, path.basename(file));
    // A table made by an older version does not have the column.
    if (!(await database.columns()).get('api_keys')?.has('last_used_on')) return false;
    // A proxy whose clock is wrong must not set a day in the future for good.
    const latest = new Date(now.getTime() + DAY_MS).toISOString().slice(0, 10);
    const idsByDay = new Map<string, number[]>();
    for (const [id, day] of days) {
      if (day <= (imported.get(id) ?? '') || day > latest) continue;
      const ids = idsByDay.get(day);
      if (ids === undefined) idsByDay.set(day, [id]);
      else ids.push(id);
    }
    for (const [day, ids] of idsByDay) {
      await moveForward(database, day, ids);
      for (const id of ids) imported.set(id, day);
    }
    importedAt.set(file, found.changedAt);
    return true;
  }

  /** Removes it then: no proxy of this version writes it. */
  async function importOldFile(database: Database, now: Date): Promise<void> {
    const file = path.join(snapshotsDir, OLD_KEY_USAGE_FILE);
    if (await importFile(database, now, file)) rmSync(file, { force: true });
  }

  return async function importKeyUsage(database, now) {
    const faults: Error[] = [];
    for (const name of namesIn(folder).filter(isKeyUsageFile)) {
      const file = path.join(folder, name);
      await importFile(database, now, file).catch((error: Error) => faults.push(error));
    }
    await importOldFile(database, now).catch((error: Error) => faults.push(error));
    if (faults[0] !== undefined) throw faults[0];
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    // No proxy has written anything yet.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** The content of a file; undefined when it is gone or is the one that was imported. */
function readChanged(
  file: string,
  importedAt: number | undefined,
): { text: string; changedAt: number } | undefined {
  const changedAt = lstatSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (changedAt === undefined || changedAt === importedAt) return undefined;
  // The proxy may run as a user with fewer rights: a link in its folder could lead to any file.
  const text = readBoundedFileSync(file, LARGEST_KEY_USAGE, NO_LINK).toString('utf8');
  return { text, changedAt };
}

async function moveForward(database: Database, day: string, ids: readonly number[]): Promise<void> {
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
