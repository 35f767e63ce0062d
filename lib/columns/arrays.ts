/** Arrays of numbers: in memory that threads share, binary search, and the comparison of their parts and of texts. */

/** An array of zeros, in memory that threads share. */
export function sharedZeros<T>(
  Type: { new (buffer: SharedArrayBuffer): T; readonly BYTES_PER_ELEMENT: number },
  length: number,
): T {
  return new Type(new SharedArrayBuffer(length * Type.BYTES_PER_ELEMENT));
}

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

/**
 * Negative, zero or positive: compares two slices number by number. A slice that begins another is smaller.
 * @param start where each slice starts in `values`, and at the end where the last one ends
 */
export function compareSlices(
  values: Uint8Array | Uint16Array | Uint32Array,
  start: Uint32Array,
  one: number,
  other: number,
): number {
  const from = start[one];
  const otherFrom = start[other];
  const length = start[one + 1] - from;
  const otherLength = start[other + 1] - otherFrom;
  const shorter = Math.min(length, otherLength);
  for (let i = 0; i < shorter; i++) {
    const difference = values[from + i] - values[otherFrom + i];
    if (difference !== 0) return difference;
  }
  return length - otherLength;
}

/**
 * Negative, zero or positive: compares the text at an index with another text by code units.
 * @param most how many code units of the text at the index count
 */
export function compareText(
  { text, textStart }: { readonly text: Uint8Array | Uint16Array; readonly textStart: Uint32Array },
  index: number,
  wanted: string,
  most = Number.POSITIVE_INFINITY,
): number {
  const start = textStart[index];
  const length = Math.min(textStart[index + 1] - start, most);
  const shared = Math.min(length, wanted.length);
  for (let i = 0; i < shared; i++) {
    const difference = text[start + i] - wanted.charCodeAt(i);
    if (difference !== 0) return difference;
  }
  return length - wanted.length;
}
