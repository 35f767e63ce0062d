/**
 * Values that repeat often, each stored once under a number; null is a value like any other.
 */
import { Kind, type RowView, valueAt } from '../database/row-view.ts';
import { checkOptionalText } from './row-checks.ts';

export interface Interned {
  /** The number of a text that may be unknown. @throws RowFault when it is no text */
  numberAt(row: RowView, column: number, name: string): number;
  /** By number. */
  readonly values: readonly (string | null)[];
}

/** The values met last, by a hash of their bytes: a power of two. */
const MET_LAST = 1024;
const LONGEST_HASHED = 64;

export function intern(): Interned {
  const known = new Map<string | null, number>();
  const values: (string | null)[] = [];
  const lastBytes: (Uint8Array | undefined)[] = Array.from({ length: MET_LAST });
  const lastNumber = new Uint32Array(MET_LAST);

  function numberOf(value: string | null): number {
    let number = known.get(value);
    if (number === undefined) {
      number = values.length;
      known.set(value, number);
      values.push(value);
    }
    return number;
  }

  return {
    numberAt(row, column, name) {
      const from = row.start[column] as number;
      const to = row.end[column] as number;
      const isShort = row.kind[column] === Kind.TEXT && to - from <= LONGEST_HASHED;
      if (!isShort) return numberOf(checkOptionalText(valueAt(row, column), name));
      const slot = hashOf(row.bytes, from, to) & (MET_LAST - 1);
      const last = lastBytes[slot];
      if (last && isSame(last, row.bytes, from, to)) return lastNumber[slot] as number;
      const number = numberOf(checkOptionalText(valueAt(row, column), name));
      lastBytes[slot] = Uint8Array.from(row.bytes.subarray(from, to));
      lastNumber[slot] = number;
      return number;
    },
    values,
  };
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = to - from;
  for (let at = from; at < to; at++) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
  return hash ^ (hash >>> 10);
}

function isSame(known: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (known.length !== to - from) return false;
  for (let i = 0; i < known.length; i++) if (known[i] !== bytes[from + i]) return false;
  return true;
}
