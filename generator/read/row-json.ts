/**
 * Writes values of rows as JSON. Both functions throw a RowFault for a value that breaks the contract,
 * and return the position after the written bytes.
 */
import type { Value } from '../../database/database.ts';
import { putInteger, putText } from '../columns/json-bytes.ts';
import type { Note } from '../report/row-fault.ts';
import { checkOptionalCount, checkOptionalText, noteDamage } from './row-checks.ts';

/** Writes a text, or null for a text that is unknown (null or empty). */
export function putTextValue(
  target: Buffer,
  at: number,
  value: Value,
  name: string,
  note: Note,
): number {
  const text = checkOptionalText(value, name);
  noteDamage(text, name, note);
  return putText(target, at, text);
}

/** Writes a whole number, or null if it is unknown. */
export function putCount(target: Buffer, at: number, value: Value, name: string): number {
  return putInteger(target, at, checkOptionalCount(value, name));
}
