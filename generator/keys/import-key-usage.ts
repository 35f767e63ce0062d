/**
 * Imports the files in which the proxies of this snapshots folder report the use of keys.
 */
import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../../database/database.ts';
import { LARGEST_KEY_USAGE, parseKeyUsage } from '../../format/key-usage.ts';
import { isKeyUsageFile, PROXY_FOLDER } from '../../format/layout.ts';
import { NO_LINK, readBoundedFileSync } from '../../program/files/bounded-file.ts';
import { makeReportImport } from './import-report.ts';

/**
 * @returns a function that imports the files. Later calls skip files that have not changed. A file that
 * cannot be imported does not stop the others; the first error is thrown at the end.
 */
export function makeKeyUsageImport(
  snapshotsDir: string,
): (database: Database, now: Date) => Promise<void> {
  const folder = path.join(snapshotsDir, PROXY_FOLDER);
  /** For each imported file, its modification time. */
  const importedMtimes = new Map<string, number>();
  const importReport = makeReportImport();

  async function importFile(database: Database, now: Date, file: string): Promise<void> {
    const found = readChanged(file, importedMtimes.get(file));
    if (found === undefined) return;
    await importReport(database, now, parseKeyUsage(found.text, path.basename(file)));
    importedMtimes.set(file, found.mtimeMs);
  }

  return async function importKeyUsage(database, now) {
    const faults: Error[] = [];
    for (const name of namesIn(folder).filter(isKeyUsageFile)) {
      const file = path.join(folder, name);
      await importFile(database, now, file).catch((error: Error) => faults.push(error));
    }
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

/** The content of a file; undefined if it does not exist or has not changed since `lastMtime`. */
function readChanged(
  file: string,
  lastMtime: number | undefined,
): { text: string; mtimeMs: number } | undefined {
  const mtimeMs = lstatSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (mtimeMs === undefined || mtimeMs === lastMtime) return undefined;
  // Links are refused: the proxy may run as a user with fewer rights, and could link to any file.
  const text = readBoundedFileSync(file, LARGEST_KEY_USAGE, NO_LINK).toString('utf8');
  return { text, mtimeMs };
}
