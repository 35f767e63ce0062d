/**
 * Values of a column that repeat often, each stored once under a number. NULL is a value, too.
 */
import type { Value } from '../../database/database.ts';
import { makeStringTable } from '../columns/string-table.ts';
import type { Note } from '../report/row-fault.ts';
import { checkOptionalText, noteDamage } from './row-checks.ts';

export interface RepeatedValues {
  /** The number of a text that may be unknown. @throws RowFault when it is not text */
  numberOf(value: Value, name: string, note: Note): number;
  /** All values, by number; the first is null. */
  values(): (string | null)[];
}

export function makeRepeatedValues(): RepeatedValues {
  const table = makeStringTable();
  return {
    numberOf(value, name, note) {
      const text = checkOptionalText(value, name);
      noteDamage(text, name, note);
      return text === null ? 0 : table.numberOf(text) + 1;
    },
    values: () => [null, ...table.texts()],
  };
}
