/**
 * One run of the generator: reads the catalogue from one consistent snapshot of the database, writes a
 * generation and publishes it, or reports why not. A lock allows one run at a time per snapshots folder.
 */
import path from 'node:path';
import { checkFind } from '../find/check.ts';
import { type Database, selectCount } from '../lib/database/database.ts';
import { findHiddenViews } from '../lib/database/hidden-views.ts';
import { checkCatalogue, type OptionalSchema, TIMED_TABLES } from '../lib/database/schema.ts';
import { isPack, REPORT } from '../lib/format/layout.ts';
import type { Counts, ManifestContent, ManifestFile, Settings } from '../lib/format/manifest.ts';
import { COLLATION_VERSIONS } from '../lib/format/manifest.ts';
import { compareGenerations, openCompared } from '../lib/generations/compare.ts';
import { checkFile, isSameFile, readChecked } from '../lib/generations/files/checked-files.ts';
import { generationDir } from '../lib/generations/generations.ts';
import { HeldError, whyHeld } from '../lib/generations/hold.ts';
import { withRunLock } from '../lib/generations/lock.ts';
import { beginGeneration, type Keep } from '../lib/generations/prune.ts';
import {
  findMissingCovers,
  findShrinkage,
  isUnchanged,
  type Previous,
  publish,
  readPrevious,
} from '../lib/generations/publish.ts';
import { type CheckFind, checkPack, type FileChecks } from '../lib/generations/verify.ts';
import type { ErrorWithExitCode } from '../lib/program/failure.ts';
import { getOrAdd } from '../lib/program/get-or-add.ts';
import { counted } from '../lib/program/printable.ts';
import type { Progress } from '../lib/program/progress.ts';
import type { PartOfCatalogue } from './read/read-catalogue.ts';
import type { ReportContent, ReportEnd, Warning } from './report/report.ts';
import { Report, saveReport, summaryOf, warningText } from './report/report.ts';
import type { EarlierRun, ForNextRun, KeyOf } from './reuse/earlier-run.ts';
import { findEarlierRun, makeRunKey, saveRun } from './reuse/earlier-run.ts';
import { readAndWrite } from './run.ts';

/** The catalogue has too many faults, or has lost too much, to be published without `--force`. */
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
  /**
   * Reads only what an index on `updated_at` shows to have changed, if that is enough; by default false. What such an
   * index cannot show is left to the next run.
   */
  readonly isRecent?: boolean;
  /** Does everything but publish. */
  readonly isDryRun: boolean;
  /** Called by a dry run with what it has written, even if that would be refused; not if nothing is new. */
  readonly inspect?: (content: ManifestContent, dir: string) => void;
  /** Publishes a catalogue that would be refused. */
  readonly isForced: boolean;
  /** Which generations stay once it has published. */
  readonly keep: Keep;
  /** Warnings about the configuration, which are added to the report of the run. */
  readonly warnings: readonly Warning[];
  /** To read only a part of the catalogue; by default, all of it. */
  readonly part?: PartOfCatalogue;
  /** What the run may use, in bytes; by default, what the system says. */
  readonly availableMemory?: number;
  /** Checks what finds games in what was written; by default, {@link checkFind}. */
  readonly checkValues?: CheckFind;
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

/** @throws LockedError, HeldError or RefusedError; any other Error names the step that failed */
export async function generate(
  database: Database,
  options: RunOptions,
  progress: Progress,
): Promise<RunResult> {
  const { snapshotsDir, isDryRun, part } = options;
  const held = whyHeld(snapshotsDir);
  if (held !== undefined && !isDryRun) throw new HeldError(held);
  if (held !== undefined) progress.warn(held);
  const catalogue = await checkCatalogue(database);
  // Without updated_at, all rows are read anyway.
  const isTimed = catalogue.withoutUpdatedAt.length === 0 && part === undefined;
  const hidden = isTimed ? await findHiddenViews(database, TIMED_TABLES) : undefined;
  const warnings = [...options.warnings];
  if (hidden !== undefined) {
    const reason = `All rows are read: ${hidden.fault}, so a new definition would go unnoticed. Run as an administrator: ${hidden.grant}`;
    warnings.push({ table: null, reason, count: 1, rows: [] });
  }
  const missing = catalogue.withoutUpdatedAt.map((table) => `${table}.updated_at`).join(', ');
  /** Why the run cannot find out which rows have changed. */
  let untimed = part ? 'only a part is read' : hidden?.fault;
  if (missing !== '') untimed ??= `the database does not have ${missing}`;
  return withRunLock(snapshotsDir, async () => {
    const keyOf = untimed ? undefined : await makeRunKey(database, options.settings);
    const run = { ...options, ...catalogue, database, warnings, progress, keyOf };
    return readChangesOrAll({ ...run, startedAt: Date.now() }, untimed);
  });
}

