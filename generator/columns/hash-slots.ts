/**
 * Slots of open hash tables: each holds an entry's number and one, or 0 where it is free. They are
 * kept at most half full, and in number a power of two.
 */

export type HashSlots = Uint32Array<ArrayBuffer>;

/** The first free slot for a hash. */
export function freeSlot(slots: HashSlots, hash: number): number {
  const mask = slots.length - 1;
  let slot = hash & mask;
  while (slots[slot] !== 0) slot = (slot + 1) & mask;
  return slot;
}

/** Twice as many slots with the same entries. @param hashes by the entries' numbers */
export function doubledSlots(slots: HashSlots, hashes: ArrayLike<number>): HashSlots {
  const larger = new Uint32Array(slots.length * 2);
  for (const entry of slots) {
    if (entry !== 0) larger[freeSlot(larger, hashes[entry - 1])] = entry;
  }
  return larger;
}
