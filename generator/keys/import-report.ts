/** Imports one report of key usage: the days of last use, and the counts. */
import type { Database } from '../../database/database.ts';
import type { KeyUsageReport } from '../../format/key-usage.ts';
import { makeCountsImport } from './import-counts.ts';
import { makeDaysImport } from './import-days.ts';

/**
 * @returns a function that imports a report
 */
export function makeReportImport(): (
  database: Database,
  now: Date,
  report: KeyUsageReport,
) => Promise<void> {
  const importDays = makeDaysImport();
  const importCounts = makeCountsImport();

  return async function importReport(database, now, { days, counts }) {
    await importDays(database, now, days);
    await importCounts(database, now, counts);
  };
}
