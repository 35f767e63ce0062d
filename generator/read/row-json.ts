/**
 * Writes values of rows as JSON. Throws a RowFault for a value that breaks the contract.
 */
import type { Value } from '../../database/database.ts';
import { putInteger, putText } from '../columns/json-bytes.ts';
import type { Note } from '../report/row-fault.ts';
import { checkOptionalCount, checkOptionalText, noteDamage } from './row-checks.ts';

/** Writes a text that may be unknown; an empty one is. @returns where it ends */
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

/** Writes a whole number that may be unknown. @returns where it ends */
export function putCount(target: Buffer, at: number, value: Value, name: string): number {
  return putInteger(target, at, checkOptionalCount(value, name));
}
