/**
 * Rows of a large result as they came from the database, looked at where they lie: a string for
 * each of millions of values costs more than what is made of them.
 */
import type { Row, Value } from './database.ts';

/** What the bytes of a value are. */
export const Kind = {
  /** There are none. */
  NULL: 0,
  /** Text in UTF-8; whether it is valid is the database's affair. */
  TEXT: 1,
  /** A whole number in decimal, perhaps with a sign or, in MySQL, filled up with zeros. */
  INTEGER: 2,
  /** What only {@link RowView.values} understands. */
  OTHER: 3,
} as const;

/** A row, good until the next one comes. */
export interface RowView {
  readonly bytes: Buffer;
  /** By column: of {@link Kind}, and where the value stands in the bytes unless it is NULL. */
  readonly kind: Uint8Array;
  readonly start: Int32Array;
  readonly end: Int32Array;
  /** The whole row as strings and numbers; it may be kept. */
  values(): Row;
}

/** Numbers of so many digits are exact. */
const MOST_DIGITS = 15;
const MINUS = 0x2d;
const ZERO = 0x30;

/** One value of a row as {@link RowView.values} has it. */
export function valueAt(row: RowView, column: number): Value {
  const { bytes, kind, start, end } = row;
  const from = start[column];
  const to = end[column];
  switch (kind[column]) {
    case Kind.NULL:
      return null;
    case Kind.TEXT:
      return bytes.toString('utf8', from, to);
    case Kind.INTEGER: {
      if (bytes[from] === MINUS || to - from > MOST_DIGITS) break;
      let number = 0;
      for (let at = from; at < to; at++) number = number * 10 + bytes[at] - ZERO;
      return number;
    }
  }
  return row.values()[column] ?? null;
}

/** The same view of one row after another whose values are at hand. */
export function viewOf(columns: number): (row: Row) => RowView {
  const kind = new Uint8Array(columns);
  const start = new Int32Array(columns);
  const end = new Int32Array(columns);
  let current: Row = [];
  const view = {
    bytes: Buffer.allocUnsafeSlow(4096),
    kind,
    start,
    end,
    values: () => current,
  };
  return (row) => {
    current = row;
    let used = 0;
    row.forEach((value, column) => {
      kind[column] = kindOf(value);
      if (value === null) return;
      const text = String(value);
      // Three bytes a code unit is the most that UTF-8 takes.
      const most = used + text.length * 3;
      if (most > view.bytes.length) {
        const larger = Buffer.allocUnsafeSlow(most * 2);
        view.bytes.copy(larger, 0, 0, used);
        view.bytes = larger;
      }
      start[column] = used;
      used += view.bytes.write(text, used);
      end[column] = used;
    });
    return view;
  };
}

function kindOf(value: Value): number {
  if (value === null) return Kind.NULL;
  if (typeof value === 'string') return Kind.TEXT;
  return Number.isSafeInteger(value) && !Object.is(value, -0) ? Kind.INTEGER : Kind.OTHER;
}
