/** Imports one report of key usage: the days of last use, and the counts. */
import type { Database } from '../../database/database.ts';
import type { KeyUsageReport } from '../../format/key-usage.ts';
import { makeCountsImport } from './import-counts.ts';
import { makeDaysImport } from './import-days.ts';

/**
 * @returns a function that imports a report. It returns false if the database was made by an older
 * version and lacks a table or column for a part of it; the other part is imported.
 */
export function makeReportImport(): (
  database: Database,
  now: Date,
  report: KeyUsageReport,
) => Promise<boolean> {
  const importDays = makeDaysImport();
  const importCounts = makeCountsImport();

  return async function importReport(database, now, { days, counts }) {
    const hasDays = await importDays(database, now, days);
    const hasCounts = await importCounts(database, now, counts);
    return hasDays && hasCounts;
  };
}
