/**
 * Decides which covers are published. Every status but "approved" is an intention of the site, so a cover
 * with an unknown one is not public. It is counted in a warning, so that covers to which a site gives the
 * status "Approved" or "ok" do not disappear silently.
 */
import type { Value } from '../../database/database.ts';
import type { Note } from '../report/row-fault.ts';
import { printableJson, shownValue } from '../report/shown-value.ts';

/** How many unknown statuses get a warning of their own. A column of free text can have thousands. */
const MOST_NAMED = 20;
const LONGEST_NAMED = 40;

/**
 * @returns a function that tells whether a status means "approved", and notes an unknown one. It compares
 * byte for byte, so the result does not depend on the collation of the column.
 */
export function makeStatusCheck(): (status: Value, note: Note) => boolean {
  const named = new Set<string>();
  return (status, note) => {
    if (status === 'approved') return true;
    if (status === 'pending' || status === 'rejected') return false;
    const shown = status === null ? 'NULL' : printableJson(shownValue(status, LONGEST_NAMED));
    if (named.size < MOST_NAMED) named.add(shown);
    const name = named.has(shown) ? shown : 'another unknown value';
    note(`the status is ${name}, not approved, pending or rejected: not public`, status);
    return false;
  };
}
