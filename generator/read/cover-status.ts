/**
 * Decides which covers are published. A status that is not one of the three is a fault of the row:
 * covers that a site calls "Approved" or "ok" must not disappear silently.
 */
import { type RowView, valueAt } from '../../database/row-view.ts';
import { RowFault } from './row-checks.ts';
import { isText } from './row-json.ts';
import { printableJson, shownValue } from './shown-value.ts';

/** How many unknown statuses get a reason of their own: a column of free text has thousands. */
const MOST_NAMED = 20;
const LONGEST_NAMED = 40;

/**
 * @returns a function that says whether the cover of a row is approved. It compares statuses exactly,
 * whatever the collation of the column, so that every database gives the same answer.
 */
export function makeStatusCheck(): (row: RowView, column: number) => boolean {
  const named = new Set<string>();
  return (row, column) => {
    if (isText(row, column, 'approved')) return true;
    if (isText(row, column, 'pending') || isText(row, column, 'rejected')) return false;
    const value = valueAt(row, column);
    const shown = value === null ? 'NULL' : printableJson(shownValue(value, LONGEST_NAMED));
    if (named.size < MOST_NAMED) named.add(shown);
    const status = named.has(shown) ? shown : 'another unknown value';
    throw new RowFault(`the status is ${status}, not approved, pending or rejected`, value);
  };
}
