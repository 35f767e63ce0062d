/** Sorts part of a column in place. */

/** The most entries for which an insertion sort is faster than `sort`, which copies them to an array. */
const MOST_INSERTED = 24;

/** Sorts the entries from `from` (inclusive) to `to` (exclusive). */
export function sortRange(
  column: Uint32Array,
  from: number,
  to: number,
  compare: (a: number, b: number) => number,
): void {
  if (to - from > MOST_INSERTED) {
    column.subarray(from, to).sort(compare);
    return;
  }
  for (let next = from + 1; next < to; next++) {
    const value = column[next];
    let at = next;
    for (; at > from && compare(column[at - 1], value) > 0; at--) column[at] = column[at - 1];
    column[at] = value;
  }
}
