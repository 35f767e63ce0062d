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

/**
 * The same as {@link firstIndex}, in fewer steps if the result is near a guess: the distance from the
 * guess is doubled until the result is within it.
 * @param guess an index from `from` (inclusive) to `to` (exclusive)
 */
export function firstIndexNear(
  guess: number,
  from: number,
  to: number,
  passes: (index: number) => boolean,
): number {
  let distance = 1;
  if (passes(guess)) {
    while (guess - distance >= from && passes(guess - distance)) distance *= 2;
    return firstIndex(Math.max(from, guess - distance), guess, passes);
  }
  while (guess + distance < to && !passes(guess + distance)) distance *= 2;
  return firstIndex(guess + 1, Math.min(to, guess + distance), passes);
}
