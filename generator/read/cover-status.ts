/**
 * Decides which covers are published. A status that is not one of the three is a fault of the row:
 * covers that a site calls "Approved" or "ok" must not disappear silently.
 */
import type { Value } from '../../database/database.ts';
import { RowFault } from '../report/row-fault.ts';
import { printableJson, shownValue } from '../report/shown-value.ts';

/** How many unknown statuses get a reason of their own: a column of free text has thousands. */
const MOST_NAMED = 20;
const LONGEST_NAMED = 40;

/**
 * @returns a function that says whether a cover with a status is approved. It compares exactly,
 * whatever the collation of the column, so that every database gives the same answer.
 */
export function makeStatusCheck(): (status: Value) => boolean {
  const named = new Set<string>();
  return (status) => {
    if (status === 'approved') return true;
    if (status === 'pending' || status === 'rejected') return false;
    const shown = status === null ? 'NULL' : printableJson(shownValue(status, LONGEST_NAMED));
    if (named.size < MOST_NAMED) named.add(shown);
    const name = named.has(shown) ? shown : 'another unknown value';
    throw new RowFault(`the status is ${name}, not approved, pending or rejected`, status);
  };
}
