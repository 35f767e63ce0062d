/** Ids of rows: unsigned 64-bit integers, as columns of their halves. `lib/format/index/ids.ts` has single ids. */
import { firstIndexNear } from '../../lib/columns/arrays.ts';
import { type Column, makeColumn, numbersOf } from '../../lib/columns/columns.ts';
import { numberAt } from '../../lib/columns/numbers.ts';
import { evenlySpaced, type Id, splitId, textOfId } from '../../lib/format/index/ids.ts';

/** The upper and lower halves of ids. */
export interface Ids<Of extends number> {
  readonly high: Column<Of, number>;
  readonly low: Column<Of, number>;
}

export function makeIds<Of extends number>(count: number): Ids<Of> {
  return { high: makeColumn(count), low: makeColumn(count) };
}

export function setId<Of extends number>(ids: Ids<Of>, of: Of, [high, low]: Id): void {
  // Memory to which nothing was written takes none, and nearly all upper halves are 0.
  if (high !== 0) numbersOf(ids.high)[of] = high;
  numbersOf(ids.low)[of] = low;
}

export function idOf<Of extends number>({ high, low }: Ids<Of>, of: Of): Id {
  return [high[of], low[of]];
}

/** Converts a value of an id column; undefined if it is not an unsigned 64-bit integer. */
export function readId(value: string | number | null): Id | undefined {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || value < 0) return undefined;
    return [Math.floor(value / 2 ** 32), value >>> 0];
  }
  return value === null ? undefined : splitId(value);
}

/** An id as databases return it: beyond 2^53, a text. */
export function valueOfId(id: Id): string | number {
  return valueOfDigits(textOfId(id));
}

/** As {@link valueOfId}. @param digits of the id, in decimal */
export function valueOfDigits(digits: string): string | number {
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : digits;
}

/** The row that has an id; undefined if none has it. @param rows how many rows there are, in the order of ids */
export function findId<Of extends number>(ids: Ids<Of>, rows: number, id: Id): Of | undefined {
  if (rows === 0) return undefined;
  const compareAt = (index: number) =>
    ids.high[numberAt<Of>(index)] - id[0] || ids.low[numberAt<Of>(index)] - id[1];
  const near = evenlySpaced(idOf(ids, numberAt(0)), idOf(ids, numberAt(rows - 1)), rows, id);
  const row = firstIndexNear(near, 0, rows, (index) => compareAt(index) >= 0);
  return row < rows && compareAt(row) === 0 ? numberAt(row) : undefined;
}
