/**
 * Writes JSON values into a buffer. For the short values of rows this takes a fraction of the time of
 * building strings and encoding them. The caller must have made room, for texts by {@link mostBytes}.
 */
import type { Value } from '../../database/database.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;

/** At least as many bytes as the JSON of a text takes: one code unit takes up to six (`\u0000`). */
export function mostBytes(codeUnits: number): number {
  return codeUnits * 6 + 8;
}

/** Writes ASCII as it is. @returns where it ends */
export function putAscii(target: Uint8Array, at: number, text: string): number {
  let end = at;
  for (let i = 0; i < text.length; i++) target[end++] = text.charCodeAt(i);
  return end;
}

/** Copies bytes. @returns where they end */
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

/** Writes a whole number, decimal digits or null. @returns where it ends */
export function putInteger(target: Uint8Array, at: number, value: Value): number {
  // Bitwise operators work on 32 bits.
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

/** Longer texts are faster to encode as a whole. */
const LONGEST_BY_CHARACTER = 200;

/** Writes the JSON of a text or null. @returns where it ends */
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

/** Writes the JSON of a text that `bytes` holds as UTF-8. @returns where it ends */
export function putTextBytes(
  target: Buffer,
  at: number,
  bytes: Buffer,
  from: number,
  to: number,
): number {
  let end = at;
  target[end++] = QUOTE;
  for (let i = from; i < to; i++) {
    const byte = bytes[i];
    if (!isPlain(byte)) return putAnyText(target, at, bytes.toString('utf8', from, to));
    target[end++] = byte;
  }
  target[end++] = QUOTE;
  return end;
}

/** Whether a code unit is the same byte in JSON. */
function isPlain(unit: number): boolean {
  return unit >= 0x20 && unit < 0x7f && unit !== QUOTE && unit !== BACKSLASH;
}
