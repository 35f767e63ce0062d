/**
 * Sets of ranks (positions in title order), or of reading numbers. A set is either an ascending list or,
 * if it is large, a bitset. Both are in title order without sorting. So a page of a result is a slice of
 * the list or a run of bits, and the total is the length of the list or the number of bits.
 */
import type { Run } from '../../../format/index/search-index.ts';
import { countBits, lowestBit, onesIn, setBit } from './bits.ts';

export type RankSet = RankList | RankBits;

export interface RankList {
  readonly list: Uint32Array;
  readonly bits?: undefined;
}

export interface RankBits {
  readonly bits: Uint32Array;
  readonly list?: undefined;
  /** An upper bound of the number of ranks; counting the bits exactly would take longer. */
  readonly atMost: number;
}

export function wholeRun(ranks: Uint32Array): Run {
  return { ranks, from: 0, to: ranks.length };
}

export const EMPTY: RankSet = { list: new Uint32Array(0) };

/** A union of up to this many ranks is sorted as a list, which is faster than filling a bitset. */
export const LONGEST_SORTED = 2048;

/**
 * A list with more than this share of all ranks is better kept as a bitset: every operation on a bitset
 * takes time in proportion to the number of games divided by 32.
 */
const DENSE = 1 / 32;

/** An upper bound of the number of ranks in a set; exact for a list. */
export function atMost(set: RankSet): number {
  return set.list !== undefined ? set.list.length : set.atMost;
}

/** Whether a list is long enough to be kept as bits. */
export function isDense(list: Uint32Array, games: number): boolean {
  return list.length > LONGEST_SORTED && list.length > games * DENSE;
}

/** The same ranks as a bitset. */
export function toBits(set: RankSet, games: number): RankBits {
  if (set.bits !== undefined) return set;
  const bits = new Uint32Array(Math.ceil(games / 32));
  addToBits(wholeRun(set.list), bits);
  return { bits, atMost: set.list.length };
}

export function isEmpty(set: RankSet): boolean {
  if (set.list !== undefined) return set.list.length === 0;
  const { bits } = set;
  let at = 0;
  while (at < bits.length && bits[at] === 0) at++;
  return at === bits.length;
}

/** The same ranks, as a list if they are few. */
export function compact(set: RankSet): RankSet {
  if (set.list !== undefined) return set;
  const size = countBits(set.bits);
  return size > LONGEST_SORTED ? set : { list: Uint32Array.from(slice(set, 0, size)) };
}

/** The number of ranks in a set. */
export function sizeOf(set: RankSet): number {
  return set.list !== undefined ? set.list.length : countBits(set.bits);
}

/** At most `count` ranks in ascending order. @param start how many ranks of the set to skip */
export function slice(set: RankSet, start: number, count: number): number[] {
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

/** Sets the bits of the ranks of a run. */
export function addToBits({ ranks, from, to }: Run, bits: Uint32Array): void {
  for (let i = from; i < to; i++) setBit(bits, ranks[i]);
}
