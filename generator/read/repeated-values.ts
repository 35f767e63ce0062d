/**
 * Numbers the distinct values of a column whose values repeat often; NULL is number 0.
 */
import type { Value } from '../../database/database.ts';
import { makeStringTable } from '../columns/string-table.ts';
import type { Note } from '../report/row-fault.ts';
import { checkOptionalText, noteDamage } from './row-checks.ts';

export interface RepeatedValues {
  /**
   * The number of a value, which is added if it is new. NULL and the empty string have number 0.
   * @throws RowFault if the value is not text
   */
  numberOf(value: Value, name: string, note: Note): number;
  /** All values; the index of each is its number, and the first is null. */
  values(): (string | null)[];
}

/** @param cached the values of an earlier run, which keep their numbers */
export function makeRepeatedValues(cached: readonly (string | null)[] = []): RepeatedValues {
  const table = makeStringTable();
  for (const text of cached) if (text !== null) table.numberOf(text);
  return {
    numberOf(value, name, note) {
      const text = checkOptionalText(value, name);
      noteDamage(text, name, note);
      return text === null ? 0 : table.numberOf(text) + 1;
    },
    values: () => [null, ...table.texts()],
  };
}
