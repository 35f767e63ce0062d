/**
 * Decides which covers are published. An unknown status breaks the contract, so that the report shows
 * it: covers to which a site gives the status "Approved" or "ok" must not disappear silently.
 */
import type { Value } from '../../database/database.ts';
import { RowFault } from '../report/row-fault.ts';
import { printableJson, shownValue } from '../report/shown-value.ts';

/** How many unknown statuses get a reason of their own. A column of free text can have thousands. */
const MOST_NAMED = 20;
const LONGEST_NAMED = 40;

/**
 * @returns a function that tells whether a status means "approved", and throws a RowFault for an unknown
 * status. It compares byte for byte, so the result does not depend on the collation of the column.
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
