/**
 * A string table: stores each distinct string once, and numbers the strings from 0 in the order in which
 * they are first added. It is a hash table in typed arrays, since a Map of all words of the titles would
 * take several times as much memory.
 */
import { compareSlices } from '../../format/index/compare-slices.ts';
import { enlarged } from './number-list.ts';

export interface StringTable {
  /** The number of a string, which is added if it is new. */
  numberOf(text: string): number;
  /** All strings; the index of each is its number. */
  texts(): string[];
  sorted(): SortedStrings;
}

/** The strings in ascending order of their UTF-16 code units. */
export interface SortedStrings {
  /** The code units of all strings. */
  readonly text: Uint16Array;
  /** Where each string starts in `text`, and at the end the length of `text`. */
  readonly textStart: Uint32Array;
  /** For each number, the index of the string in this order. */
  readonly orderOf: Uint32Array;
}

const FIRST_STRINGS = 1024;
const FIRST_UNITS = 16 * 1024;

export function makeStringTable(): StringTable {
  let units = new Uint16Array(FIRST_UNITS);
  // Where each string starts in `units`, and after the last one, where that ends.
  let start = new Uint32Array(FIRST_STRINGS);
  // A slot holds the number of a string plus 1, or 0 if it is empty. At most half of them are taken.
  let slots = new Uint32Array(FIRST_STRINGS * 2);
  let strings = 0;

  function isEqual(number: number, text: string): boolean {
    const from = start[number];
    if (start[number + 1] - from !== text.length) return false;
    for (let i = 0; i < text.length; i++) {
      if (units[from + i] !== text.charCodeAt(i)) return false;
    }
    return true;
  }

  function hashOf(number: number): number {
    let hash = FIRST_HASH;
    for (let at = start[number]; at < start[number + 1]; at++) hash = hashUnit(hash, units[at]);
    return endHash(hash);
  }

  function add(text: string): void {
    const from = start[strings];
    const to = from + text.length;
    if (to > units.length) units = enlarged(units, Math.max(to, units.length * 2));
    for (let i = 0; i < text.length; i++) units[from + i] = text.charCodeAt(i);
    strings++;
    if (strings === start.length) start = enlarged(start, start.length * 2);
    start[strings] = to;
  }

  function enlargeSlots(): void {
    slots = new Uint32Array(slots.length * 2);
    const mask = slots.length - 1;
    for (let number = 0; number < strings; number++) {
      let slot = hashOf(number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
  }

  return {
    numberOf(text) {
      let hash = FIRST_HASH;
      for (let i = 0; i < text.length; i++) hash = hashUnit(hash, text.charCodeAt(i));
      const mask = slots.length - 1;
      let slot = endHash(hash) & mask;
      for (; slots[slot] !== 0; slot = (slot + 1) & mask) {
        const number = slots[slot] - 1;
        if (isEqual(number, text)) return number;
      }
      const number = strings;
      slots[slot] = number + 1;
      add(text);
      if (strings * 2 > slots.length) enlargeSlots();
      return number;
    },
    texts: () =>
      Array.from({ length: strings }, (_, number) =>
        decode(units.subarray(start[number], start[number + 1])),
      ),
    sorted() {
      const inOrder = new Uint32Array(strings);
      for (let number = 0; number < strings; number++) inOrder[number] = number;
      inOrder.sort((a, b) => compareSlices(units, start, a, b));
      const text = new Uint16Array(start[strings]);
      const textStart = new Uint32Array(strings + 1);
      const orderOf = new Uint32Array(strings);
      inOrder.forEach((number, order) => {
        const slice = units.subarray(start[number], start[number + 1]);
        text.set(slice, textStart[order]);
        textStart[order + 1] = textStart[order] + slice.length;
        orderOf[number] = order;
      });
      return { text, textStart, orderOf };
    },
  };
}

// FNV-1a with code units instead of bytes.
const FIRST_HASH = 0x811c9dc5;

function hashUnit(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x01000193);
}

/** Mixes the upper bits into the lower ones, which choose the slot. */
function endHash(hash: number): number {
  return (hash ^ (hash >>> 15)) >>> 0;
}

function decode(units: Uint16Array): string {
  return Buffer.from(units.buffer, units.byteOffset, units.byteLength).toString('utf16le');
}
