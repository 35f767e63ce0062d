/** What a run of the generator gets and returns. */
import type { Database } from '../../database/database.ts';
import type { Optional } from '../../database/schema.ts';
import type { Counts, Settings } from '../../format/manifest.ts';
import type { ErrorWithExitCode } from '../../program/failure.ts';
import type { Progress } from '../../program/progress.ts';
import type { UnfinishedGeneration } from '../../store/unfinished-generation.ts';
import type { KeyOf } from '../cache/cache-key.ts';
import type { StoredCache } from '../cache/row-cache.ts';
import type { Conditions } from '../read/read-table.ts';
import type { ReportContent, Warning } from '../report/report.ts';
import type { EarlierRun } from '../reuse/earlier-run.ts';
import type { RunWorker } from '../write/jobs.ts';

/** The catalogue has too many faults to be published without `--force`. */
export class RefusedError extends Error implements ErrorWithExitCode {
  override readonly name = 'RefusedError';
  readonly exitCode = 3;
  readonly result: RunResult;

  constructor(message: string, result: RunResult) {
    super(message);
    this.result = result;
  }
}

export interface RunOptions {
  readonly snapshotsDir: string;
  readonly settings: Settings;
  /** Reads all rows, even if only the changed ones need to be read; by default false. */
  readonly isFull?: boolean;
  /** Does everything but publish. */
  readonly isDryRun: boolean;
  /** Publishes a catalogue that would be refused. */
  readonly isForced: boolean;
  /** Warnings about the configuration, which are added to the report of the run. */
  readonly warnings: readonly Warning[];
  /** To read only a part of the catalogue; by default, all of it. */
  readonly conditions?: Conditions;
}

export interface RunResult {
  readonly outcome: 'published' | 'unchanged' | 'dry_run' | 'refused';
  /** The generation that is current after the run; undefined if nothing was ever published. */
  readonly id: string | undefined;
  readonly counts: Counts;
  readonly previousCounts: Counts | undefined;
  /** For each reason, a line that says how many rows of a table were left out. */
  readonly leftOut: readonly string[];
  readonly report: ReportContent;
  /** Why all rows were read; null if only the changed ones were. */
  readonly readAllBecause: string | null;
}

/** The options of a run, and what was found in the database. */
export type Run = RunOptions & Optional;

/** How a run reads the rows. */
export interface ReadMode {
  /** Why all rows are read; null if only the changed ones are. */
  readonly reason: string | null;
  readonly earlier: EarlierRun | undefined;
  /** The row cache of the earlier run. */
  readonly cache: StoredCache | undefined;
  /** When all rows were read last, in milliseconds since 1970. */
  readonly fullRunAt: number;
  /** Undefined if the database cannot show which rows have changed. */
  readonly keyOf: KeyOf | undefined;
}

/** A run, and what it works with. */
export interface RunContext {
  readonly database: Database;
  readonly run: Run;
  readonly progress: Progress;
  readonly readMode: ReadMode;
  readonly worker: RunWorker;
  readonly unfinished: Pick<UnfinishedGeneration, 'work' | 'dir'>;
}
