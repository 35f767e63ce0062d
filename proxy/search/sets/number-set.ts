/**
 * Sets of numbers: ranks of games, or readings. A set is either an ascending list or, if it is large, a
 * bitset. Since ranks are positions in title order, both are in title order without sorting. So a page of
 * a result is a slice of the list or a run of bits, and the total is the length of the list or the number
 * of bits.
 *
 * A parameter `below` says that every number is less than it: the number of games, or of readings.
 */
import type { Run } from '../../../format/index/search-index.ts';
import { countBits, lowestBit, newBits, onesIn, setBit } from './bits.ts';

export type NumberSet = NumberList | NumberBits;

export interface NumberList {
  readonly list: Uint32Array;
  readonly bits?: undefined;
}

export interface NumberBits {
  readonly bits: Uint32Array;
  readonly list?: undefined;
  /** An upper bound of the size; counting the bits exactly would take longer. */
  readonly atMost: number;
}

export function wholeRun(numbers: Uint32Array): Run {
  return { entries: numbers, from: 0, to: numbers.length };
}

export const EMPTY: NumberSet = { list: new Uint32Array(0) };

export function everyNumber(below: number): NumberBits {
  const bits = new Uint32Array(Math.ceil(below / 32)).fill(0xffff_ffff);
  if (below % 32 !== 0) bits[bits.length - 1] = 2 ** (below % 32) - 1;
  return { bits, atMost: below };
}

/** A union of up to this many numbers is sorted as a list, which is faster than filling a bitset. */
export const LONGEST_SORTED = 2048;

/**
 * A list with more than this share of all numbers is better kept as a bitset: every operation on a bitset
 * takes as long as on a list of one number in 32.
 */
const DENSE = 1 / 32;

/** An upper bound of the size of a set; exact for a list. */
export function atMost(set: NumberSet): number {
  return set.list !== undefined ? set.list.length : set.atMost;
}

/** Whether a list is long enough to be kept as bits. */
export function isDense(list: Uint32Array, below: number): boolean {
  return list.length > LONGEST_SORTED && list.length > below * DENSE;
}

/** The same set as bits. */
export function toBits(set: NumberSet, below: number): NumberBits {
  if (set.bits !== undefined) return set;
  const bits = newBits(Math.ceil(below / 32));
  addToBits(wholeRun(set.list), bits);
  return { bits, atMost: set.list.length };
}

export function isEmpty(set: NumberSet): boolean {
  if (set.list !== undefined) return set.list.length === 0;
  const { bits } = set;
  let at = 0;
  while (at < bits.length && bits[at] === 0) at++;
  return at === bits.length;
}

/** The same set, as a list if it is small. */
export function compact(set: NumberSet): NumberSet {
  if (set.list !== undefined) return set;
  const size = countBits(set.bits);
  return size > LONGEST_SORTED ? set : { list: Uint32Array.from(slice(set, 0, size)) };
}

/** How many numbers a set has. */
export function sizeOf(set: NumberSet): number {
  return set.list !== undefined ? set.list.length : countBits(set.bits);
}

/** At most `count` numbers in ascending order. @param start how many numbers of the set to skip */
export function slice(set: NumberSet, start: number, count: number): number[] {
  if (set.list !== undefined) return Array.from(set.list.subarray(start, start + count));
  const found: number[] = [];
  let before = 0;
  for (let block = 0; block < set.bits.length && found.length < count; block++) {
    let rest = set.bits[block];
    const inBlock = onesIn(rest);
    if (before + inBlock <= start) {
      before += inBlock;
      continue;
    }
    for (; rest !== 0 && found.length < count; rest &= rest - 1) {
      if (before >= start) found.push(block * 32 + lowestBit(rest));
      before++;
    }
  }
  return found;
}

/** Sets the bits of the numbers of a run. */
export function addToBits({ entries, from, to }: Run, bits: Uint32Array): void {
  for (let i = from; i < to; i++) setBit(bits, entries[i]);
}

/** Counts the numbers of a set by their entries in a column: adds 1 to the count of each entry. */
export function tally(
  set: NumberSet,
  column: Uint16Array | Uint32Array,
  counts: Uint32Array,
): void {
  if (set.list !== undefined) {
    for (let i = 0; i < set.list.length; i++) counts[column[set.list[i]]]++;
    return;
  }
  for (let block = 0; block < set.bits.length; block++) {
    for (let rest = set.bits[block]; rest !== 0; rest &= rest - 1) {
      counts[column[block * 32 + lowestBit(rest)]]++;
    }
  }
}
