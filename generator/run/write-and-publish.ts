/** Writes a generation and publishes it, unless nothing is new or it must be refused. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { REPORT } from '../../format/layout.ts';
import type { ManifestContent } from '../../format/manifest.ts';
import type { Progress } from '../../program/progress.ts';
import { coversOnlyIn } from '../../store/changes/compare-generations.ts';
import { generationDir } from '../../store/generations/generations.ts';
import { openIndex, openIndexOf } from '../../store/generations/open-index.ts';
import { HeldError } from '../../store/hold.ts';
import {
  findMissingCovers,
  findShrinkage,
  isUnchanged,
  type Previous,
  publish,
  readPrevious,
} from '../../store/publish.ts';
import { type SavedRows, saveRows } from '../cache/save-rows.ts';
import { makeReport, type Report, warningText } from '../report/report.ts';
import { saveReport } from '../report/save-report.ts';
import { freeMemory } from '../worker/free-memory.ts';
import { checkPacksWith } from '../write/check-packs.ts';
import { writeGeneration } from '../write/write-generation.ts';
import { endUnchanged } from './end-unchanged.ts';
import { type ReadMode, RefusedError, type RunContext, type RunResult } from './run.ts';

export async function writeAndPublish(context: RunContext): Promise<RunResult> {
  const { run, progress, readMode } = context;
  const report = makeReport();
  const written = await writeFiles(context, report);
  if (written === undefined) return endUnchanged(run, progress, readMode);
  try {
    freeMemory();
    report.addWarnings(run.warnings);
    return await publishOrRefuse(context, report, written);
  } finally {
    written.rows?.discard();
  }
}

interface WrittenFiles {
  readonly content: ManifestContent;
  /** What was read, for the next run; undefined if that must read all rows. */
  readonly rows: SavedRows | undefined;
}

/**
 * Writes the files of the generation, and the rows for the next run. So the rows are not in memory any more
 * while the generation is checked.
 * @returns undefined if the earlier run has written the same generation
 */
async function writeFiles(
  { database, run, progress, readMode, worker, unfinished }: RunContext,
  report: Report,
): Promise<WrittenFiles | undefined> {
  const { hasGameTitles, settings, conditions = {} } = run;
  const { keyOf, earlier, cache } = readMode;
  const isTimed = keyOf !== undefined;
  const written = await writeGeneration(database, {
    hasGameTitles,
    settings,
    conditions,
    isTimed,
    earlier,
    progress,
    report,
    worker,
    workDir: unfinished.work,
    dir: unfinished.dir,
  });
  if (written === undefined) return undefined;
  const { content, rows } = written;
  earlier?.forgetRecords();
  freeMemory();
  if (run.isDryRun || !isTimed) return { content, rows: undefined };
  try {
    return { content, rows: await saveRows(run.snapshotsDir, rows, written.report, cache) };
  } catch (error) {
    warnOfFullRun(progress, error as Error);
    return { content, rows: undefined };
  }
}

/** Ends a run whose files are written: nothing is new, or it is refused, or published. */
async function publishOrRefuse(
  { run, progress, readMode, worker, unfinished }: RunContext,
  report: Report,
  { content, rows }: WrittenFiles,
): Promise<RunResult> {
  const { snapshotsDir } = run;
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
    readAllBecause: readMode.reason,
  };
  /** Writes the report of the run. @returns whether it was written */
  const finish = (
    outcome: RunResult['outcome'] | 'held',
    error: string | null = null,
    takedownsWaiting: number | null = null,
  ) => saveReport(snapshotsDir, reportContent, outcome, error, takedownsWaiting, progress);

  if (previous.id !== undefined && isUnchanged(snapshotsDir, previous, content)) {
    finish('unchanged');
    await keepRows(rows, readMode, previous.id, progress);
    return { ...result, outcome: 'unchanged' };
  }
  const faults = [
    ...report.faults(),
    ...findShrinkage(previous, content),
    ...findMissingCovers(previous, content),
  ].join('; ');
  if (faults !== '' && !run.isForced) {
    const waiting = countWaitingTakedowns(snapshotsDir, previous, content, unfinished.dir);
    const stays =
      previous.id === undefined
        ? ''
        : `The current generation stays${waiting ? `, with ${waiting} covers that this run would have taken down` : ''}. `;
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
  const publishing = publish(snapshotsDir, unfinished.dir, content, previous, {
    checkPacks: checkPacksWith(worker, readMode.earlier),
    warn: progress.warn,
  });
  const { id } = await publishing.catch((error) => {
    if (error instanceof HeldError) finish('held', error.message);
    throw error;
  });
  finish('published');
  await keepRows(rows, readMode, id, progress);
  return { ...result, outcome: 'published', id };
}

/**
 * How many covers of the current generation are not in the one that is refused; null if the current one is
 * damaged.
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
    return [...coversOnlyIn(before, after)].length;
  } catch {
    return null;
  }
}

async function keepRows(
  rows: SavedRows | undefined,
  { keyOf, fullRunAt }: ReadMode,
  id: string,
  progress: Progress,
): Promise<void> {
  if (rows === undefined || keyOf === undefined) return;
  await rows.keep(keyOf(id), fullRunAt).catch((error) => warnOfFullRun(progress, error));
}

function warnOfFullRun(progress: Progress, { message }: Error): void {
  progress.warn(`Warning: the next run will read all rows: ${message}`);
}
