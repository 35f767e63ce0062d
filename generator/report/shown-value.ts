/**
 * Prepares values of rows for reports and messages, since a database can hold anything. `shownValue`
 * bounds the length of a value; `printableJson` makes it safe to print to a terminal.
 */
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

// Characters that a terminal interprets or does not show: control and format characters, line separators.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The JSON of a value, with all characters escaped that a terminal interprets or does not show. */
export function printableJson(value: unknown): string {
  // JSON.stringify escapes lone surrogates and everything below U+0020.
  return JSON.stringify(value).replace(UNSAFE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
