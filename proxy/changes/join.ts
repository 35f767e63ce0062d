/**
 * Joins the differences on the path from one generation to another. For each record only the first and
 * the last state count: changes that cancel each other give nothing. Memory does not grow with the
 * number of changes.
 *
 * Invariant: each difference must begin with the state that the one before it left. If it does not, one
 * of them is not what it claims to be, and there is no result.
 */
import {
  type Change,
  compareNames,
  compareRecords,
  encodeName,
} from '../../format/difference-file.ts';
import type { Step } from '../../generations/changes/difference-path.ts';
import { DifferenceError } from '../../generations/changes/read-difference.ts';
import { mergeSorted } from './merge.ts';

/**
 * @param steps from `findPath`
 * @param read the changes of a difference, in order
 * @returns the changes of the whole path, by kind and id; if a record has moved to another path, its
 * removal comes first
 * @throws DifferenceError; only the end of the iteration shows that all differences are right
 */
export function* joinDifferences(
  steps: readonly Step[],
  read: (step: Step) => Iterable<Change>,
): Generator<Change> {
  const lists = steps.map((step) => (step.isReversed ? reverse(read(step)) : read(step)));
  // The changes of one record, one for each path.
  let paths: Change[] = [];
  for (const { item: change, list } of mergeSorted(lists, compareNames)) {
    const last = paths.at(-1);
    if (last !== undefined && compareNames(last, change) === 0) {
      if (last.after !== change.before) {
        throw new DifferenceError(steps[list].id, `it contradicts others about ${change.path}`);
      }
      paths[paths.length - 1] = { ...last, after: change.after };
      continue;
    }
    if (last !== undefined && compareRecords(last, change) !== 0) {
      yield* removalsFirst(paths);
      paths = [];
    }
    paths.push(change);
  }
  yield* removalsFirst(paths);
}

function* reverse(changes: Iterable<Change>): Generator<Change> {
  for (const change of changes) yield { ...change, before: change.after, after: change.before };
}

function removalsFirst(paths: readonly Change[]): Change[] {
  const real = paths.filter(({ before, after }) => before !== after);
  if (real.length < 2) return real;
  return real.sort((a, b) => Number(b.after === null) - Number(a.after === null));
}

/** A change as an element of the response. */
export function encodeElement(change: Change): string {
  const { before, after } = change;
  const kind = before === null ? 'added' : after === null ? 'removed' : 'changed';
  return `{"change":"${kind}",${encodeName(change)}}`;
}
