/**
 * Limits requests without a valid key, per client address. This makes guessing keys slow.
 *
 * The windows are in one table of fixed size that all serving threads share. The table consists of sets
 * of eight windows. The hash of an address selects its set. In a full set, a new address replaces the
 * window that has not been used for the longest time.
 */
import { randomInt } from 'node:crypto';
import type { LimitWindow } from './limiter.ts';
import { admitIn, peekIn, type Quota, RING_HEAD, type Ring, recordIn } from './rolling-window.ts';
import { lock, unlock } from './shared-lock.ts';

export interface AddressLimits {
  /** Pass this to {@link makeAddressLimits} in another thread to share the same limits. */
  readonly memory: SharedArrayBuffer;
  /** How many requests one address may make in any 60 seconds. */
  readonly limit: number;
  /** Counts a request of an address. @param most a lower limit */
  admit(address: string, now: number, most?: number): Quota;
  /** The window of an address. */
  windowOf(address: string): LimitWindow;
}

const WINDOWS_PER_SET = 8;
const MOST_SETS = 8_192;
/** Memory pages of the table that were never written to take no physical memory. */
const MOST_BYTES = 128 * 1024 * 1024;

/** The layout of a window: the tag of its address, the time when it was last used, then its ring. */
const TAG = 0;
const LAST_USED = 1;
const WINDOW_HEAD = 2;

/** @param limit how many requests one address may make in any 60 seconds */
export function makeAddressLimits(limit: number, memory = newMemory(limit)): AddressLimits {
  const { sets, cellsPerWindow } = layoutOf(limit);
  // The seed is random, so that nobody can find addresses that share a set.
  const seed = new Uint32Array(memory, 0, 2);
  const locks = new Int32Array(memory, 8, sets);
  const cells = new Float64Array(memory, 8 + sets * 4);
  const { find, replace } = makeWindowTable(cells, cellsPerWindow);
  /** The ring of the window that starts at an index of `cells`. */
  const ringOf = (at: number): Ring => ({ cells, base: at + WINDOW_HEAD, capacity: limit });

  /** The ring of an address, under the caller's lock. */
  function ringFor(set: number, tag: number, now: number): Ring {
    const found = find(set, tag);
    const at = found < 0 ? replace(set, tag) : found;
    cells[at + LAST_USED] = now;
    return ringOf(at);
  }

  function windowOf(address: string): LimitWindow {
    const { set, tag } = hashOf(address, seed, sets);

    function withLock<T>(work: () => T): T {
      lock(locks, set);
      try {
        return work();
      } finally {
        unlock(locks, set);
      }
    }

    return {
      admit: (most, now) => withLock(() => admitIn(ringFor(set, tag, now), most, now)),
      record: (now) => withLock(() => recordIn(ringFor(set, tag, now), now)),
      peek: (most, now) =>
        withLock(() => {
          const at = find(set, tag);
          if (at < 0) return { admitted: true, limit: most, remaining: most, resetSeconds: 0 };
          return peekIn(ringOf(at), most, now);
        }),
    };
  }

  return {
    memory,
    limit,
    admit: (address, now, most = limit) => windowOf(address).admit(most, now),
    windowOf,
  };
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

/** Finds and replaces windows in their sets. The caller holds the lock of the set. */
function makeWindowTable(cells: Float64Array, cellsPerWindow: number) {
  /** Whether a window was last used before another one. A free window counts as the oldest. */
  function isOlder(at: number, other: number): boolean {
    if (cells[other + TAG] === 0) return false;
    return cells[at + LAST_USED] < cells[other + LAST_USED];
  }

  return {
    /** The index in `cells` at which the window of a tag starts; -1 if there is none. */
    find(set: number, tag: number): number {
      for (let i = 0; i < WINDOWS_PER_SET; i++) {
        const at = (set * WINDOWS_PER_SET + i) * cellsPerWindow;
        if (cells[at + TAG] === tag) return at;
      }
      return -1;
    },
    /** Gives a tag a free window of its set or, if there is none, the least recently used one. */
    replace(set: number, tag: number): number {
      let oldest = set * WINDOWS_PER_SET * cellsPerWindow;
      for (let i = 1; i < WINDOWS_PER_SET; i++) {
        const at = (set * WINDOWS_PER_SET + i) * cellsPerWindow;
        if (cells[at + TAG] === 0 || isOlder(at, oldest)) oldest = at;
      }
      cells.fill(0, oldest, oldest + WINDOW_HEAD + RING_HEAD);
      cells[oldest + TAG] = tag;
      return oldest;
    },
  };
}

function layoutOf(limit: number) {
  const cellsPerWindow = WINDOW_HEAD + RING_HEAD + limit;
  const bytesPerSet = WINDOWS_PER_SET * cellsPerWindow * 8;
  // Even, so that the numbers after the locks start at a multiple of 8 bytes.
  const sets = Math.max(2, Math.floor(Math.min(MOST_SETS, MOST_BYTES / bytesPerSet) / 2) * 2);
  return { sets, cellsPerWindow, bytesPerSet };
}

function newMemory(limit: number): SharedArrayBuffer {
  const { sets, bytesPerSet } = layoutOf(limit);
  const memory = new SharedArrayBuffer(8 + sets * 4 + sets * bytesPerSet);
  const seed = new Uint32Array(memory, 0, 2);
  seed[0] = randomInt(2 ** 32);
  seed[1] = randomInt(2 ** 32);
  return memory;
}
