/**
 * One run of the generator: reads the catalogue from one consistent snapshot of the database, writes a
 * generation and publishes it, or reports why not. A lock allows one run at a time per snapshots folder.
 */
import path from 'node:path';
import type { Database } from '../database/database.ts';
import { checkCatalogue } from '../database/schema.ts';
import { RUN_REPORT } from '../format/layout.ts';
import type { Counts, Settings } from '../format/manifest.ts';
import type { ErrorWithExitCode } from '../program/failure.ts';
import type { Progress } from '../program/progress.ts';
import { utcNow } from '../program/utc-now.ts';
import { replaceFile } from '../store/files/replace-file.ts';
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
import type { Conditions } from './read/read-table.ts';
import {
  encodeReport,
  makeReport,
  type ReportContent,
  type Warning,
  warningText,
} from './report/report.ts';
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
  return withLock(snapshotsDir, async () => {
    const { work, dir, clear } = beginGeneration(snapshotsDir, progress.warn);
    const worker = startRunWorker();
    try {
      return await writeAndPublish(database, run, progress, worker, work, dir);
    } finally {
      await worker.end();
      clear();
    }
  });
}

async function writeAndPublish(
  database: Database,
  options: RunOptions & { readonly hasGameTitles: boolean },
  progress: Progress,
  worker: RunWorker,
  work: string,
  dir: string,
): Promise<RunResult> {
  const { snapshotsDir, settings, hasGameTitles, conditions = {} } = options;
  const report = makeReport();
  const content = await writeGeneration(database, {
    hasGameTitles,
    settings,
    progress,
    report,
    worker,
    workDir: work,
    dir,
    conditions,
  });
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
  };
  /** Writes the report of the run. @returns whether it was written */
  const finish = (outcome: RunResult['outcome'] | 'held', error: string | null = null) =>
    saveReport(snapshotsDir, reportContent, outcome, error, progress);

  if (isUnchanged(snapshotsDir, previous, content)) {
    finish('unchanged');
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
  const checkPacks = checkPacksWith(worker);
  const { warn } = progress;
  const publishing = publish(snapshotsDir, dir, content, previous, checkPacks, warn);
  const { id } = await publishing.catch((error) => {
    if (error instanceof HeldError) finish('held', error.message);
    throw error;
  });
  finish('published');
  return { ...result, outcome: 'published', id };
}

/**
 * Writes the report of a run to the snapshots folder. If that fails, it warns instead of throwing an
 * error, which would hide how the run ended.
 * @returns whether the report was written
 */
function saveReport(
  snapshotsDir: string,
  content: ReportContent,
  outcome: RunResult['outcome'] | 'held',
  error: string | null,
  progress: Progress,
): boolean {
  try {
    // Only the owner may read the report: a row that was left out may hold values that are not public.
    const bytes = encodeReport(content, { finished_at: utcNow(), outcome, error });
    replaceFile(path.join(snapshotsDir, RUN_REPORT), bytes, 0o600);
    return true;
  } catch (cause) {
    progress.warn(`The report of this run could not be written: ${(cause as Error).message}`);
    return false;
  }
}
