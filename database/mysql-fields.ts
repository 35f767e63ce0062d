/**
 * What the columns of a result hold, and how their values become what {@link Value} promises where
 * mysql2 hands out other kinds: DECIMAL, which views make of sums, is text; fractions of a second;
 * binary strings are Buffers.
 */
import type { FieldPacket } from 'mysql2';
import type { Value } from './database.ts';
import { Kind } from './row-view.ts';

// Of mysql2's constants, which its types leave out.
const DECIMAL = 0x00;
const NEWDECIMAL = 0xf6;
const TIMESTAMP = 0x07;
const DATETIME = 0x0c;
/** TINY, SHORT, LONG, LONGLONG, INT24 and YEAR. */
const WHOLE_NUMBERS = new Set([0x01, 0x02, 0x03, 0x08, 0x09, 0x0d]);
const TEXTS_AND_BLOBS = new Set([0x0f, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe]);
const BINARY_CHARSET = 63;

/** What the types leave out, too. */
type Field = FieldPacket & { readonly characterSet?: number; readonly encoding?: string };

/** @returns what makes rows of mysql2 right in place; undefined when no column needs it */
export function menderOf(fields: readonly FieldPacket[]): ((row: unknown[]) => void) | undefined {
  const mends: [number, (value: never) => Value][] = [];
  fields.forEach((field, place) => {
    const mend = mendOf(field);
    if (mend) mends.push([place, mend]);
  });
  if (mends.length === 0) return undefined;
  return (row) => {
    for (const [place, mend] of mends) {
      if (row[place] !== null) row[place] = mend(row[place] as never);
    }
  };
}

/** Of which {@link Kind} the bytes are that the server sends for a column. */
export function kindOf(field: FieldPacket): number {
  const { columnType = Number.NaN, encoding }: Field = field;
  if (mendOf(field)) return Kind.OTHER;
  if (WHOLE_NUMBERS.has(columnType)) return Kind.INTEGER;
  const isText = TEXTS_AND_BLOBS.has(columnType) && encoding === 'utf8';
  return isText || columnType === DATETIME || columnType === TIMESTAMP ? Kind.TEXT : Kind.OTHER;
}

function mendOf(field: FieldPacket): ((value: never) => Value) | undefined {
  const { columnType: type = Number.NaN, characterSet, decimals }: Field = field;
  if (type === DECIMAL || type === NEWDECIMAL) return toNumber;
  if ((type === DATETIME || type === TIMESTAMP) && decimals) return toSeconds;
  if (TEXTS_AND_BLOBS.has(type) && characterSet === BINARY_CHARSET) return toText;
  return undefined;
}

function toNumber(text: string): Value {
  const number = Number(text);
  return text.includes('.') || Number.isSafeInteger(number) ? number : text;
}

function toSeconds(time: string): Value {
  return time.slice(0, 'YYYY-MM-DD HH:MM:SS'.length);
}

function toText(bytes: Buffer): Value {
  return bytes.toString('utf8');
}
