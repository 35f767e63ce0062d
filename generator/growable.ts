/**
 * Columns that grow while rows arrive: one number a row costs its bytes and no object.
 */
import { splitId } from '../format/record-index.ts';

type NumberArray = Uint16Array | Uint32Array | Int32Array | Float64Array;

export interface Growable<T extends NumberArray> {
  readonly length: number;
  push(value: number): void;
  at(place: number): number;
  set(place: number, value: number): void;
  /** The values so far; a view that the next push may leave behind. */
  values(): T;
}

const FIRST_CAPACITY = 1024;

export function growable<T extends NumberArray>(Type: new (length: number) => T): Growable<T> {
  let array = new Type(FIRST_CAPACITY);
  let length = 0;
  return {
    get length() {
      return length;
    },
    push(value) {
      if (length === array.length) {
        const larger = new Type(length * 2);
        larger.set(array);
        array = larger;
      }
      array[length++] = value;
    },
    at: (place) => array[place] as number,
    set(place, value) {
      array[place] = value;
    },
    values: () => array.subarray(0, length) as T,
  };
}

/** Ids of 64 bits in ascending order, found again by binary search. */
export interface IdColumn {
  readonly length: number;
  /**
   * Adds an id that is larger than all before.
   * @returns false, and adds nothing, when it is not
   */
  push(id: Id): boolean;
  /** The place of an id, or -1. */
  find(id: Id): number;
  /** Negative, zero or positive as the id at a place is below, equal to or above another. */
  compare(place: number, id: Id): number;
  high(place: number): number;
  low(place: number): number;
  /** The id at a place in decimal. */
  text(place: number): string;
}

export type Id = readonly [high: number, low: number];

/** A value of an id column as two halves; undefined when it is no unsigned 64-bit integer. */
export function readId(value: string | number | null): Id | undefined {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || value < 0) return undefined;
    return [Math.floor(value / 2 ** 32), value >>> 0];
  }
  return value === null ? undefined : splitId(value);
}

export function idColumn(): IdColumn {
  const highs = growable(Uint32Array);
  const lows = growable(Uint32Array);
  const compare = (place: number, [high, low]: Id) =>
    highs.at(place) - high || lows.at(place) - low;
  return {
    get length() {
      return highs.length;
    },
    push(id) {
      if (highs.length > 0 && compare(highs.length - 1, id) >= 0) return false;
      highs.push(id[0]);
      lows.push(id[1]);
      return true;
    },
    find([high, low]) {
      const allHigh = highs.values();
      const allLow = lows.values();
      let from = 0;
      let to = allHigh.length;
      while (from < to) {
        const middle = (from + to) >>> 1;
        const order = (allHigh[middle] as number) - high || (allLow[middle] as number) - low;
        if (order === 0) return middle;
        if (order < 0) from = middle + 1;
        else to = middle;
      }
      return -1;
    },
    compare,
    high: (place) => highs.at(place),
    low: (place) => lows.at(place),
    text(place) {
      const high = highs.at(place);
      // Exact up to 2^53; ids above it take the slow way.
      if (high < 2 ** 21) return String(high * 2 ** 32 + lows.at(place));
      return String((BigInt(high) << 32n) | BigInt(lows.at(place)));
    },
  };
}

/** Values that repeat often, each stored once; null is a value like any other. */
export interface Interned {
  /** The number of a value; new values get the next. */
  numberOf(value: string | null): number;
  readonly values: readonly (string | null)[];
}

export function intern(): Interned {
  const numbers = new Map<string | null, number>();
  const values: (string | null)[] = [];
  return {
    numberOf(value) {
      let number = numbers.get(value);
      if (number === undefined) {
        number = values.length;
        numbers.set(value, number);
        values.push(value);
      }
      return number;
    },
    values,
  };
}
