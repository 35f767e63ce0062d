/**
 * Sets of ranks (positions in title order): an ascending list where it is short or stored so, a bitset
 * where it is a large union. Both are sorted by title as they are, so that a page of a result is a
 * slice or a run of bits, and a total is a length or a count of bits.
 */
import type { Run } from '../../format/index/search-index.ts';

export type RankSet = RankList | RankBits;

export interface RankList {
  readonly list: Uint32Array;
  readonly bits?: undefined;
}

export interface RankBits {
  readonly bits: Uint32Array;
  readonly list?: undefined;
  readonly atMost: number;
}

export function wholeRun(ranks: Uint32Array): Run {
  return { ranks, from: 0, to: ranks.length };
}

export const EMPTY: RankSet = { list: new Uint32Array(0) };

/** Up to this many ranks a union is sorted as a list: cheaper than clearing and reading a bitset. */
const LONGEST_SORTED_UNION = 2048;

/**
 * From this share of all ranks on a list is better a bitset: whatever is done with it then takes
 * time by the number of games divided by 32.
 */
const DENSE = 1 / 32;

/**
 * Where a list is this much longer than the other, it is searched by doubling strides: 100 ranks are
 * intersected with 31,000 in 6 µs, not 31 µs.
 */
const UNEVEN = 8;

/** How many ranks a set can hold; exact for a list. */
export function atMost(set: RankSet): number {
  return set.list !== undefined ? set.list.length : set.atMost;
}

/** Whether a list is long enough to be kept as bits. */
export function isDense(list: Uint32Array, games: number): boolean {
  return list.length > LONGEST_SORTED_UNION && list.length > games * DENSE;
}

/** The same ranks as bits. */
export function toBits(set: RankSet, games: number): RankBits {
  if (set.bits !== undefined) return set;
  const bits = new Uint32Array(Math.ceil(games / 32));
  addToBits(wholeRun(set.list), bits);
  return { bits, atMost: set.list.length };
}

export function isEmpty(set: RankSet): boolean {
  return set.list !== undefined ? set.list.length === 0 : set.bits.every((word) => word === 0);
}

/** How many ranks a set holds. */
export function sizeOf(set: RankSet): number {
  return set.list !== undefined ? set.list.length : countAll(set.bits);
}

// A loop of its own stays compiled whichever form of a set comes: inside, it ended up five times
// as slow for good in every other process.
function countAll(bits: Uint32Array): number {
  let size = 0;
  for (let i = 0; i < bits.length; i++) size += countBits(bits[i]);
  return size;
}

/**
 * @param runs in any order, @param games how many ranks there are at all
 */
export function union(runs: readonly Run[], games: number): RankSet {
  const total = lengthOf(runs);
  if (total === 0) return EMPTY;
  if (total <= LONGEST_SORTED_UNION) {
    const all = new Uint32Array(total);
    let end = 0;
    for (const { ranks, from, to } of runs) {
      for (let i = from; i < to; i++) all[end++] = ranks[i];
    }
    return { list: withoutRepeats(all.sort()) };
  }
  const bits = new Uint32Array(Math.ceil(games / 32));
  for (const run of runs) addToBits(run, bits);
  return { bits, atMost: Math.min(total, games) };
}

/** A set together with further ranks. The set stays as it is. */
export function join(set: RankSet, runs: readonly Run[], games: number): RankSet {
  if (set.list !== undefined) return union([wholeRun(set.list), ...runs], games);
  if (runs.length === 0) return set;
  const bits = set.bits.slice();
  for (const run of runs) addToBits(run, bits);
  return { bits, atMost: Math.min(set.atMost + lengthOf(runs), games) };
}

function addToBits({ ranks, from, to }: Run, bits: Uint32Array): void {
  for (let i = from; i < to; i++) {
    const rank = ranks[i];
    bits[rank >>> 5] = bits[rank >>> 5] | (1 << (rank & 31));
  }
}

