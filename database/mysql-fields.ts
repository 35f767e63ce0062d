/**
 * Converts values that mysql2 returns in another form than `Value` specifies: text for DECIMAL, which is
 * the type of sums in views; times with fractions of a second; Buffers for binary strings.
 */
import type { FieldPacket } from 'mysql2';

// Codes of column types, which mysql2's types do not declare.
const DECIMAL = 0x00;
const NEWDECIMAL = 0xf6;
const TIMESTAMP = 0x07;
const DATETIME = 0x0c;
const TEXTS_AND_BLOBS = new Set([0x0f, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe]);
const BINARY_CHARSET = 63;

/** mysql2's types do not declare `characterSet`, either. */
type Field = FieldPacket & { readonly characterSet?: number };

/** @returns a function that converts the values of a row in place; undefined if no column needs it */
export function fixerOf(fields: readonly FieldPacket[]): ((row: unknown[]) => void) | undefined {
  const fixes = fields.flatMap((field, column) => {
    const fix = fixOf(field);
    return fix === undefined ? [] : [{ column, fix }];
  });
  if (fixes.length === 0) return undefined;
  return (row) => {
    for (const { column, fix } of fixes) row[column] = fix(row[column]);
  };
}

function fixOf(field: FieldPacket): ((value: unknown) => unknown) | undefined {
  const { columnType: type = Number.NaN, characterSet, decimals }: Field = field;
  if (type === DECIMAL || type === NEWDECIMAL) return toNumber;
  if ((type === DATETIME || type === TIMESTAMP) && decimals) return toSeconds;
  if (TEXTS_AND_BLOBS.has(type) && characterSet === BINARY_CHARSET) return toText;
  return undefined;
}

function toNumber(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  const number = Number(text);
  return text.includes('.') || Number.isSafeInteger(number) ? number : text;
}

function toSeconds(time: unknown): unknown {
  return typeof time === 'string' ? time.slice(0, 'YYYY-MM-DD HH:MM:SS'.length) : time;
}

function toText(bytes: unknown): unknown {
  return Buffer.isBuffer(bytes) ? bytes.toString('utf8') : bytes;
}
