/**
 * Counts what each key uses, in memory that all serving threads share. Each thread adds to cells of its
 * own, so that counting needs no lock. The counts only grow; the first thread reads the sums at intervals
 * (`key-usage.ts`).
 */

/** What is counted. The numbers are positions within the cells of a thread. */
export const USE = { requests: 0, notModified: 1, refused: 2, bytes: 3 } as const;
export type Use = (typeof USE)[keyof typeof USE];

const CELLS = 4;

/** The cells of one key, for a number of threads. */
export function newUseCounts(threads = 1): SharedArrayBuffer {
  return new SharedArrayBuffer(threads * CELLS * Float64Array.BYTES_PER_ELEMENT);
}

/** The cells that one thread adds to. @param thread the first is 0 */
export function useCountsOf(memory: SharedArrayBuffer, thread: number): Float64Array {
  return new Float64Array(memory, thread * CELLS * Float64Array.BYTES_PER_ELEMENT, CELLS);
}

/** Adds to a count of a key. */
export function countUse(cells: Float64Array, use: Use, amount: number): void {
  cells[use] += amount;
}

/** The sums of all threads: one number for each of {@link USE}. @param memory from `newUseCounts` */
export function sumOfUse(memory: SharedArrayBuffer): Float64Array {
  const sums = new Float64Array(CELLS);
  for (const [index, count] of new Float64Array(memory).entries()) sums[index % CELLS] += count;
  return sums;
}
