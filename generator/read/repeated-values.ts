/**
 * Values that repeat often, each stored once under a number; null is a value like any other.
 */
import { Kind, type RowView, valueAt } from '../../database/row-view.ts';
import { makeTextNumbers } from '../columns/string-table.ts';
import { checkOptionalText, type Note, noteDamage } from './row-checks.ts';

export interface Interned {
  /** The number of a text that may be unknown. @throws RowFault when it is no text */
  numberAt(row: RowView, column: number, name: string, note: Note): number;
  /** All values, by number; the first is null. */
  values(): (string | null)[];
}

export function intern(): Interned {
  const numbers = makeTextNumbers();
  return {
    numberAt(row, column, name, note) {
      const from = row.start[column];
      const to = row.end[column];
      if (row.kind[column] === Kind.TEXT && from < to) {
        const number = numbers.numberOfBytes(row.bytes, from, to);
        if (number >= 0) return number + 1;
      }
      const text = checkOptionalText(valueAt(row, column), name);
      noteDamage(text, name, note);
      return text === null ? 0 : numbers.numberOf(text) + 1;
    },
    values: () => [null, ...numbers.texts()],
  };
}
