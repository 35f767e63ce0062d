/**
 * Writes JSON values straight into a buffer. The short values that rows are made of take a fraction
 * of what it takes to build a string and have it encoded. Nothing here looks whether there is room:
 * the caller has made it, by {@link mostBytes} where texts are concerned.
 */
import type { Value } from '../../database/database.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;

/** More than the JSON of texts of so many code units takes: `\u0000` is the longest of one. */
export function mostBytes(codeUnits: number): number {
  return codeUnits * 6 + 8;
}

/** Writes ASCII as it is. @returns where it ends */
export function putAscii(target: Uint8Array, at: number, text: string): number {
  let end = at;
  for (let i = 0; i < text.length; i++) target[end++] = text.charCodeAt(i);
  return end;
}

/** Writes bytes from one place to before another as they are. @returns where they end */
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
  // What bitwise operators can hold.
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
  for (let place = end - 1; ; place--) {
    const tens = (rest / 10) | 0;
    target[place] = ZERO + rest - tens * 10;
    if (tens === 0) return end;
    rest = tens;
  }
}

function digitsOf(value: number): number {
  let digits = 4;
  for (let limit = 10_000; value >= limit; limit *= 10) digits++;
  return digits;
}

/** Longer ones are quicker as a whole. */
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

/** Writes the JSON of a text. @returns where it ends */
export function putAnyText(target: Buffer, at: number, text: string): number {
  return at + target.write(JSON.stringify(text.toWellFormed()), at);
}

/** Writes the JSON of a text that stands somewhere as UTF-8. @returns where it ends */
export function putTextBytes(
  target: Buffer,
  at: number,
  bytes: Buffer,
  from: number,
  to: number,
): number {
  const end = putPlainText(target, at, bytes, from, to);
  return end < 0 ? putAnyText(target, at, bytes.toString('utf8', from, to)) : end;
}

/**
 * As {@link putTextBytes}, for a text without characters to escape.
 * @returns -1 when there is one; discard what was written then
 */
export function putPlainText(
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
    if (!isPlain(byte)) return -1;
    target[end++] = byte;
  }
  target[end++] = QUOTE;
  return end;
}

/** Whether a code unit or byte stands for itself in JSON and in UTF-8. */
function isPlain(unit: number): boolean {
  return unit >= 0x20 && unit < 0x7f && unit !== QUOTE && unit !== BACKSLASH;
}
