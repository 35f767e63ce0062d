/**
 * One run of the generator: reads the catalogue in one consistent read, writes a generation beside
 * the others and publishes it, or says why not. At most one run at a time in a snapshots folder.
 */
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Database } from '../database/database.ts';
import { checkSchema } from '../database/schema.ts';
import { GENERATIONS, UNFINISHED_PREFIX } from '../format/layout.ts';
import type { Counts, ManifestContent, Settings } from '../format/manifest.ts';
import { removeDeadWrites } from './atomic-file.ts';
import { makeFolders, removeDebris } from './generations.ts';
import { withLock } from './lock.ts';
import type { Progress } from './progress.ts';
import { findShrinkage, isUnchanged, type Previous, publish, readPrevious } from './publish.ts';
import { makeReport, type Report } from './report.ts';
import { type SecondThread, startSecondThread } from './second-thread.ts';
import { writeGeneration } from './write-generation.ts';

/** What was read should not be published; `--force` publishes it all the same. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

export interface RunOptions {
  readonly snapshotsDir: string;
  readonly settings: Settings;
  /** Does everything but publish. */
  readonly isDryRun: boolean;
  /** Publishes past the share of rows left out and the shrink guard. */
  readonly isForced: boolean;
}

export interface RunResult {
  readonly outcome: 'published' | 'unchanged' | 'dry_run';
  /** The generation that is current after the run; undefined only when none is yet. */
  readonly id: string | undefined;
  readonly counts: Counts;
  readonly previousCounts: Counts | undefined;
  /** How many rows were left out for each reason, as sentences. */
  readonly leftOut: readonly string[];
}

/**
 * @throws LockedError, RefusedError, or Error with the step that failed; `current` is as it was
 */
export async function generate(
  database: Database,
  options: RunOptions,
  progress: Progress,
): Promise<RunResult> {
  const { snapshotsDir } = options;
  await checkSchema(database);
  return withLock(snapshotsDir, async () => {
    makeFolders(snapshotsDir);
    removeDebris(snapshotsDir);
    removeDeadWrites(snapshotsDir);
    const work = path.join(snapshotsDir, GENERATIONS, `${UNFINISHED_PREFIX}${process.pid}`);
    const dir = path.join(work, 'generation');
    for (const folder of ['games', 'covers', 'index']) {
      mkdirSync(path.join(dir, folder), { recursive: true });
    }
    // Nothing of a run that fails is left behind, whichever way it ends. It is tried again as the
    // second thread may still write while the process exits.
    const clear = () => rmSync(work, { recursive: true, force: true, maxRetries: 20 });
    process.once('exit', clear);
    const second = startSecondThread();
    try {
      return await writeAndPublish(database, options, progress, second, work, dir);
    } finally {
      await second.end();
      process.removeListener('exit', clear);
      clear();
    }
  });
}

async function writeAndPublish(
  database: Database,
  options: RunOptions,
  progress: Progress,
  second: SecondThread,
  work: string,
  dir: string,
): Promise<RunResult> {
  const { snapshotsDir, settings } = options;
  const report = makeReport();
  const content = await writeGeneration(database, settings, progress, report, second, work, dir);
  const leftOut = report.summary();
  for (const line of leftOut) progress.warn(`Left out: ${line}.`);
  const previous = readPrevious(snapshotsDir);
  const result = {
    id: previous.id,
    counts: content.counts,
    previousCounts: previous.manifest?.counts,
    leftOut,
  };
  if (isUnchanged(snapshotsDir, previous, content)) return { ...result, outcome: 'unchanged' };
  refuseUnsound(options, report, previous, content, progress);
  if (options.isDryRun) return { ...result, outcome: 'dry_run' };
  progress.step('verifying and publishing');
  const { id } = await publish(snapshotsDir, dir, content, previous, second);
  return { ...result, outcome: 'published', id };
}

function refuseUnsound(
  { isForced }: RunOptions,
  report: Report,
  previous: Previous,
  content: ManifestContent,
  progress: Progress,
): void {
  const faults = [...report.faults(), ...findShrinkage(previous, content)];
  if (faults.length === 0) return;
  const all = faults.join('; ');
  if (!isForced) {
    throw new RefusedError(
      `Nothing is published: ${all}. The generation before goes on. Mend the data, or run with --force if this is what you want.`,
    );
  }
  progress.warn(`Published all the same, as forced: ${all}.`);
}
