/** The rows of an earlier run, as the row cache keeps them. */
import type { TimedTable } from '../../database/schema.ts';
import type { Covers, Games } from '../columns/catalogue.ts';
import type { EarlierRecords } from './earlier-records.ts';
import type { CachedTable } from './plan-read.ts';

export interface CachedRows {
  readonly tables: Readonly<Record<TimedTable, CachedTable>>;
  /** Where the heads of records start is not cached. */
  readonly games: Games;
  readonly covers: Covers;
  /** For each file, the row of its cover; LEFT_OUT for a file that was left out. */
  readonly coverOfFile: Uint32Array;
}

/** Everything that a run can use of an earlier one. */
export interface EarlierRun {
  readonly rows: CachedRows;
  readonly records: EarlierRecords;
  /** All platforms and alternative titles, as texts to compare. */
  readonly platforms: string;
  readonly alternativeTitles: string;
  /** For each table, the hash of the rows that are always read again; undefined if they are too many. */
  readonly unsettled: Readonly<Partial<Record<TimedTable, string>>>;
}
