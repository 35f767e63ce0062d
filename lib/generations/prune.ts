/**
 * Removes old generations; makes the folder in which a run writes a generation; and
 * removes the unfinished files and folders that killed runs have left.
 */
import { renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import {
  CURRENT,
  GENERATION_FOLDERS,
  GENERATIONS,
  sequenceOf,
  UNFINISHED_PREFIX,
} from '../format/layout.ts';
import { correctFolder, makeFolder, makeSnapshotsFolder } from './files/file-modes.ts';
import { removeDeadWrites } from './files/replace-file.ts';
import { currentId, generationDir, idsOnDisk, namesIn } from './generations.ts';
import { withRunLock } from './lock.ts';

/** How many generations a run keeps. */
export const KEPT_GENERATIONS = 5;

/**
 * Removes all but the last `keep` generations, of which the current one is the last: newer ones never became
 * current, or were given up.
 * @returns the ids of the removed generations
 */
export async function prune(snapshotsDir: string, keep: number): Promise<string[]> {
  return withRunLock(snapshotsDir, async () => pruneLocked(snapshotsDir, keep));
}

/** As {@link prune}, for a caller that holds the lock. */
export function pruneLocked(snapshotsDir: string, keep: number): string[] {
  removeDebris(snapshotsDir);
  const ids = idsOnDisk(snapshotsDir);
  const current = currentId(snapshotsDir);
  const last = current === undefined ? Number.POSITIVE_INFINITY : sequenceOf(current);
  const kept = ids.filter((id) => sequenceOf(id) <= last).slice(-keep);
  const removed = ids.filter((id) => !kept.includes(id));
  for (const id of removed) {
    // Renamed first, so that no reader finds half a generation under its id.
    const doomed = path.join(snapshotsDir, GENERATIONS, `${UNFINISHED_PREFIX}removed-${id}`);
    renameSync(generationDir(snapshotsDir, id), doomed);
    rmSync(doomed, { recursive: true, force: true });
  }
  return removed;
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
  removeDebris(snapshotsDir);
  const work = path.join(generations, `${UNFINISHED_PREFIX}${process.pid}`);
  const dir = path.join(work, 'generation');
  for (const folder of [work, dir]) makeFolder(folder);
  for (const folder of GENERATION_FOLDERS) makeFolder(path.join(dir, folder));
  // Removing is retried, since a worker may still be writing while the process exits.
  const remove = () => rmSync(work, { recursive: true, force: true, maxRetries: 20 });
  process.once('exit', remove);
  return {
    dir,
    clear() {
      process.removeListener('exit', remove);
      remove();
    },
  };
}
