/**
 * Finds the differences that lead from one generation to another. Differences form trees: each generation
 * has one parent, and if a mirror goes back to an earlier generation, the next one is a child of that. The
 * path leads up to the closest common ancestor, against the direction of the differences, and down from
 * there.
 */
import { sequenceOf } from '../../format/layout.ts';

export interface Step {
  /** The later generation of the difference, which names its file. */
  readonly id: string;
  /** The earlier one. */
  readonly parent: string;
  /** Whether the step leads from the later generation to the earlier one. */
  readonly isReversed: boolean;
}

/**
 * @param parentOf the parent of a generation; undefined if there is no difference to it
 * @returns the steps in their order; undefined if the differences do not connect the generations
 */
export function findPath(
  parentOf: (id: string) => string | undefined,
  from: string,
  to: string,
): Step[] | undefined {
  const up: Step[] = [];
  const down: Step[] = [];
  let [a, b] = [from, to];
  while (a !== b) {
    // A parent has a smaller sequence number, or `parseHead` refuses the difference. So the generation
    // with the larger one is not an ancestor of the other.
    const isUp = sequenceOf(a) >= sequenceOf(b);
    const id = isUp ? a : b;
    const parent = parentOf(id);
    if (parent === undefined) return undefined;
    (isUp ? up : down).push({ id, parent, isReversed: isUp });
    if (isUp) a = parent;
    else b = parent;
  }
  return [...up, ...down.reverse()];
}
