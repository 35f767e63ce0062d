/** Checks every difference of a snapshots folder, for `snapshot verify`. */
import { idsOfDifferences } from './keep-differences.ts';
import { readDifference } from './read-difference.ts';

/**
 * @returns how many differences there are
 * @throws DifferenceError that names the first damaged one
 */
export function verifyDifferences(snapshotsDir: string): number {
  const ids = idsOfDifferences(snapshotsDir);
  for (const id of ids.sort()) for (const _ of readDifference(snapshotsDir, id));
  return ids.length;
}
