/** Comparing parts of columns of numbers. */

/**
 * Negative, zero or positive: compares two slices number by number. A slice that begins another is smaller.
 * @param start where each slice starts in `values`, and at the end where the last one ends
 */
export function compareSlices(
  values: Uint16Array | Uint32Array,
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

/** Whether the bytes from `start` (inclusive) to `end` (exclusive) are an ASCII text. */
export function equalsAscii(text: string, bytes: Uint8Array, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) !== bytes[start + i]) return false;
  }
  return true;
}
