/**
 * Values of rows as reports and messages show them. A database can hold anything, so what is shown
 * has a bounded length and is safe to print to a terminal.
 */
import type { Value } from '../../database/database.ts';

/** In UTF-16 units. */
const LONGEST_SHOWN = 200;

/** @returns the value itself, or the start of a long text with its length */
export function shownValue(value: Value, longest = LONGEST_SHOWN): Value {
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === null || value.length <= longest) return value;
  // A slice would keep the whole text in memory for as long as the report lives.
  const start = Buffer.from(value.slice(0, longest).toWellFormed()).toString();
  return `${start}… (${value.length} characters)`;
}

// Control and format characters, and line separators, which a terminal obeys or hides.
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON without any character that a terminal obeys or hides; those are escaped. */
export function printableJson(value: unknown): string {
  // JSON.stringify escapes lone surrogates and everything below U+0020.
  return JSON.stringify(value).replace(UNSAFE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
