/**
 * One run of the generator: reads the catalogue from one consistent snapshot of the database, writes a
 * generation and publishes it, or reports why not. A lock allows one run at a time per snapshots folder.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../lib/database/database.ts';
import { findHiddenViews, type HiddenViews } from '../lib/database/hidden-views.ts';
import { checkCatalogue, type Optional, TIMED_TABLES } from '../lib/database/schema.ts';
import { MINISEARCH_OPTIONS_HASH } from '../lib/format/index/minisearch-hash.ts';
import { isPack, REPORT } from '../lib/format/layout.ts';
import {
  COLLATION_VERSIONS,
  type Counts,
  type Manifest,
  type ManifestContent,
  type ManifestFile,
  type Settings,
} from '../lib/format/manifest.ts';
import { compareGenerations } from '../lib/generations/compare.ts';
import { checkFile, isSameFile, readChecked } from '../lib/generations/files/checked-files.ts';
import { generationDir, openIndex, openIndexOf } from '../lib/generations/generations.ts';
import { HeldError, whyHeld } from '../lib/generations/hold.ts';
import { withLock } from '../lib/generations/lock.ts';
import { beginGeneration } from '../lib/generations/prune.ts';
import {
  findMissingCovers,
  findShrinkage,
  isUnchanged,
  type Previous,
  type PublishSteps,
  publish,
  readPrevious,
} from '../lib/generations/publish.ts';
import { type Checks, checkPack } from '../lib/generations/verify.ts';
import type { ErrorWithExitCode } from '../lib/program/failure.ts';
import type { Progress } from '../lib/program/progress.ts';
import type { Conditions } from './read/read-table.ts';
import {
  Report,
  type ReportContent,
  type RunEnd,
  saveReport,
  summaryOf,
  type Warning,
  warningText,
} from './report/report.ts';
import { warnOfHiddenViews } from './report/warnings.ts';
import {
  type EarlierRun,
  findEarlierRun,
  type KeyOf,
  makeRunKey,
  type RowsOfRun,
  saveRun,
  whyUntimed,
} from './reuse/earlier-run.ts';
import { PathTaken } from './reuse/reuse.ts';
import { getOrAdd } from './rows/get-or-add.ts';
import { readAndWrite } from './run.ts';

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
  /** Called by a dry run with what it would publish, if that differs from the current generation. */
  readonly inspect?: (content: ManifestContent, dir: string) => void;
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
interface ReadMode {
  readonly earlier: EarlierRun | undefined;
  /** Why all rows are read; null if only the changed ones are. */
  readonly reason: string | null;
  /** When the run began, in milliseconds since 1970. */
  readonly startedAt: number;
  /** Undefined if the database cannot show which rows have changed. */
  readonly keyOf: KeyOf | undefined;
}

/** @throws LockedError, HeldError or RefusedError; any other Error names the step that failed */
export async function generate(
  database: Database,
  options: RunOptions,
  progress: Progress,
): Promise<RunResult> {
  const { snapshotsDir } = options;
  const held = whyHeld(snapshotsDir);
  if (held !== undefined && options.isDryRun) progress.warn(held);
  else if (held !== undefined) throw new HeldError(held);
  const catalogue = await checkCatalogue(database);
  // Without updated_at, all rows are read anyway.
  const isTimed = catalogue.withoutUpdatedAt.length === 0 && options.conditions === undefined;
  const hidden = isTimed ? await findHiddenViews(database, TIMED_TABLES) : undefined;
  const warnings = [...options.warnings, ...warnOfHiddenViews(hidden)];
  const run = { ...options, ...catalogue, warnings };
  return withLock(snapshotsDir, () => readChangesOrAll(database, run, hidden, progress));
}

