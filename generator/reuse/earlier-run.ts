/** Everything that a run can use of an earlier one. */
import type { TimedTable } from '../../database/schema.ts';
import type { ManifestFile } from '../../format/manifest.ts';
import type { Covers, Games } from '../columns/catalogue.ts';
import type { ReportContent } from '../report/report.ts';
import type { LastCommits } from './commits.ts';
import type { EarlierRecords } from './earlier-records.ts';
import type { Fingerprints } from './fingerprints.ts';
import type { CachedTable, UnsettledRows } from './plan-read.ts';

/** The games and covers of an earlier run, as the row cache keeps them. */
export interface CachedRows {
  readonly tables: Readonly<Record<'games' | 'covers', CachedTable>>;
  /** Where the heads of records start is not cached. */
  readonly games: Games;
  readonly covers: Covers;
}

/** The files of an earlier run: the largest table, and rarely needed. */
export interface CachedFileRows {
  readonly table: CachedTable;
  /**
   * For each file, the row of its cover; LEFT_OUT if the cover does not exist. A file left out for another
   * reason keeps its cover, so that the cover's files are read again.
   */
  readonly cover: Uint32Array;
}

/** Large parts are opened when first needed. Most runs that find nothing new need none of them. */
export interface EarlierRun {
  /** The folder of the generation that the run has published, and its files. */
  readonly dir: string;
  readonly manifestFiles: readonly ManifestFile[];
  /** Without warnings that depend on the day or on the configuration. */
  readonly report: ReportContent;
  readonly fingerprints: Readonly<Record<TimedTable, Fingerprints>>;
  /** The last commits before its snapshot of the database. */
  readonly commits: LastCommits;
  /** All platforms, as a text to compare. */
  readonly platformsText: string;
  readonly alternativeTitlesHash: string;
  /** For each table, the rows that are always read again; undefined if they are too many. */
  readonly unsettled: Readonly<Partial<Record<TimedTable, UnsettledRows>>>;
  /** How many files of published covers there were. */
  readonly publishedFiles: number;
  /** The latest time at which a published cover was approved, in milliseconds since 1970, or NaN. */
  readonly latestApproval: number;
  /** @throws Error if the row cache is damaged */
  rows(): CachedRows;
  /** @throws Error if the row cache is damaged */
  files(): CachedFileRows;
  /** @throws Error if the generation is damaged, or does not fit the rows */
  records(): EarlierRecords;
  /**
   * @returns a function that returns the cached row of the game that was published with a path
   * @throws Error if the generation is damaged
   */
  openPaths(): (platform: number, slug: string) => number | undefined;
  /** These let the memory be used for something else. What is needed again is opened again. */
  forgetRows(): void;
  forgetRecords(): void;
  forgetFiles(): void;
}
