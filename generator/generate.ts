/**
 * One run of the generator: reads the catalogue from one consistent snapshot of the database, writes a
 * generation and publishes it, or reports why not. A lock allows one run at a time per snapshots folder.
 */
import path from 'node:path';
import type { Database } from '../database/database.ts';
import { checkCatalogue, type Optional } from '../database/schema.ts';
import { RUN_REPORT } from '../format/layout.ts';
import type { Counts, Settings } from '../format/manifest.ts';
import type { ErrorWithExitCode } from '../program/failure.ts';
import type { Progress } from '../program/progress.ts';
import { HeldError, whyHeld } from '../store/hold.ts';
import { withLock } from '../store/lock.ts';
import {
  findMissingCovers,
  findShrinkage,
  isUnchanged,
  publish,
  readPrevious,
} from '../store/publish.ts';
import { beginGeneration } from '../store/unfinished-generation.ts';
import {
  findEarlierRun,
  leaveForNextRun,
  makeOwner,
  type OwnerOf,
  whyUntimed,
} from './cache/earlier-run.ts';
import type { Conditions } from './read/read-table.ts';
import { findFutureApprovals } from './read/warnings.ts';
import {
  makeReport,
  type ReportContent,
  summaryOf,
  type Warning,
  warningText,
} from './report/report.ts';
import { saveReport } from './report/save-report.ts';
import type { EarlierRun } from './reuse/cached-rows.ts';
import { checkPacksWith } from './write/check-packs.ts';
import { type RunWorker, startRunWorker } from './write/jobs.ts';
import { writeGeneration } from './write/write-generation.ts';

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

/**
 * @throws LockedError, HeldError or RefusedError; any other Error names the step that failed
 */
export async function generate(
  database: Database,
  options: RunOptions,
  progress: Progress,
): Promise<RunResult> {
  const { snapshotsDir } = options;
  const held = whyHeld(snapshotsDir);
  if (held !== undefined && options.isDryRun) progress.warn(held);
  else if (held !== undefined) throw new HeldError(held);
  const run = { ...options, ...(await checkCatalogue(database)) };
  return withLock(snapshotsDir, () => readAndPublish(database, run, progress));
}

type Run = RunOptions & Optional;

/** Reads the rows that have changed or, if that is impossible or fails, all rows. */
async function readAndPublish(
  database: Database,
  run: Run,
  progress: Progress,
): Promise<RunResult> {
  const { snapshotsDir, settings, withoutUpdatedAt, isFull = false } = run;
  const untimed = run.conditions ? 'only a part is read' : whyUntimed(withoutUpdatedAt);
  const ownerOf = untimed === undefined ? await makeOwner(database, settings) : undefined;
  const startedAt = Date.now();
  const writeAll = (reason: string) => {
    if (ownerOf !== undefined) progress.warn(`All rows are read: ${reason}.`);
    const reading = { reason, earlier: undefined, reportBefore: undefined, ownerOf };
    return writeOnce(database, run, progress, { ...reading, fullRunAt: startedAt });
  };
  if (ownerOf === undefined || isFull) return writeAll(untimed ?? 'a full run was requested');
  const found = findEarlierRun(snapshotsDir, readPrevious(snapshotsDir), ownerOf);
  if ('reason' in found) return writeAll(found.reason);
  try {
    return await writeOnce(database, run, progress, { reason: null, ...found, ownerOf });
  } catch (error) {
    if (error instanceof HeldError || error instanceof RefusedError) throw error;
    return writeAll(`reading only the changes failed (${(error as Error).message})`);
  }
}

/** How a run reads the rows. */
interface Reading {
  /** Why all rows are read; null if only the changed ones are. */
  readonly reason: string | null;
  readonly earlier: EarlierRun | undefined;
  readonly fullRunAt: number;
  /** The report of the current generation, if that is the one of the earlier run. */
  readonly reportBefore: ReportContent | undefined;
  /** Undefined if the database cannot show which rows have changed. */
  readonly ownerOf: OwnerOf | undefined;
}

async function writeOnce(
  database: Database,
  run: Run,
  progress: Progress,
  reading: Reading,
): Promise<RunResult> {
  const { work, dir, clear } = beginGeneration(run.snapshotsDir, progress.warn);
  const worker = startRunWorker();
  try {
    return await writeAndPublish(database, run, progress, reading, worker, work, dir);
  } finally {
    await worker.end();
    clear();
  }
}