/** Reads the rows that have changed or, if that is impossible or fails, all rows. */
async function readChangesOrAll(
  database: Database,
  run: Run,
  hidden: HiddenViews | undefined,
  progress: Progress,
): Promise<RunResult> {
  const { snapshotsDir, settings, withoutUpdatedAt, isFull = false } = run;
  const untimed = run.conditions ? 'only a part is read' : whyUntimed(withoutUpdatedAt, hidden);
  const keyOf = untimed === undefined ? await makeRunKey(database, settings) : undefined;
  const startedAt = Date.now();
  const readAll = (reason: string) => {
    if (keyOf !== undefined) progress.warn(`All rows are read: ${reason}.`);
    return runOnce(database, run, progress, { earlier: undefined, reason, keyOf, startedAt });
  };
  if (keyOf === undefined || isFull) return readAll(untimed ?? 'a full run was requested');
  const found = findEarlierRun(snapshotsDir, readPrevious(snapshotsDir), keyOf);
  if ('reason' in found) return readAll(found.reason);
  for (let earlier = found; ; ) {
    try {
      return await runOnce(database, run, progress, { earlier, reason: null, keyOf, startedAt });
    } catch (error) {
      if (error instanceof HeldError || error instanceof RefusedError) throw error;
      if (!(error instanceof PathTaken))
        return readAll(`reading only the changes failed (${(error as Error).message})`);
      earlier = { ...earlier, dependentBlocks: [...earlier.dependentBlocks, error.block] };
    }
  }
}

async function runOnce(
  database: Database,
  run: Run,
  progress: Progress,
  mode: ReadMode,
): Promise<RunResult> {
  const { snapshotsDir, settings } = run;
  const { earlier, keyOf } = mode;
  const unfinished = beginGeneration(snapshotsDir);
  const { dir } = unfinished;
  try {
    const report = new Report();
    const checks = makeChecks(earlier);
    const { written, rows } = await readAndWrite(database, {
      ...run,
      report,
      progress,
      dir,
      earlier,
      isTimed: keyOf !== undefined && !run.isDryRun,
      readFile: checks.read,
    });
    report.addWarnings(run.warnings);
    const content = written && {
      latest_cover_at: written.latest_cover_at,
      counts: { ...written.counts, left_out: report.total() },
      settings,
      minisearch_options: MINISEARCH_OPTIONS_HASH,
      ...COLLATION_VERSIONS,
      files: written.files,
    };
    const steps = { checks, warn: progress.warn };
    return await publishOrRefuse({ run, progress, mode, report, dir, content, rows, steps });
  } finally {
    unfinished.clear();
  }
}

/**
 * Reads and checks the files of a generation for the steps that need them. Files that are linked from the earlier
 * one are read and checked once.
 */
function makeChecks(earlier: EarlierRun | undefined): Checks {
  const hashes = new Map(earlier?.manifest.files.map(({ path: name, sha256 }) => [name, sha256]));
  const contents = new Map<string, Buffer>();
  const isLinked = (dir: string, { path: name, sha256 }: ManifestFile) =>
    earlier !== undefined &&
    hashes.get(name) === sha256 &&
    isSameFile(path.join(earlier.dir, name), path.join(dir, name));
  const read = (dir: string, file: ManifestFile) =>
    isLinked(dir, file) && !isPack(file.path)
      ? getOrAdd(contents, file.path, () => readChecked(dir, file))
      : readChecked(dir, file);
  // The hashes of records are not checked again: the run computed them from the same bytes as the SHA-256 of the
  // file, which is checked.
  return {
    pack: (dir, pack) => isLinked(dir, pack.file) || checkPack(dir, pack, false),
    file: (dir, file) => isLinked(dir, file) || checkFile(dir, file),
    read,
    values: false,
  };
}

/** A run whose files are written. */
interface WrittenRun {
  readonly run: Run;
  readonly progress: Progress;
  readonly mode: ReadMode;
  readonly report: Report;
  /** The folder of the generation. */
  readonly dir: string;
  /** Undefined if nothing has changed since the earlier run. */
  readonly content: ManifestContent | undefined;
  /** For the next run; undefined if that must read all rows. */
  readonly rows: RowsOfRun | undefined;
  readonly steps: PublishSteps;
}

