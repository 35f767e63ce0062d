/**
 * Rows of one table, grouped by what is wrong with them: all are counted, the first of each reason are
 * listed.
 */
import type { Value } from '../../database/database.ts';
import { shownValue } from './shown-value.ts';

/** How many rows of a table are listed for each reason. */
export const MOST_LISTED = 100;

/** A listed row: its id, and the value that is wrong, as the report shows them. */
export interface ListedRow {
  readonly id: Value;
  readonly value: Value;
}

export interface Reasons {
  add(reason: string, id: Value, value: Value): void;
  /** The count and the listed rows of each reason. */
  entries(): [
    reason: string,
    found: { readonly count: number; readonly rows: readonly ListedRow[] },
  ][];
}

/**
 * @param isSorted false: rows and reasons are in the order in which they were added. True: they are in an
 * order that does not depend on it, rows by id, then value.
 */
export function makeReasons(isSorted: boolean): Reasons {
  const reasons = new Map<string, { count: number; rows: ListedRow[] }>();
  return {
    add(reason, id, value) {
      let found = reasons.get(reason);
      if (found === undefined) {
        found = { count: 0, rows: [] };
        reasons.set(reason, found);
      }
      const { rows } = found;
      if (found.count++ >= MOST_LISTED && !isSorted) return;
      const row = { id: shownValue(id), value: shownValue(value) };
      const index = isSorted
        ? rows.findLastIndex((other) => compareRows(other, row) <= 0) + 1
        : rows.length;
      rows.splice(index, 0, row);
      if (rows.length > MOST_LISTED) rows.pop();
    },
    entries: () => (isSorted ? [...reasons].sort(([a], [b]) => (a < b ? -1 : 1)) : [...reasons]),
  };
}

function compareRows(a: ListedRow, b: ListedRow): number {
  return compareValues(a.id, b.id) || compareValues(a.value, b.value);
}

/** Orders null, then numbers, then texts. */
function compareValues(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  return typeOrder(a) - typeOrder(b);
}

function typeOrder(value: Value): number {
  return value === null ? 0 : typeof value === 'number' ? 1 : 2;
}