async function writeAndPublish(
  database: Database,
  options: Run,
  progress: Progress,
  reading: Reading,
  worker: RunWorker,
  work: string,
  dir: string,
): Promise<RunResult> {
  const { snapshotsDir, settings, hasGameTitles, conditions = {} } = options;
  const report = makeReport();
  const written = await writeGeneration(database, {
    hasGameTitles,
    isTimed: reading.ownerOf !== undefined,
    earlier: reading.earlier,
    reportBefore: reading.reportBefore,
    settings,
    progress,
    report,
    worker,
    workDir: work,
    dir,
    conditions,
  });
  if (written === undefined) return endWithNothingNew(options, progress, reading);
  const { content, catalogue } = written;
  report.addWarnings(options.warnings);
  const leftOut = report.summary();
  for (const line of leftOut) progress.warn(`Left out: ${line}.`);
  const reportContent = report.content();
  for (const warning of reportContent.warnings) progress.warn(`Warning: ${warningText(warning)}.`);
  const previous = readPrevious(snapshotsDir);
  const result = {
    id: previous.id,
    counts: content.counts,
    previousCounts: previous.manifest?.counts,
    leftOut,
    report: reportContent,
    readAllBecause: reading.reason,
  };
  /** Writes the report of the run. @returns whether it was written */
  const finish = (outcome: RunResult['outcome'] | 'held', error: string | null = null) =>
    saveReport(snapshotsDir, reportContent, outcome, error, progress);

  const leave = async (id: string) => {
    if (options.isDryRun || reading.ownerOf === undefined) return;
    const { ownerOf, fullRunAt } = reading;
    await leaveForNextRun(snapshotsDir, ownerOf(id), catalogue, fullRunAt).catch((error: Error) => {
      progress.warn(`Warning: the next run will read all rows: ${error.message}`);
    });
  };
  if (previous.id !== undefined && isUnchanged(snapshotsDir, previous, content)) {
    finish('unchanged');
    await leave(previous.id);
    return { ...result, outcome: 'unchanged' };
  }
  const faults = [
    ...report.faults(),
    ...findShrinkage(previous, content),
    ...findMissingCovers(previous, content),
  ].join('; ');
  if (faults !== '' && !options.isForced) {
    const refusal = `Nothing is published: ${faults}. ${previous.id === undefined ? '' : 'The current generation stays. '}Fix the data, or run with --force if this is what you want.`;
    const isSaved = finish('refused', refusal);
    const where = isSaved ? ` The rows are listed in ${path.join(snapshotsDir, RUN_REPORT)}.` : '';
    throw new RefusedError(refusal + where, { ...result, outcome: 'refused' });
  }
  if (faults !== '') progress.warn(`Not refused because of --force: ${faults}.`);
  if (options.isDryRun) {
    finish('dry_run');
    return { ...result, outcome: 'dry_run' };
  }
  progress.step('verifying and publishing');
  const checkPacks = checkPacksWith(worker, reading.earlier?.records);
  const { warn } = progress;
  const publishing = publish(snapshotsDir, dir, content, previous, checkPacks, warn);
  const { id } = await publishing.catch((error) => {
    if (error instanceof HeldError) finish('held', error.message);
    throw error;
  });
  finish('published');
  await leave(id);
  return { ...result, outcome: 'published', id };
}

/** Ends a run that found nothing new: its report is that of the current generation. */
function endWithNothingNew(
  { snapshotsDir, warnings }: Run,
  progress: Progress,
  { earlier, reportBefore }: Reading,
): RunResult {
  const { id, manifest } = readPrevious(snapshotsDir);
  if (earlier === undefined || reportBefore === undefined || manifest === undefined) {
    throw new Error('the current generation cannot be read');
  }
  const future = findFutureApprovals(earlier.rows.covers, Date.now() / 1000);
  const report = {
    ...reportBefore,
    warnings: [...reportBefore.warnings, ...future, ...warnings],
  };
  const leftOut = summaryOf(report);
  for (const line of leftOut) progress.warn(`Left out: ${line}.`);
  for (const warning of report.warnings) progress.warn(`Warning: ${warningText(warning)}.`);
  saveReport(snapshotsDir, report, 'unchanged', null, progress);
  const { counts } = manifest;
  return {
    ...{ outcome: 'unchanged', id, counts, previousCounts: counts, leftOut, report },
    readAllBecause: null,
  };
}
