/** Removes old generations, and what runs that were killed have left. */
import { renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { CURRENT, GENERATIONS, UNFINISHED_PREFIX } from '../format/layout.ts';
import { currentId, generationDir, idsOnDisk, namesIn } from './generations/generations.ts';
import { withLock } from './lock.ts';

/** How many generations a run keeps. */
export const KEPT_GENERATIONS = 5;

/**
 * Removes all but the last `keep` generations; the current one always stays.
 * @param heldId reads the id of the generation that is held, which stays too
 * @returns the ids that were removed
 */
export async function prune(
  snapshotsDir: string,
  keep: number,
  heldId: () => string | undefined = () => undefined,
): Promise<string[]> {
  return withLock(snapshotsDir, async () => pruneLocked(snapshotsDir, keep, heldId()));
}

/**
 * As {@link prune}, for a caller that holds the lock. Also removes what runs that were killed have left.
 * @param alsoKept the id of a generation that stays, however old it is
 */
export function pruneLocked(
  snapshotsDir: string,
  keep: number,
  alsoKept: string | undefined,
): string[] {
  removeDebris(snapshotsDir);
  const kept = [currentId(snapshotsDir), alsoKept];
  const ids = idsOnDisk(snapshotsDir);
  const removed = ids.slice(0, Math.max(0, ids.length - keep)).filter((id) => !kept.includes(id));
  for (const id of removed) {
    // Under another name first: no reader finds half a generation under its id.
    const doomed = path.join(snapshotsDir, GENERATIONS, `${UNFINISHED_PREFIX}removed-${id}`);
    renameSync(generationDir(snapshotsDir, id), doomed);
    rmSync(doomed, { recursive: true, force: true });
  }
  return removed;
}

/** For a caller that holds the lock: no other process can be writing what is found here. */
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
