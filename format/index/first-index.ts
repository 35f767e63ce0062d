/** Binary search. */

/**
 * The first index from `from` (inclusive) to `to` (exclusive) that passes a test, or `to` if none does.
 * @param passes the test; if an index passes, all higher ones must pass, too
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
