/**
 * Removes old generations and differences, and unfinished files and folders that killed runs have left.
 */
import { renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { CURRENT, GENERATIONS, sequenceOf, UNFINISHED_PREFIX } from '../format/layout.ts';
import { pruneDifferences } from './differences.ts';
import { currentId, generationDir, idsOnDisk, namesIn } from './generations.ts';
import { withLock } from './lock.ts';

/** How many generations a run keeps. */
export const KEPT_GENERATIONS = 5;

/**
 * Removes all but the last `keep` generations, of which the current one is the last: newer ones never became
 * current, or were given up.
 * @param heldId reads the id of the held generation, which stays too
 * @returns the ids of the removed generations
 */
export async function prune(
  snapshotsDir: string,
  keep: number,
  heldId: () => string | undefined = () => undefined,
): Promise<string[]> {
  return withLock(snapshotsDir, async () => pruneLocked(snapshotsDir, keep, heldId()));
}

/**
 * As {@link prune}, for a caller that holds the lock.
 * @param heldId the id of the held generation
 */
export function pruneLocked(snapshotsDir: string, keep: number, heldId?: string): string[] {
  removeDebris(snapshotsDir);
  const ids = idsOnDisk(snapshotsDir);
  const current = currentId(snapshotsDir);
  const last = current === undefined ? Number.POSITIVE_INFINITY : sequenceOf(current);
  const kept = ids.filter((id) => sequenceOf(id) <= last).slice(-keep);
  const removed = ids.filter((id) => !kept.includes(id) && id !== heldId);
  for (const id of removed) {
    // Renamed first, so that no reader finds half a generation under its id.
    const doomed = path.join(snapshotsDir, GENERATIONS, `${UNFINISHED_PREFIX}removed-${id}`);
    renameSync(generationDir(snapshotsDir, id), doomed);
    rmSync(doomed, { recursive: true, force: true });
  }
  pruneDifferences(snapshotsDir);
  return removed;
}

/**
 * Removes the unfinished files and folders that killed runs have left. The caller holds the lock, so
 * no other process can be writing them.
 */
export function removeDebris(snapshotsDir: string): void {
  const dir = path.join(snapshotsDir, GENERATIONS);
  for (const [folder, prefix] of [
    [dir, UNFINISHED_PREFIX],
    [snapshotsDir, `${UNFINISHED_PREFIX}${CURRENT}`],
  ] as const) {
    for (const name of namesIn(folder)) {
      if (name.startsWith(prefix))
        rmSync(path.join(folder, name), { recursive: true, force: true });
    }
  }
}
