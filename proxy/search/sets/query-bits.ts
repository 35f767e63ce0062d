/**
 * Memory for the bitsets of one query. The next query of the thread uses it again. With a million games
 * a bitset takes 134 KB; when every query took new memory, V8 paused for 7 to 17 ms after every thirty of
 * them to collect garbage.
 *
 * A set that outlives its query must be copied.
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
