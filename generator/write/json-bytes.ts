/**
 * Writes JSON values into a buffer. For the short values of rows, this takes a fraction of the time of
 * building strings and encoding them. The buffer must have room for the value; {@link mostBytes} tells
 * how much a text needs. Each function returns the position after what it wrote.
 */
import type { Value } from '../../database/database.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;

/** The most bytes that the JSON of a text can take: a code unit takes up to six (`\u0000`). */
export function mostBytes(codeUnits: number): number {
  return codeUnits * 6 + 8;
}

/** Writes an ASCII text without quotes, from a position on. */
export function putAscii(target: Uint8Array, at: number, text: string, from = 0): number {
  let end = at;
  for (let i = from; i < text.length; i++) target[end++] = text.charCodeAt(i);
  return end;
}

/** Copies the bytes from `from` (inclusive) to `to` (exclusive). */
export function putBytes(
  target: Uint8Array,
  at: number,
  bytes: Uint8Array,
  from = 0,
  to = bytes.length,
): number {
  let end = at;
  for (let i = from; i < to; i++) target[end++] = bytes[i];
  return end;
}

/** Writes a whole number, which may be given as decimal digits, or null. */
export function putInteger(target: Uint8Array, at: number, value: Value): number {
  // The loop below is only for signed 32-bit integers, on which bitwise operators work.
  if (typeof value !== 'number' || value !== (value | 0)) {
    return putAscii(target, at, String(value));
  }
  let rest = value;
  let end = at;
  if (rest < 0) {
    if (rest === -0x8000_0000) return putAscii(target, at, String(value));
    target[end++] = MINUS;
    rest = -rest;
  }
  end += rest < 10 ? 1 : rest < 100 ? 2 : rest < 1000 ? 3 : digitsOf(rest);
  for (let digit = end - 1; ; digit--) {
    const tens = (rest / 10) | 0;
    target[digit] = ZERO + rest - tens * 10;
    if (tens === 0) return end;
    rest = tens;
  }
}

function digitsOf(value: number): number {
  let digits = 4;
  for (let limit = 10_000; value >= limit; limit *= 10) digits++;
  return digits;
}

/** In characters; a longer text is encoded faster as a whole. */
const LONGEST_BY_CHARACTER = 200;

/** Writes the JSON of a text or null. */
export function putText(target: Buffer, at: number, text: string | null): number {
  if (text === null) return putAscii(target, at, 'null');
  if (text.length > LONGEST_BY_CHARACTER) return putAnyText(target, at, text);
  let end = at;
  target[end++] = QUOTE;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (!isPlain(unit)) return putAnyText(target, at, text);
    target[end++] = unit;
  }
  target[end++] = QUOTE;
  return end;
}

function putAnyText(target: Buffer, at: number, text: string): number {
  return at + target.write(JSON.stringify(text.toWellFormed()), at);
}

/** Whether JSON represents a code unit by one byte of the same value. */
function isPlain(unit: number): boolean {
  return unit >= 0x20 && unit < 0x7f && unit !== QUOTE && unit !== BACKSLASH;
}
