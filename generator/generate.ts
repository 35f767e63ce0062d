/**
 * One run of the generator: reads the catalogue from one consistent snapshot of the database, writes a
 * generation and publishes it, or reports why not. A lock allows one run at a time per snapshots folder.
 */
import type { Database } from '../database/database.ts';
import { findHiddenViews, type HiddenViews } from '../database/hidden-views.ts';
import { checkCatalogue, TIMED_TABLES } from '../database/schema.ts';
import type { Progress } from '../program/progress.ts';
import { HeldError, whyHeld } from '../store/hold.ts';
import { withLock } from '../store/lock.ts';
import { readPrevious } from '../store/publish.ts';
import { beginGeneration } from '../store/unfinished-generation.ts';
import { makeCacheKey, whyUntimed } from './cache/cache-key.ts';
import { findEarlierRun } from './cache/find-earlier-run.ts';
import { warnOfHiddenViews } from './read/warnings.ts';
import {
  type ReadMode,
  RefusedError,
  type Run,
  type RunOptions,
  type RunResult,
} from './run/run.ts';
import { writeAndPublish } from './run/write-and-publish.ts';
import { makeRunWorker } from './write/jobs.ts';

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
  const catalogue = await checkCatalogue(database);
  // Without updated_at, all rows are read anyway.
  const isTimed = catalogue.withoutUpdatedAt.length === 0 && options.conditions === undefined;
  const hidden = isTimed ? await findHiddenViews(database, TIMED_TABLES) : undefined;
  const warnings = [...options.warnings, ...warnOfHiddenViews(hidden)];
  const run = { ...options, ...catalogue, warnings };
  return withLock(snapshotsDir, () => readAndPublish(database, run, hidden, progress));
}

/** Reads the rows that have changed or, if that is impossible or fails, all rows. */
async function readAndPublish(
  database: Database,
  run: Run,
  hidden: HiddenViews | undefined,
  progress: Progress,
): Promise<RunResult> {
  const { snapshotsDir, settings, withoutUpdatedAt, isFull = false } = run;
  const untimed = run.conditions ? 'only a part is read' : whyUntimed(withoutUpdatedAt, hidden);
  const keyOf = untimed === undefined ? await makeCacheKey(database, settings) : undefined;
  const startedAt = Date.now();
  const writeAll = (reason: string) => {
    if (keyOf !== undefined) progress.warn(`All rows are read: ${reason}.`);
    const none = { earlier: undefined, cache: undefined };
    return writeOnce(database, run, progress, { ...none, reason, keyOf, fullRunAt: startedAt });
  };
  if (keyOf === undefined || isFull) return writeAll(untimed ?? 'a full run was requested');
  const found = findEarlierRun(snapshotsDir, readPrevious(snapshotsDir), keyOf);
  if ('reason' in found) return writeAll(found.reason);
  try {
    return await writeOnce(database, run, progress, { reason: null, ...found, keyOf });
  } catch (error) {
    if (error instanceof HeldError || error instanceof RefusedError) throw error;
    return writeAll(`reading only the changes failed (${(error as Error).message})`);
  }
}

async function writeOnce(
  database: Database,
  run: Run,
  progress: Progress,
  readMode: ReadMode,
): Promise<RunResult> {
  const unfinished = beginGeneration(run.snapshotsDir, progress.warn);
  const worker = makeRunWorker();
  try {
    return await writeAndPublish({ database, run, progress, readMode, worker, unfinished });
  } finally {
    await worker.end();
    unfinished.clear();
  }
}
