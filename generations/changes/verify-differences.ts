/** Checks every difference of a snapshots folder, for `snapshot verify`. */
import { idsOfDifferences } from './keep-differences.ts';
import { readDifference } from './read-difference.ts';

/**
 * @returns how many differences there are
 * @throws Error that names the first damaged one, and the fix
 */
export function verifyDifferences(snapshotsDir: string): number {
  const ids = idsOfDifferences(snapshotsDir).sort();
  for (const id of ids) {
    try {
      for (const _ of readDifference(snapshotsDir, id));
    } catch (cause) {
      const fix =
        'Remove it: clients that would need it then read the whole catalogue again, as they have to now.';
      throw new Error(`${(cause as Error).message} ${fix}`, { cause });
    }
  }
  return ids.length;
}
