/** Unions, intersections and differences of sets of numbers. No function changes the sets that it gets. */
import { bitAt, copyBits, newBits, onesIn, setBit } from './bits.ts';
import {
  addTo,
  atMost,
  compact,
  EMPTY,
  forEach,
  isEmpty,
  LONGEST_SORTED,
  type NumberBits,
  type NumberSet,
  sizeOf,
  toBits,
} from './number-set.ts';

/** The union of lists. @param lists in any order; they may overlap, and need not ascend */
export function union(lists: readonly Uint32Array[], below: number): NumberSet {
  const total = lists.reduce((sum, { length }) => sum + length, 0);
  if (total > LONGEST_SORTED) {
    const bits = newBits(Math.ceil(below / 32));
    for (const list of lists) addTo(bits, { list });
    return { bits, atMost: Math.min(total, below) };
  }
  const all = new Uint32Array(total);
  let end = 0;
  for (const list of lists) {
    all.set(list, end);
    end += list.length;
  }
  return { list: withoutRepeats(all.sort()) };
}

function withoutRepeats(sorted: Uint32Array): Uint32Array {
  let end = 0;
  for (let i = 0; i < sorted.length; i++) {
    if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[end++] = sorted[i];
  }
  return sorted.subarray(0, end);
}

/** The numbers that are in any of the sets. */
export function unite(sets: readonly NumberSet[], below: number): NumberSet {
  const filled = sets.filter((set) => !isEmpty(set));
  if (filled.length < 2) return filled[0] ?? EMPTY;
  const large = filled.find(({ bits }) => bits !== undefined)?.bits;
  if (large === undefined)
    return union(
      filled.flatMap(({ list }) => list ?? []),
      below,
    );
  const bits = copyBits(large);
  for (const set of filled) if (set.bits !== large) addTo(bits, set);
  const total = filled.reduce((sum, set) => sum + atMost(set), 0);
  return { bits, atMost: Math.min(total, below) };
}

/** The numbers of a set that are not in a bitset. */
export function subtract(set: NumberSet, removed: Uint32Array): NumberSet {
  if (set.list !== undefined) {
    return { list: set.list.filter((number) => bitAt(removed, number) === 0) };
  }
  const bits = copyBits(set.bits);
  for (let i = 0; i < bits.length; i++) bits[i] &= ~removed[i];
  return compact({ bits, atMost: set.atMost });
}

/** The numbers of a set that pass a test, which gets them in ascending order. */
export function filter(set: NumberSet, passes: (number: number) => boolean): NumberSet {
  if (set.list !== undefined) return { list: set.list.filter(passes) };
  const bits = newBits(set.bits.length);
  forEach(set, (number) => {
    if (passes(number)) setBit(bits, number);
  });
  return compact({ bits, atMost: set.atMost });
}

/** The numbers that are in all of the sets, of which there is at least one. */
export function intersect(sets: readonly NumberSet[]): NumberSet {
  const smallestFirst = [...new Set(sets)].sort((a, b) => atMost(a) - atMost(b));
  return smallestFirst.reduce((result, set) =>
    isEmpty(result) ? EMPTY : intersectTwo(result, set),
  );
}

/** How many numbers are in both sets. */
export function sizeOfBoth(a: NumberSet, b: NumberSet): number {
  if (a.list !== undefined || b.list !== undefined) return sizeOf(intersect([a, b]));
  let size = 0;
  for (let i = 0; i < a.bits.length; i++) size += onesIn(a.bits[i] & b.bits[i]);
  return size;
}

/** Of two lists, the first is the shorter one. Of long lists of like lengths, bits are the fastest. */
function intersectTwo(a: NumberSet, b: NumberSet): NumberSet {
  if (a.list === undefined) {
    return b.list === undefined ? intersectBits(a, b) : keepInBits(b.list, a.bits);
  }
  if (b.list === undefined) return keepInBits(a.list, b.bits);
  if (b.list.length > a.list.length * UNEVEN) return lookUp(a.list, b.list);
  if (b.list.length <= LONGEST_SORTED) return merge(a.list, b.list);
  const highest = Math.max(a.list[a.list.length - 1], b.list[b.list.length - 1]);
  return keepInBits(a.list, toBits(b, highest + 1).bits);
}

/**
 * If a list is more than this many times as long as another, it is searched with doubling strides.
 * Intersecting 100 numbers with 31,000 then takes 6 µs instead of 31 µs.
 */
const UNEVEN = 8;

function intersectBits(a: NumberBits, b: NumberBits): NumberSet {
  const { length } = a.bits;
  const bits = newBits(length);
  for (let i = 0; i < length; i++) bits[i] = a.bits[i] & b.bits[i];
  return compact({ bits, atMost: Math.min(a.atMost, b.atMost) });
}

/**
 * Lists are written here and then copied, since they are often much shorter than the sets that they are
 * intersections of. Without it, eight common words took new memory of half a megabyte, and every
 * seventieth such query paused for garbage collection.
 */
let workspace = new Uint32Array(0);

function workspaceOf(length: number): Uint32Array {
  if (workspace.length < length) workspace = new Uint32Array(length);
  return workspace;
}

function keepInBits(list: Uint32Array, bits: Uint32Array): NumberSet {
  const kept = workspaceOf(list.length);
  let end = 0;
  for (let i = 0; i < list.length; i++) {
    // Every number is written, but `end` grows only if it is kept: no branch can be mispredicted.
    kept[end] = list[i];
    end += bitAt(bits, list[i]);
  }
  return { list: kept.slice(0, end) };
}

/** Looks the numbers of a list up in a much longer one. */
function lookUp(short: Uint32Array, long: Uint32Array): NumberSet {
  const kept = workspaceOf(short.length);
  let end = 0;
  let at = 0;
  for (let i = 0; i < short.length && at < long.length; i++) {
    at = firstAtLeast(long, short[i], at);
    if (long[at] === short[i]) kept[end++] = short[i];
  }
  return { list: kept.slice(0, end) };
}

/**
 * Walks through two lists. Which of them advances is computed, not decided: a branch would be mispredicted
 * half of the time.
 */
function merge(short: Uint32Array, long: Uint32Array): NumberSet {
  const kept = workspaceOf(short.length);
  let end = 0;
  let i = 0;
  let j = 0;
  while (i < short.length && j < long.length) {
    // 1 if the difference is negative. Numbers are below 2³¹: an index of more would not fit into memory.
    const difference = (short[i] - long[j]) | 0;
    const isLess = difference >>> 31;
    const isMore = -difference >>> 31;
    kept[end] = short[i];
    end += 1 - isLess - isMore;
    i += 1 - isMore;
    j += 1 - isLess;
  }
  return { list: kept.slice(0, end) };
}

/** The first index, `from` or later, whose value is at least `wanted`; the length if there is none. */
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
