/** Bounds the length of values of rows in reports and messages, since a database can hold anything. */
import type { Value } from '../../database/database.ts';

/** In UTF-16 code units. */
const LONGEST_SHOWN = 200;

/** @returns the value itself, or the start of a long text with its length; NaN and infinities as text */
export function shownValue(value: Value, longest = LONGEST_SHOWN): Value {
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === null || value.length <= longest) return value;
  // Copied: a V8 slice would keep the whole text in memory as long as the report exists.
  const start = Buffer.from(value.slice(0, longest).toWellFormed()).toString();
  return `${start}… (${value.length} characters)`;
}
