/**
 * Limits requests without a valid key, per client address. This makes guessing keys slow.
 *
 * The windows are in one table of fixed size that all serving threads share. The hash of an address selects
 * a set of eight windows. In a full set, a new address replaces the one that was admitted least recently.
 */
import { randomBytes } from 'node:crypto';
import {
  type LimitWindow,
  NEWEST,
  type Quota,
  RING_HEAD,
  Ring,
  withLock,
} from './rolling-window.ts';

const WINDOWS_PER_SET = 8;
const MOST_SETS = 8_192;
/** Memory pages of the table that were never written to take no physical memory. */
const MOST_BYTES = 128 * 1024 * 1024;
const SEED_BYTES = 8;

export class AddressLimits {
  /** How many requests one address may make in any 60 seconds. */
  readonly limit: number;
  /** Another thread can share the limits with it. */
  readonly memory: SharedArrayBuffer;
  private readonly cellsPerWindow: number;
  private readonly seed: Uint32Array;
  private readonly locks: Int32Array;
  private readonly cells: Float64Array;

  constructor(limit: number, memory = newMemory(limit)) {
    const { sets, cellsPerWindow } = layoutOf(limit);
    this.limit = limit;
    this.memory = memory;
    this.cellsPerWindow = cellsPerWindow;
    this.seed = new Uint32Array(memory, 0, 2);
    this.locks = new Int32Array(memory, SEED_BYTES, sets);
    this.cells = new Float64Array(memory, SEED_BYTES + sets * 4);
  }

  /** Counts a request of an address. @param most a lower limit */
  admit(address: string, now: number, most = this.limit): Quota {
    return this.windowOf(address).admit(most, now);
  }

  windowOf(address: string): LimitWindow {
    const { locks } = this;
    const { set, tag } = hashOf(address, this.seed, locks.length);
    return {
      admit: (most, now, isCounted = true) =>
        withLock(locks, set, () => {
          const at = this.find(set, tag);
          // Only to look, no other address loses its window.
          const isFree = !isCounted && this.cells[at] !== tag;
          if (isFree) return { admitted: true, limit: most, remaining: most, resetSeconds: 0 };
          return this.ringAt(at, tag).admit(most, now, isCounted);
        }),
      record: (now) =>
        withLock(locks, set, () => this.ringAt(this.find(set, tag), tag).record(now)),
    };
  }

  /** The index in `cells` of the window with a tag or, without one, of the window to replace. */
  private find(set: number, tag: number): number {
    const { cells, cellsPerWindow } = this;
    const start = set * WINDOWS_PER_SET * cellsPerWindow;
    const newestIn = (at: number) => cells[at + 1 + NEWEST];
    let oldest = start;
    for (let i = 0; i < WINDOWS_PER_SET; i++) {
      const at = start + i * cellsPerWindow;
      if (cells[at] === tag) return at;
      if (newestIn(at) < newestIn(oldest)) oldest = at;
    }
    return oldest;
  }

  /** The ring of a window, which is a new one if the window has another tag. */
  private ringAt(at: number, tag: number): Ring {
    const { cells } = this;
    const ring = cells.subarray(at + 1, at + this.cellsPerWindow);
    if (cells[at] !== tag) ring.fill(0, 0, RING_HEAD);
    cells[at] = tag;
    return new Ring(ring);
  }
}

/** The set and the tag of an address. */
function hashOf(address: string, seed: Uint32Array, sets: number): { set: number; tag: number } {
  let a = seed[0];
  let b = seed[1];
  for (let i = 0; i < address.length; i++) {
    const code = address.charCodeAt(i);
    a = Math.imul(a ^ code, 0x9e3779b1);
    b = Math.imul(b ^ code, 0x5f356495);
  }
  a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ (b >>> 13);
  b = Math.imul(b ^ (b >>> 15), 0xc2b2ae35) ^ (a >>> 16);
  // The tag has 52 bits and is never 0, which marks a free window.
  return { set: (a >>> 0) % sets, tag: (b >>> 0) * 2 ** 20 + (a >>> 12) + 1 };
}

/** A window is a tag of its address and a ring. */
function layoutOf(limit: number) {
  const cellsPerWindow = 1 + RING_HEAD + limit;
  const bytesPerSet = WINDOWS_PER_SET * cellsPerWindow * 8;
  // Even, so that the numbers after the locks start at a multiple of 8 bytes.
  const sets = Math.max(2, Math.floor(Math.min(MOST_SETS, MOST_BYTES / bytesPerSet) / 2) * 2);
  return { sets, cellsPerWindow, bytes: SEED_BYTES + sets * (4 + bytesPerSet) };
}

function newMemory(limit: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(layoutOf(limit).bytes);
  // So that nobody can find addresses that share a set.
  new Uint8Array(memory).set(randomBytes(SEED_BYTES));
  return memory;
}
