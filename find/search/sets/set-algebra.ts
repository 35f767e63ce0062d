/**
 * Unions, intersections and differences of sets of numbers. No method changes the sets that it gets. Bits
 * are in the memory of the query: a set that outlives it must be copied.
 */
import { firstIndex } from '../../../lib/columns/arrays.ts';
import { bitAt, onesIn, setBit } from '../../../lib/columns/bits.ts';
import {
  addTo,
  atMost,
  cardinality,
  compact,
  EMPTY,
  forEach,
  isEmpty,
  LONGEST_SORTED,
  type NumberBits,
  type NumberSet,
} from './number-set.ts';

/** Further bitsets of a query get memory of their own. With a million games, these take 4 MB. */
const MOST_REUSED = 32;

/**
 * Memory for the sets of one query, which the next query uses again. With a million games a bitset takes
 * 134 KB; when every query took new memory, V8 paused for 7 to 17 ms after every thirty of them to collect
 * garbage. A set that outlives its query must be copied.
 */
export class QueryMemory {
  private readonly bitsets: Uint32Array[] = [];
  private used = 0;
  private list = new Uint32Array(0);

  /** Makes the memory of all bitsets of the last query available again. */
  startQuery(): void {
    this.used = 0;
  }

  /** A bitset with any content. @param length in blocks of 32 bits */
  takeBits(length: number): Uint32Array {
    if (this.used === MOST_REUSED) return new Uint32Array(length);
    const at = this.used++;
    let bits = this.bitsets[at];
    // A catalogue without games has sets of length 0.
    if (bits === undefined || bits.length < length) {
      bits = new Uint32Array(length);
      this.bitsets[at] = bits;
    }
    return bits.subarray(0, length);
  }

  /**
   * A list with at least this length and any content, valid until the next call. Results are written here
   * and then copied, since they are often much shorter than the sets that they come from. Without it, eight
   * common words took half a megabyte of new memory.
   */
  scratchList(length: number): Uint32Array {
    if (this.list.length < length) this.list = new Uint32Array(length);
    return this.list;
  }
}

/**
 * If a list is more than this many times as long as another, it is searched with doubling strides.
 * Intersecting 100 numbers with 31,000 then takes 6 µs instead of 31 µs.
 */
const UNEVEN = 8;

export class SetAlgebra<N extends number = number> {
  /** Every number of these sets is less than this: the number of games, or of variants. */
  readonly below: number;
  readonly memory: QueryMemory;

  constructor(below: number, memory: QueryMemory) {
    this.below = below;
    this.memory = memory;
  }

  /** A bitset without any bit set. */
  emptyBits(): Uint32Array {
    return this.memory.takeBits(Math.ceil(this.below / 32)).fill(0);
  }

  /** The same set as bits. */
  toBits(set: NumberSet<N>): NumberBits {
    if (set.bits !== undefined) return set;
    const bits = this.emptyBits();
    addTo(bits, set);
    return { bits, atMost: set.list.length };
  }

  copyBits(bits: Uint32Array): Uint32Array {
    const copy = this.memory.takeBits(bits.length);
    copy.set(bits);
    return copy;
  }

  /** The union of lists. @param lists in any order; they may overlap, and need not ascend */
  union(lists: readonly Uint32Array[]): NumberSet<N> {
    const total = lists.reduce((sum, { length }) => sum + length, 0);
    if (total > LONGEST_SORTED) {
      const bits = this.emptyBits();
      for (const list of lists) addTo(bits, { list });
      return { bits, atMost: Math.min(total, this.below) };
    }
    const all = new Uint32Array(total);
    let end = 0;
    for (const list of lists) {
      all.set(list, end);
      end += list.length;
    }
    return { list: withoutRepeats(all.sort()) };
  }

  /** The numbers that are in any of the sets. */
  unite(sets: readonly NumberSet<N>[]): NumberSet<N> {
    const filled = sets.filter((set) => !isEmpty(set));
    if (filled.length < 2) return filled[0] ?? EMPTY;
    const large = filled.find(({ bits }) => bits !== undefined)?.bits;
    if (large === undefined) return this.union(filled.flatMap(({ list }) => list ?? []));
    const bits = this.copyBits(large);
    for (const set of filled) if (set.bits !== large) addTo(bits, set);
    const total = filled.reduce((sum, set) => sum + atMost(set), 0);
    return { bits, atMost: Math.min(total, this.below) };
  }

