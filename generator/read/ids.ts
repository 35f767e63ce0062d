/**
 * Ids as pairs of 32-bit halves: exact over all 64 bits, and compact in columns.
 */
import { firstIndexNear } from '../../format/index/first-index.ts';
import { evenlySpaced, type Id, splitId, textOfId } from '../../format/index/ids.ts';

/** A column of unsigned 64-bit ids, as their upper and lower halves. */
export interface Ids {
  readonly high: Uint32Array;
  readonly low: Uint32Array;
}

/** Converts a value of an id column; undefined if it is not an unsigned 64-bit integer. */
export function readId(value: string | number | null): Id | undefined {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || value < 0) return undefined;
    return [Math.floor(value / 2 ** 32), value >>> 0];
  }
  return value === null ? undefined : splitId(value);
}

/**
 * The row that has an id, or -1.
 * @param rows the number of rows, which are in ascending order of their ids
 * @param guess the row found last. Usually that row or the next one has the id, since the rows of a
 * table refer to those of another in about the same order.
 */
export function findId({ high, low }: Ids, rows: number, id: Id, guess: number): number {
  const compareAt = (row: number) => high[row] - id[0] || low[row] - id[1];
  if (guess < rows && compareAt(guess) === 0) return guess;
  if (guess + 1 < rows && compareAt(guess + 1) === 0) return guess + 1;
  if (rows === 0) return -1;
  const idOf = (row: number): Id => [high[row], low[row]];
  const near = evenlySpaced(idOf(0), idOf(rows - 1), rows, id);
  const row = firstIndexNear(near, 0, rows, (at) => compareAt(at) >= 0);
  return row < rows && compareAt(row) === 0 ? row : -1;
}

/** An id as a database returns it: a number, or its decimal digits if it is beyond 2^53. */
export function valueOfId(id: Id): number | string {
  const text = textOfId(id);
  return Number.isSafeInteger(Number(text)) ? Number(text) : text;
}