function lengthOf(runs: readonly Run[]): number {
  let length = 0;
  for (const { from, to } of runs) length += to - from;
  return length;
}

/** The ranks that all of at least one set hold. The sets stay as they are. */
export function intersect(sets: readonly RankSet[]): RankSet {
  const [first, ...others] = [...sets].sort((a, b) => atMost(a) - atMost(b)) as [
    RankSet,
    ...RankSet[],
  ];
  let result = first;
  for (const other of others) {
    if (atMost(result) === 0) return EMPTY;
    // What is made on the way is written over: memory that comes and goes is collected in pauses.
    result = intersectTwo(result, other, result !== first);
  }
  return result;
}

/** At most `count` ranks in ascending order, from number `start` on. */
export function slice(set: RankSet, start: number, count: number): number[] {
  if (set.list !== undefined) return Array.from(set.list.subarray(start, start + count));
  const found: number[] = [];
  let before = 0;
  for (let word = 0; word < set.bits.length && found.length < count; word++) {
    let rest = set.bits[word];
    const inWord = countBits(rest);
    if (before + inWord <= start) {
      before += inWord;
      continue;
    }
    for (; rest !== 0 && found.length < count; rest &= rest - 1) {
      if (before >= start) found.push(word * 32 + lowestBit(rest));
      before++;
    }
  }
  return found;
}

/** @param isOwn whether the first set may be written over */
function intersectTwo(a: RankSet, b: RankSet, isOwn: boolean): RankSet {
  if (a.list !== undefined && b.list !== undefined) {
    return a.list.length <= b.list.length
      ? intersectLists(a.list, b.list, isOwn)
      : intersectLists(b.list, a.list, false);
  }
  if (a.list !== undefined && b.bits !== undefined) return keepInBits(a.list, b.bits, isOwn);
  if (b.list !== undefined && a.bits !== undefined) return keepInBits(b.list, a.bits, false);
  const left = a.bits as Uint32Array;
  const right = b.bits as Uint32Array;
  const bits = isOwn ? left : new Uint32Array(left.length);
  for (let i = 0; i < bits.length; i++) bits[i] = left[i] & right[i];
  return { bits, atMost: Math.min(atMost(a), atMost(b)) };
}

function keepInBits(list: Uint32Array, bits: Uint32Array, isOwn: boolean): RankSet {
  // No entry is written before it was read.
  const kept = isOwn ? list : new Uint32Array(list.length);
  let end = 0;
  for (let i = 0; i < list.length; i++) {
    const rank = list[i];
    // Written always and counted only when it is kept: no branch to mispredict.
    kept[end] = rank;
    end += (bits[rank >>> 5] >>> (rank & 31)) & 1;
  }
  return { list: kept.subarray(0, end) };
}

function intersectLists(short: Uint32Array, long: Uint32Array, isOwn: boolean): RankSet {
  const kept = isOwn ? short : new Uint32Array(short.length);
  const striding = long.length > short.length * UNEVEN;
  let end = 0;
  let at = 0;
  for (let i = 0; i < short.length && at < long.length; i++) {
    const rank = short[i];
    if (striding) at = firstAtLeast(long, rank, at);
    else while (at < long.length && long[at] < rank) at++;
    if (long[at] === rank) kept[end++] = rank;
  }
  return { list: kept.subarray(0, end) };
}

function firstAtLeast(list: Uint32Array, wanted: number, from: number): number {
  let stride = 1;
  let low = from;
  while (low + stride < list.length && list[low + stride] < wanted) {
    low += stride;
    stride *= 2;
  }
  let high = Math.min(low + stride, list.length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

function withoutRepeats(sorted: Uint32Array): Uint32Array {
  let end = 0;
  for (let i = 0; i < sorted.length; i++) {
    if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[end++] = sorted[i];
  }
  return sorted.subarray(0, end);
}

function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}

function countBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