  /** The numbers of a set that are not in a bitset. */
  subtract(set: NumberSet<N>, removed: Uint32Array): NumberSet<N> {
    if (set.list !== undefined) {
      return { list: set.list.filter((number) => bitAt(removed, number) === 0) };
    }
    const bits = this.copyBits(set.bits);
    for (let i = 0; i < bits.length; i++) bits[i] &= ~removed[i];
    return compact({ bits, atMost: set.atMost });
  }

  /** The numbers of a set that pass a test, which gets them in ascending order. */
  filter(set: NumberSet<N>, passes: (number: number) => boolean): NumberSet<N> {
    if (set.list !== undefined) return { list: set.list.filter(passes) };
    const bits = this.emptyBits();
    forEach(set, (number) => {
      if (passes(number)) setBit(bits, number);
    });
    return compact({ bits, atMost: set.atMost });
  }

  /** The numbers that are in all of the sets, of which there is at least one. */
  intersect(sets: readonly NumberSet<N>[]): NumberSet<N> {
    const smallestFirst = [...new Set(sets)].sort((a, b) => atMost(a) - atMost(b));
    return smallestFirst.reduce((result, set) =>
      isEmpty(result) ? EMPTY : this.intersectTwo(result, set),
    );
  }

  /** How many numbers are in both sets. */
  sizeOfBoth(a: NumberSet<N>, b: NumberSet<N>): number {
    if (a.list !== undefined || b.list !== undefined) return cardinality(this.intersect([a, b]));
    let size = 0;
    for (let i = 0; i < a.bits.length; i++) size += onesIn(a.bits[i] & b.bits[i]);
    return size;
  }

  /** Of two lists, the first is the shorter one. Of long lists of like lengths, bits are the fastest. */
  private intersectTwo(a: NumberSet<N>, b: NumberSet<N>): NumberSet<N> {
    if (a.list === undefined) {
      return b.list === undefined ? this.intersectBits(a, b) : this.keepInBits(b.list, a.bits);
    }
    if (b.list === undefined) return this.keepInBits(a.list, b.bits);
    const isUneven = b.list.length > a.list.length * UNEVEN;
    if (isUneven || b.list.length <= LONGEST_SORTED) return this.lookUp(a.list, b.list);
    return this.keepInBits(a.list, this.toBits(b).bits);
  }

  private intersectBits(a: NumberBits, b: NumberBits): NumberSet<N> {
    const { length } = a.bits;
    const bits = this.memory.takeBits(length);
    for (let i = 0; i < length; i++) bits[i] = a.bits[i] & b.bits[i];
    return compact({ bits, atMost: Math.min(a.atMost, b.atMost) });
  }

  private keepInBits(list: Uint32Array, bits: Uint32Array): NumberSet<N> {
    const kept = this.memory.scratchList(list.length);
    let end = 0;
    for (let i = 0; i < list.length; i++) {
      // Every number is written, but `end` grows only if it is kept: no branch can be mispredicted.
      kept[end] = list[i];
      end += bitAt(bits, list[i]);
    }
    return { list: kept.slice(0, end) };
  }

  /** Looks the numbers of a list up in one that is not shorter. */
  private lookUp(short: Uint32Array, long: Uint32Array): NumberSet<N> {
    const kept = this.memory.scratchList(short.length);
    let end = 0;
    let at = 0;
    for (let i = 0; i < short.length; i++) {
      at = firstAtLeast(long, short[i], at);
      if (at === long.length) break;
      if (long[at] === short[i]) kept[end++] = short[i];
    }
    return { list: kept.slice(0, end) };
  }
}

function withoutRepeats(sorted: Uint32Array): Uint32Array {
  let end = 0;
  for (let i = 0; i < sorted.length; i++) {
    if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[end++] = sorted[i];
  }
  return sorted.subarray(0, end);
}

/** The first index, `from` or later, whose value is at least `wanted`; the length if there is none. */
function firstAtLeast(list: Uint32Array, wanted: number, from: number): number {
  let stride = 1;
  let low = from;
  while (low + stride < list.length && list[low + stride] < wanted) {
    low += stride;
    stride *= 2;
  }
  return firstIndex(low, Math.min(low + stride, list.length), (at) => list[at] >= wanted);
}
