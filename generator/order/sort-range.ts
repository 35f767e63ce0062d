/** Sorts part of a column in place. */

/** Runs of this length are sorted by insertion, which is faster for a few entries. */
const MOST_INSERTED = 24;

/**
 * Sorts the entries from `from` (inclusive) to `to` (exclusive). `sort` of a typed array would first copy
 * them to an array of values, which takes several times the memory at the same speed.
 */
export function sortRange(
  column: Uint32Array,
  from: number,
  to: number,
  compare: (a: number, b: number) => number,
): void {
  for (let start = from; start < to; start += MOST_INSERTED) {
    insertionSort(column, start, Math.min(start + MOST_INSERTED, to), compare);
  }
  const length = to - from;
  if (length <= MOST_INSERTED) return;
  const range = column.subarray(from, to);
  let source: Uint32Array = range;
  let target: Uint32Array = new Uint32Array(length);
  for (let width = MOST_INSERTED; width < length; width *= 2) {
    for (let start = 0; start < length; start += width * 2) {
      const middle = Math.min(start + width, length);
      mergeRuns(source, target, start, middle, Math.min(middle + width, length), compare);
    }
    [source, target] = [target, source];
  }
  if (source !== range) range.set(source);
}

function insertionSort(
  column: Uint32Array,
  from: number,
  to: number,
  compare: (a: number, b: number) => number,
): void {
  for (let next = from + 1; next < to; next++) {
    const value = column[next];
    let at = next;
    for (; at > from && compare(column[at - 1], value) > 0; at--) column[at] = column[at - 1];
    column[at] = value;
  }
}

/** Merges the sorted entries from `from` to `middle` with those from there to `to`. */
function mergeRuns(
  source: Uint32Array,
  target: Uint32Array,
  from: number,
  middle: number,
  to: number,
  compare: (a: number, b: number) => number,
): void {
  let left = from;
  let right = middle;
  // Most entries are often in order already.
  if (right === to || compare(source[middle - 1], source[middle]) <= 0) {
    target.set(source.subarray(from, to), from);
    return;
  }
  for (let at = from; at < to; at++) {
    const isLeft = left < middle && (right === to || compare(source[left], source[right]) <= 0);
    target[at] = isLeft ? source[left++] : source[right++];
  }
}
