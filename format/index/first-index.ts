/** Binary search. */

/**
 * The first index from `from` to before `to` that passes a test, or `to` when none does.
 * @param passes false up to some index and true from there on
 */
export function firstIndex(from: number, to: number, passes: (index: number) => boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
