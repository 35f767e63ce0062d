/**
 * Numbers texts in the order that they are met. Those of ASCII, which are nearly all and met by the
 * million, are looked up by their bytes, and no string is made of them until the end.
 */
import { doubledSlots, freeSlot, type HashSlots } from './hash-slots.ts';

export interface TextNumbers {
  /** The number of a text; a new one gets the next. */
  numberOf(text: string): number;
  /**
   * As {@link numberOf}, of the text that stands in ASCII from one place to before another.
   * @returns -1 when it is not ASCII
   */
  numberOfBytes(bytes: Uint8Array, from: number, to: number): number;
  /** All texts, by number. */
  texts(): string[];
}

export function makeTextNumbers(): TextNumbers {
  const others = new Map<string, number>();
  // By number: the hash of an ASCII text and where it stands in the pool, up to the start of the
  // next; any other has no bytes there.
  const hashes: number[] = [];
  const start = [0];
  let pool = Buffer.allocUnsafeSlow(16 * 1024);
  // The number of each ASCII text and one; at most half full.
  let slots: HashSlots = new Uint32Array(2048);
  let scratch = new Uint8Array(256);

  function add(hash: number, bytes: Uint8Array, from: number, to: number): number {
    let used = start.at(-1) as number;
    if (used + to - from > pool.length) {
      const larger = Buffer.allocUnsafeSlow((used + to - from) * 2);
      pool.copy(larger, 0, 0, used);
      pool = larger;
    }
    for (let at = from; at < to; at++) pool[used++] = bytes[at];
    start.push(used);
    const entry = hashes.push(hash);
    if (entry * 2 > slots.length) slots = doubledSlots(slots, hashes);
    slots[freeSlot(slots, hash)] = entry;
    return entry - 1;
  }

  function isAt(number: number, bytes: Uint8Array, from: number, to: number): boolean {
    const first = start[number];
    if (start[number + 1] - first !== to - from) return false;
    for (let at = from; at < to; at++) if (pool[first + at - from] !== bytes[at]) return false;
    return true;
  }

  function numberOfBytes(bytes: Uint8Array, from: number, to: number): number {
    let hash = 0;
    let bits = 0;
    for (let at = from; at < to; at++) {
      const byte = bytes[at];
      bits |= byte;
      hash = Math.imul(hash ^ byte, 0x01000193);
    }
    if (bits > 0x7f) return -1;
    hash ^= hash >>> 15;
    const mask = slots.length - 1;
    for (let slot = hash & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const number = slots[slot] - 1;
      if (hashes[number] === hash && isAt(number, bytes, from, to)) return number;
    }
    return add(hash, bytes, from, to);
  }

  return {
    numberOf(text) {
      if (scratch.length < text.length) scratch = new Uint8Array(text.length * 2);
      for (let i = 0; i < text.length; i++) {
        const unit = text.charCodeAt(i);
        if (unit > 0x7f) {
          const known = others.get(text);
          if (known !== undefined) return known;
          start.push(start.at(-1) as number);
          const number = hashes.push(0) - 1;
          others.set(text, number);
          return number;
        }
        scratch[i] = unit;
      }
      return numberOfBytes(scratch, 0, text.length);
    },
    numberOfBytes,
    texts() {
      const texts = hashes.map((_, number) =>
        pool.toString('latin1', start[number], start[number + 1]),
      );
      for (const [text, number] of others) texts[number] = text;
      return texts;
    },
  };
}
