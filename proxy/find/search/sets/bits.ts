/** Bits in an array of 32-bit numbers: bit i is bit `i % 32` of the number at `i >>> 5`. */

/** The bit at an index: 0 or 1. */
export function bitAt(bits: Uint32Array, index: number): number {
  return (bits[index >>> 5] >>> (index & 31)) & 1;
}

export function setBit(bits: Uint32Array, index: number): void {
  bits[index >>> 5] |= 1 << (index & 31);
}

/**
 * How many bits of an array are 1. A function of its own, since V8 then keeps the loop optimised for both
 * forms of sets. Inside `sizeOf`, the loop stayed five times as slow in about half of all processes.
 */
export function countBits(bits: Uint32Array): number {
  let count = 0;
  for (let i = 0; i < bits.length; i++) count += onesIn(bits[i]);
  return count;
}

/** How many bits of a number are 1. */
export function onesIn(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** The index of the lowest bit of a number that is 1; the number must not be 0. */
export function lowestBit(word: number): number {
  return 31 - Math.clz32(word & -word);
}

/*
 * Memory for the bitsets of one query, which the next query of the thread uses again. With a million games
 * a bitset takes 134 KB; when every query took new memory, V8 paused for 7 to 17 ms after every thirty of
 * them to collect garbage. A set that outlives its query must be copied.
 */

/** Further bitsets of a query get memory of their own. With a million games, these take 4 MB. */
const MOST_REUSED = 32;

const memory: Uint32Array[] = [];
let used = 0;

/** Makes the memory of all bitsets of the last query available again. */
export function startQuery(): void {
  used = 0;
}

/** A bitset without any bit set. @param length in blocks of 32 bits */
export function newBits(length: number): Uint32Array {
  return take(length).fill(0);
}

export function copyBits(bits: Uint32Array): Uint32Array {
  const copy = take(bits.length);
  copy.set(bits);
  return copy;
}

/** Memory with any content. */
function take(length: number): Uint32Array {
  if (used === MOST_REUSED) return new Uint32Array(length);
  const at = used++;
  if (memory.length === at || memory[at].length < length) memory[at] = new Uint32Array(length);
  return memory[at].subarray(0, length);
}
