/**
 * Counts what each key uses, in memory that all serving threads share. Each thread adds to cells of its
 * own, so that counting needs no lock. The counts only grow; the first thread reads all of them at
 * intervals (`proxy/state/day-counts.ts`).
 *
 * Even and odd days of UTC have separate cells, so that what was counted before midnight is still told
 * apart when it is read after midnight. The day is not read from the clock for each request: that would
 * take 50 ns and allocate memory.
 */
import { DAY_MS } from '../../format/key-usage.ts';

/** What is counted. The numbers are positions within the cells of a day. */
export const USE = { requests: 0, notModified: 1, refused: 2, bytes: 3 } as const;
export type Use = (typeof USE)[keyof typeof USE];

/** How many cells a thread has for even days; it has as many for odd days. */
const CELLS_PER_DAY = 4;
const CELLS_PER_THREAD = 2 * CELLS_PER_DAY;
/** A request within this time after midnight may still count for the day before. */
const DAY_CHECK_MS = 250;

let today = dayNumber(Date.now());

/** The cells of one key, for a number of threads. */
export function newUseCounts(threads = 1): SharedArrayBuffer {
  return new SharedArrayBuffer(threads * CELLS_PER_THREAD * Float64Array.BYTES_PER_ELEMENT);
}

/** The cells that one thread adds to. @param thread the first is 0 */
export function useCountsOf(memory: SharedArrayBuffer, thread: number): Float64Array {
  const start = thread * CELLS_PER_THREAD * Float64Array.BYTES_PER_ELEMENT;
  return new Float64Array(memory, start, CELLS_PER_THREAD);
}

/** From now on, this thread counts what is used on a new day for that day. */
export function followDays(): void {
  setInterval(() => {
    today = dayNumber(Date.now());
  }, DAY_CHECK_MS).unref();
}

/** Adds to a count of a key. @param day the number of the day, by default of the present one */
export function countUse(cells: Float64Array, use: Use, amount: number, day = today): void {
  cells[(day % 2) * CELLS_PER_DAY + use] += amount;
}

/** The number of a day of UTC since 1970. */
export function dayNumber(now: number): number {
  return Math.floor(now / DAY_MS);
}

/**
 * The sums of all threads.
 * @param memory from {@link newUseCounts}
 * @param parity 0 for even days, 1 for odd days
 * @returns one number for each of {@link USE}
 */
export function sumOfUse(memory: SharedArrayBuffer, parity: 0 | 1): Float64Array {
  const cells = new Float64Array(memory);
  const sums = new Float64Array(CELLS_PER_DAY);
  const first = parity * CELLS_PER_DAY;
  for (let start = first; start < cells.length; start += CELLS_PER_THREAD) {
    for (let use = 0; use < CELLS_PER_DAY; use++) sums[use] += cells[start + use];
  }
  return sums;
}
