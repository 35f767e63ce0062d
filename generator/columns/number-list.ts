import { freeMemory } from '../worker/free-memory.ts';

/** A growing list of unsigned 32-bit numbers, which takes four bytes for each. */
export interface NumberList {
  push(number: number): void;
  length(): number;
  /** The numbers so far, as a view: valid until the next {@link push}. */
  view(): Uint32Array;
}

const FIRST_LENGTH = 1024;
/** Beyond this length, V8 would free the outgrown copies too late. */
const MANY = 1024 * 1024;

export function makeNumberList(): NumberList {
  let numbers = new Uint32Array(FIRST_LENGTH);
  let end = 0;
  return {
    push(number) {
      if (end === numbers.length) {
        numbers = enlarged(numbers, end * 2);
        if (end >= MANY) freeMemory();
      }
      numbers[end++] = number;
    },
    length: () => end,
    view: () => numbers.subarray(0, end),
  };
}

/** A longer copy of a column, with zeros at its end. */
export function enlarged<T extends Uint16Array | Uint32Array>(column: T, length: number): T {
  const Type = column.constructor as new (length: number) => T;
  const larger = new Type(length);
  larger.set(column);
  return larger;
}
