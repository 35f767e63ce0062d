/**
 * Sets of numbers: ranks of games, or variants. A set is either an ascending list or, if it is large, a
 * bitset. Since ranks are positions in title order, both are in title order without sorting. So a page of
 * a result is a slice of the list or a run of bits, and the total is the length of the list or the number
 * of bits.
 */
import { firstIndex } from '../../../lib/columns/arrays.ts';
import { bitAt, countBits, lowestBit, onesIn, setBit } from '../../../lib/columns/bits.ts';
import { numberAt } from '../../../lib/columns/numbers.ts';

/** `of` is never there: it tells the compiler of which kind the numbers are. */
export type NumberSet<N extends number = number> = (NumberList | NumberBits) & { readonly of?: N };

export interface NumberList {
  readonly list: Uint32Array;
  readonly bits?: undefined;
}

export interface NumberBits {
  /** At least one is set, unless there are no numbers at all. */
  readonly bits: Uint32Array;
  readonly list?: undefined;
  /** An upper bound of the size; counting the bits exactly would take longer. */
  readonly atMost: number;
}

export const EMPTY: NumberSet<never> = { list: new Uint32Array(0) };

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

export function isEmpty(set: NumberSet): boolean {
  return atMost(set) === 0;
}

/** Whether a list is long enough to be kept as bits. */
export function isDense(list: Uint32Array, below: number): boolean {
  return list.length > LONGEST_SORTED && list.length > below * DENSE;
}

/** The same set in memory of its own, so that it outlives its query. */
export function kept<N extends number>(set: NumberSet<N>): NumberSet<N> {
  return set.bits === undefined ? set : { bits: set.bits.slice(), atMost: set.atMost };
}

/** Whether a number is in a set. */
export function has({ list, bits }: NumberSet, number: number): boolean {
  if (list === undefined) return bitAt(bits, number) === 1;
  return list[firstIndex(0, list.length, (at) => list[at] >= number)] === number;
}

/** The numbers of a set, ascending. */
export function toList(set: NumberSet): Uint32Array {
  return set.list ?? new Uint32Array(slice(set, 0, set.atMost));
}

/** Sets the bits of all numbers of a set. */
export function addTo(bits: Uint32Array, { list, bits: others }: NumberSet): void {
  if (list !== undefined) for (let i = 0; i < list.length; i++) setBit(bits, list[i]);
  else for (let i = 0; i < others.length; i++) bits[i] |= others[i];
}

/** The same set, as a list if it is small: then the next operation is faster, and needs less memory. */
export function compact<N extends number>(set: NumberSet<N>): NumberSet<N> {
  if (set.list !== undefined) return set;
  const size = countBits(set.bits);
  return size > LONGEST_SORTED ? set : { list: toList(set) };
}

/** How many numbers a set has. */
export function cardinality(set: NumberSet): number {
  return set.list !== undefined ? set.list.length : countBits(set.bits);
}

/** At most `count` numbers in ascending order. @param start how many numbers of the set to skip */
export function slice<N extends number>(set: NumberSet<N>, start: number, count: number): N[] {
  if (set.list !== undefined) return Array.from(set.list.subarray(start, start + count)) as N[];
  const found: N[] = [];
  let before = 0;
  for (let block = 0; block < set.bits.length && found.length < count; block++) {
    let rest = set.bits[block];
    const inBlock = onesIn(rest);
    if (before + inBlock <= start) {
      before += inBlock;
      continue;
    }
    for (; rest !== 0 && found.length < count; rest &= rest - 1) {
      if (before >= start) found.push(numberAt(block * 32 + lowestBit(rest)));
      before++;
    }
  }
  return found;
}

/** Hands every number of a set to a function, in ascending order. */
export function forEach({ list, bits }: NumberSet, use: (number: number) => void): void {
  if (list !== undefined) for (let i = 0; i < list.length; i++) use(list[i]);
  else
    for (let block = 0; block < bits.length; block++) {
      for (let rest = bits[block]; rest !== 0; rest &= rest - 1) use(block * 32 + lowestBit(rest));
    }
}
