/**
 * Removes old generations; makes the folder in which a run writes a generation; and
 * removes the unfinished files and folders that killed runs have left.
 */
import { renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import {
  CURRENT,
  GENERATION_FOLDERS,
  GENERATIONS,
  sequenceOf,
  UNFINISHED_PREFIX,
} from '../format/layout.ts';
import type { Environment } from '../program/environment/environment.ts';
import { correctFolder, makeFolder, makeSnapshotsFolder } from './files/file-modes.ts';
import { removeDeadWrites } from './files/replace-file.ts';
import { currentId, generationDir, idsOnDisk, namesIn, readManifest } from './generations.ts';
import { publishedAt } from './history.ts';
import { withRunLock } from './lock.ts';

/** Which generations stay. */
export interface Keep {
  /** How many of the last ones, of which the current one is the last; at least 1. */
  readonly generations: number;
  /** Of how many days, UTC, the newest one stays: the last days on which any was published. */
  readonly days: number;
}

export const ONLY_CURRENT: Keep = { generations: 1, days: 0 };

export const KEEP_VARIABLES = ['KEEP_GENERATIONS', 'KEEP_DAYS'] as const;

export function keepOf(values: Environment<(typeof KEEP_VARIABLES)[number]>): Keep {
  return { generations: values.KEEP_GENERATIONS, days: values.KEEP_DAYS };
}

/** How many generations stay at most: the current one is the newest of its day. */
export function mostKept({ generations, days }: Keep): number {
  return generations + Math.max(0, days - 1);
}

/**
 * Removes all generations but those that stay. Those that are newer than the current one never became current, or
 * were given up.
 * @returns the ids of the removed generations
 */
export async function prune(snapshotsDir: string, keep: Keep): Promise<string[]> {
  return withRunLock(snapshotsDir, async () => pruneLocked(snapshotsDir, keep));
}

/** As {@link prune}, for a caller that holds the lock. */
export function pruneLocked(snapshotsDir: string, keep: Keep): string[] {
  removeDebris(snapshotsDir);
  const ids = idsOnDisk(snapshotsDir);
  const current = currentId(snapshotsDir);
  const last = current === undefined ? Number.POSITIVE_INFINITY : sequenceOf(current);
  const published = ids
    .filter((id) => sequenceOf(id) <= last)
    .map((id) => ({ id, day: dayOf(generationDir(snapshotsDir, id)) }));
  const kept = findKept(published, keep);
  const removed = ids.filter((id) => !kept.has(id));
  for (const id of removed) {
    // Renamed first, so that no reader finds half a generation under its id.
    const doomed = path.join(snapshotsDir, GENERATIONS, `${UNFINISHED_PREFIX}removed-${id}`);
    renameSync(generationDir(snapshotsDir, id), doomed);
    rmSync(doomed, { recursive: true, force: true });
  }
  return removed;
}

/**
 * Says which generations stay. The current time does not matter, so a clock that was wrong for a while costs one
 * day at most. Generations that were published while the clock was set back do not replace those of that day.
 * @param published the oldest first, with their days
 */
export function findKept(
  published: readonly { readonly id: string; readonly day: string }[],
  keep: Keep,
): Set<string> {
  const kept = new Set(published.slice(-keep.generations).map(({ id }) => id));
  const newest = published.filter(({ day }, at) => published[at + 1]?.day !== day).toReversed();
  const days = new Set<string>();
  // A clock that goes to and fro has many of each day.
  for (const { id, day } of newest.slice(0, 2 * keep.days)) {
    if (days.add(day).size > keep.days) break;
    kept.add(id);
  }
  return kept;
}

/** The day, UTC, on which a generation was published. */
function dayOf(dir: string): string {
  let time: string;
  try {
    time = publishedAt(readManifest(dir));
  } catch {
    // It is damaged, or of another format version.
    time = statSync(dir).mtime.toISOString();
  }
  return time.slice(0, 'YYYY-MM-DD'.length);
}

/**
 * Removes the unfinished files and folders that killed runs have left. The caller holds the lock, so
 * no other process can be writing them.
 */
function removeDebris(snapshotsDir: string): void {
  const dir = path.join(snapshotsDir, GENERATIONS);
  for (const name of namesIn(dir).filter((each) => each.startsWith(UNFINISHED_PREFIX))) {
    rmSync(path.join(dir, name), { recursive: true, force: true });
  }
  rmSync(path.join(snapshotsDir, `${UNFINISHED_PREFIX}${CURRENT}`), { force: true });
  removeDeadWrites(snapshotsDir);
}

/**
 * Creates the folder in which a run writes a generation before it is published, and the snapshots folder if
 * necessary. The caller holds the lock. The folder is removed however the run ends, also by
 * `process.exit`; after a kill, the next run removes it.
 * @returns the folder, with its empty subfolders, and what removes it
 */
export function beginGeneration(snapshotsDir: string): { dir: string; clear: () => void } {
  makeSnapshotsFolder(snapshotsDir);
  const generations = path.join(snapshotsDir, GENERATIONS);
  makeFolder(generations);
  correctFolder(generations);
  const work = path.join(generations, `${UNFINISHED_PREFIX}${process.pid}`);
  rmSync(work, { recursive: true, force: true });
  try {
    removeDebris(snapshotsDir);
  } catch {
    // It is in nobody's way. The prune after publishing says what cannot be removed.
  }
  const dir = path.join(work, 'generation');
  for (const folder of [work, dir]) makeFolder(folder);
  for (const folder of GENERATION_FOLDERS) makeFolder(path.join(dir, folder));
  // Removing is retried, since a worker may still be writing while the process exits.
  const remove = () => {
    try {
      rmSync(work, { recursive: true, force: true, maxRetries: 20 });
    } catch {
      // The next run removes it. This one may have published.
    }
  };
  process.once('exit', remove);
  return {
    dir,
    clear() {
      process.removeListener('exit', remove);
      remove();
    },
  };
}