/** A run, and what it found in the database. */
interface Run extends RunOptions, OptionalSchema {
  readonly database: Database;
  readonly progress: Progress;
  /** When it began, in milliseconds since 1970. */
  readonly startedAt: number;
  /** Undefined if the run cannot find out which rows have changed. */
  readonly keyOf: KeyOf | undefined;
}

/** Runs on the rows that have changed or, if that is impossible or fails, on all rows. */
async function readChangesOrAll(run: Run, untimed: string | undefined): Promise<RunResult> {
  const { snapshotsDir, isFull = false, isRecent = false, part, keyOf, progress } = run;
  const readAll = async (reason: string) => {
    if (keyOf !== undefined) progress.warn(`All rows are read: ${reason}.`);
    if (part === undefined) await warnOfMemory(run);
    return attempt(run, undefined, reason);
  };
  if (keyOf === undefined || isFull) return readAll(untimed ?? 'a full run was requested');
  const earlier = findEarlierRun(snapshotsDir, readPrevious(snapshotsDir), keyOf, isRecent);
  if ('reason' in earlier) return readAll(earlier.reason);
  try {
    return await attempt(run, earlier, null);
  } catch (error) {
    if (error instanceof HeldError || error instanceof RefusedError) throw error;
    if (isRecent) return readChangesOrAll({ ...run, isRecent: false }, untimed);
    return readAll(`reading only the changes failed (${(error as Error).message})`);
  }
}

/** Of a run that reads all rows, in bytes: measured with 20,000 to three million games (test/bench/RESULTS.md). */
const MEMORY = 150e6;
const MEMORY_PER_GAME = 1000;

/** If memory runs out, the system ends the run without a word, perhaps after minutes. */
async function warnOfMemory(run: Run): Promise<void> {
  const { database, progress, availableMemory = process.availableMemory() } = run;
  const games = await selectCount(database, 'games');
  const needed = MEMORY + MEMORY_PER_GAME * games;
  if (needed <= availableMemory) return;
  const [about, available] = [needed, availableMemory].map((bytes) => Math.round(bytes / 1e6));
  progress.warn(
    `Warning: a run over ${counted(games, 'game')} takes about ${about} MB of memory, and only ${available} MB are available. The system may end it.`,
  );
}

/** One attempt of a run: what it was started with, and what it has found so far. */
interface Attempt {
  readonly run: Run;
  readonly earlier: EarlierRun | undefined;
  /** Why there is no earlier run that shows what has changed, or null. */
  readonly readAllBecause: string | null;
  /** The generation that is current during the run. */
  readonly previous: Previous;
  /** The folder of the new generation. */
  readonly dir: string;
  readonly checks: FileChecks;
  readonly found: Report;
}

/** @param readAllBecause why there is no earlier run that shows what has changed, or null */
async function attempt(
  run: Run,
  earlier: EarlierRun | undefined,
  readAllBecause: string | null,
): Promise<RunResult> {
  const { snapshotsDir, settings, keyOf, isDryRun } = run;
  const found = new Report();
  const previous = readPrevious(snapshotsDir);
  const { dir, clear } = beginGeneration(snapshotsDir);
  try {
    const checks = makeChecks(earlier, run.checkValues);
    const savesForNextRun = keyOf !== undefined && !isDryRun;
    const how = { ...run, report: found, dir, earlier, savesForNextRun, readFile: checks.read };
    const { written, forNextRun } = await readAndWrite(run.database, how);
    found.addWarnings(run.warnings);
    const content = written && {
      latest_cover_at: written.latest_cover_at,
      counts: { ...written.counts, left_out: found.total() },
      settings,
      ...COLLATION_VERSIONS,
      files: written.files,
    };
    const state = { run, earlier, readAllBecause, previous, dir, checks, found };
    return await end(state, content, forNextRun);
  } finally {
    clear();
  }
}

/**
 * Ends an attempt: nothing is new, or it is refused, or published.
 * @param content undefined if nothing has changed since the earlier run
 * @param forNextRun undefined if nothing is to be saved
 */
async function end(
  state: Attempt,
  content: ManifestContent | undefined,
  forNextRun: ForNextRun | undefined,
): Promise<RunResult> {
  const { run, previous, dir, checks, found } = state;
  const { snapshotsDir, progress, isDryRun } = run;
  const result = summarize(state, content);
  if (content === undefined || isUnchanged(snapshotsDir, previous, content)) {
    finish(state, 'unchanged');
    save(state, forNextRun, previous);
    return { ...result, outcome: 'unchanged' };
  }
  if (isDryRun) run.inspect?.(content, dir);
  const faults = [
    ...found.faults(),
    ...findShrinkage(previous, content),
    ...findMissingCovers(previous, content),
  ].join('; ');
  if (faults !== '' && !run.isForced) throw refuse(state, content, faults, result);
  if (faults !== '') progress.warn(`Not refused because of --force: ${faults}.`);
  if (isDryRun) {
    finish(state, 'dry_run');
    return { ...result, outcome: 'dry_run' };
  }
  progress.step('verifying and publishing');
  const steps = { checks, warn: progress.warn, keep: run.keep };
  const manifest = await publish(snapshotsDir, dir, content, previous, steps).catch((error) => {
    if (error instanceof HeldError) finish(state, 'held', error.message);
    throw error;
  });
  finish(state, 'published');
  save(state, forNextRun, { id: manifest.id, manifest });
  return { ...result, outcome: 'published', id: manifest.id };
}