/** Ends a run: nothing is new, or it is refused, or published. */
async function publishOrRefuse(written: WrittenRun): Promise<RunResult> {
  const { run, progress, mode, report, dir, content, steps } = written;
  const { snapshotsDir } = run;
  const found = report.content();
  const leftOut = summaryOf(found);
  for (const line of leftOut) progress.warn(`Left out: ${line}.`);
  for (const warning of found.warnings) progress.warn(`Warning: ${warningText(warning)}.`);
  const previous = readPrevious(snapshotsDir);
  const previousCounts = previous.manifest?.counts;
  const counts = content?.counts ?? previousCounts;
  if (counts === undefined) throw new Error('the current generation cannot be read');
  const readAllBecause = mode.reason;
  const result = {
    id: previous.id,
    counts,
    previousCounts,
    leftOut,
    report: found,
    readAllBecause,
  };
  /** Writes the report of the run. @returns whether it was written */
  const finish = (
    outcome: RunEnd['outcome'],
    error: string | null = null,
    waiting: number | null = null,
  ) => saveReport(snapshotsDir, found, { outcome, error, takedowns_waiting: waiting }, progress);

  if (content === undefined || isUnchanged(snapshotsDir, previous, content)) {
    finish('unchanged');
    keepRows(written, previous.manifest);
    return { ...result, outcome: 'unchanged' };
  }
  if (run.isDryRun) run.inspect?.(content, dir);
  const faults = [
    ...report.faults(),
    ...findShrinkage(previous, content),
    ...findMissingCovers(previous, content),
  ].join('; ');
  if (faults !== '' && !run.isForced) {
    const waiting = countWaitingTakedowns(snapshotsDir, previous, content, dir);
    const stays =
      previous.id === undefined
        ? ''
        : `The current generation stays${waiting ? `, with ${waiting} covers that this run would have taken down or changed` : ''}. `;
    const refusal = `Nothing is published: ${faults}. ${stays}Fix the data, or run with --force if this is what you want.`;
    const isSaved = finish('refused', refusal, waiting);
    const where = isSaved ? ` The rows are listed in ${path.join(snapshotsDir, REPORT)}.` : '';
    throw new RefusedError(refusal + where, { ...result, outcome: 'refused' });
  }
  if (faults !== '') progress.warn(`Not refused because of --force: ${faults}.`);
  if (run.isDryRun) {
    finish('dry_run');
    return { ...result, outcome: 'dry_run' };
  }
  progress.step('verifying and publishing');
  const manifest = await publish(snapshotsDir, dir, content, previous, steps).catch((error) => {
    if (error instanceof HeldError) finish('held', error.message);
    throw error;
  });
  finish('published');
  keepRows(written, manifest);
  return { ...result, outcome: 'published', id: manifest.id };
}

/**
 * How many covers of the current generation are not in the one that is refused, or differ there: a changed
 * address may be another image. Null if the current one is damaged.
 */
function countWaitingTakedowns(
  snapshotsDir: string,
  { id }: Previous,
  content: ManifestContent,
  dir: string,
): number | null {
  if (id === undefined) return 0;
  try {
    const before = openIndexOf(generationDir(snapshotsDir, id));
    const after = openIndex(content, (name) => readFileSync(path.join(dir, name)));
    let waiting = 0;
    for (const change of compareGenerations(before, after))
      if (change.kind === 'cover' && change.before !== null) waiting++;
    return waiting;
  } catch {
    return null;
  }
}

/** Leaves what the run knows to the next one. @param manifest of the generation that fits it */
function keepRows({ run, progress, mode, rows }: WrittenRun, manifest: Manifest | undefined): void {
  if (rows === undefined || mode.keyOf === undefined || manifest === undefined) return;
  const fullRunAt = mode.earlier?.fullRunAt ?? mode.startedAt;
  try {
    saveRun(run.snapshotsDir, mode.keyOf(manifest.id), manifest.files, fullRunAt, rows);
  } catch (error) {
    progress.warn(`Warning: the next run will read all rows: ${(error as Error).message}`);
  }
}