/** Warns of what was left out. @returns what the result is, whatever the outcome */
function summarize(
  { run, readAllBecause, previous, found }: Attempt,
  content: ManifestContent | undefined,
): Omit<RunResult, 'outcome'> {
  const report = found.content();
  const leftOut = summaryOf(report);
  for (const line of leftOut) run.progress.warn(`Left out: ${line}.`);
  for (const warning of report.warnings) run.progress.warn(`Warning: ${warningText(warning)}.`);
  const previousCounts = previous.manifest?.counts;
  const counts = content?.counts ?? previousCounts;
  if (counts === undefined) throw new Error('the current generation cannot be read');
  return { id: previous.id, counts, previousCounts, leftOut, report, readAllBecause };
}

/** Writes the report of the run. @returns whether it was written */
function finish(
  { run, found }: Attempt,
  outcome: ReportEnd['outcome'],
  error: string | null = null,
  waiting: number | null = null,
): boolean {
  const { snapshotsDir, progress } = run;
  const ended = { outcome, error, takedowns_waiting: waiting };
  return saveReport(snapshotsDir, found.content(), ended, progress);
}

/** @returns the error that says why nothing is published, and what stays public */
function refuse(
  state: Attempt,
  content: ManifestContent,
  faults: string,
  result: Omit<RunResult, 'outcome'>,
): RefusedError {
  const { run, previous, dir } = state;
  const { snapshotsDir } = run;
  const waiting = countWaitingTakedowns(snapshotsDir, previous, content, dir);
  const late = waiting
    ? `, with ${counted(waiting, 'cover')} that this run would have taken down or changed`
    : '';
  const stays = previous.id === undefined ? '' : `The current generation stays${late}. `;
  const refusal = `Nothing is published: ${faults}. ${stays}Fix the data, or run with --force if this is what you want.`;
  const isSaved = finish(state, 'refused', refusal, waiting);
  const where = isSaved ? ` The rows are listed in ${path.join(snapshotsDir, REPORT)}.` : '';
  return new RefusedError(refusal + where, { ...result, outcome: 'refused' });
}

/** Saves what the next run needs, beside the generation that fits it. */
function save(
  { run, earlier }: Attempt,
  forNextRun: ForNextRun | undefined,
  { manifest }: Previous,
): void {
  const { snapshotsDir, keyOf, startedAt, progress } = run;
  if (forNextRun === undefined || keyOf === undefined || manifest === undefined) return;
  const fullRunAt = earlier?.fullRunAt ?? startedAt;
  try {
    saveRun(snapshotsDir, keyOf(manifest.id), manifest, fullRunAt, forNextRun);
  } catch (error) {
    progress.warn(`Warning: the next run will read all rows: ${(error as Error).message}`);
  }
}

/**
 * Reads and checks the files of a generation for the steps that need them. Files that are linked from the earlier
 * one have the state that the earlier run left: their hashes are checked only when they are read, and their values,
 * which that run has checked, are not. A run of the changes reads each file once.
 */
function makeChecks(earlier: EarlierRun | undefined, values: CheckFind = checkFind): FileChecks {
  const hashes = new Map(earlier?.manifest.files.map(({ path: name, sha256 }) => [name, sha256]));
  const contents = new Map<string, Buffer>();
  const isLinked = (dir: string, { path: name, sha256 }: ManifestFile) =>
    earlier !== undefined &&
    hashes.get(name) === sha256 &&
    isSameFile(path.join(earlier.dir, name), path.join(dir, name));
  const read = (dir: string, file: ManifestFile) => {
    if (earlier === undefined || isPack(file.path)) return readChecked(dir, file);
    const from = isLinked(dir, file) ? earlier.dir : dir;
    return getOrAdd(contents, path.join(from, file.path), () => readChecked(dir, file));
  };
  const check = (dir: string, file: ManifestFile) => isLinked(dir, file) || checkFile(dir, file);
  // The hashes of records are not checked again: they come from the same bytes as the SHA-256 of the file, or from
  // the earlier generation, of which they were checked.
  return {
    pack: (dir, pack) =>
      earlier === undefined ? checkPack(dir, pack, false) : check(dir, pack.file),
    file: check,
    read,
    values,
    hasKnownValues: isLinked,
  };
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
    const before = openCompared(generationDir(snapshotsDir, id));
    const after = openCompared(dir, undefined, content);
    let waiting = 0;
    for (const change of compareGenerations(before, after))
      if (change.kind === 'cover' && change.before !== undefined) waiting++;
    return waiting;
  } catch {
    return null;
  }
}
