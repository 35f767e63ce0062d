/**
 * The limit on requests without a valid key, per client address: what makes guessing keys slow.
 *
 * The windows stand in one table of fixed size that all serving threads share: eight to a set, an
 * address has its set by its hash, and a full set forgets the one that was unused for the longest time.
 */
import { randomInt } from 'node:crypto';
import {
  admitIn,
  fillIn,
  peekIn,
  type Quota,
  RING_HEAD,
  timesIn,
  WINDOW_MS,
} from './rolling-window.ts';
import { lock, unlock } from './shared-lock.ts';

export interface AddressLimits {
  /** Handed to another thread, makes the same limits there. */
  readonly memory: SharedArrayBuffer;
  /** Counts a request without a valid key. */
  admit(address: string, now: number): Quota;
  /** Says what an address has left without counting anything. */
  peek(address: string, now: number): Quota;
  /** The windows with requests that still count, for {@link AddressLimits.restore}. */
  save(now: number): SavedAddresses;
  /**
   * Goes on with windows that another process saved; to be called before anything is counted. Windows
   * of a table of another size are ignored: another limit can have another size.
   */
  restore(saved: SavedAddresses): void;
}

/** Windows of addresses, of which only hashes are known. */
export interface SavedAddresses {
  /** The secret of the hash. */
  readonly seed: readonly [number, number];
  /** The size of the table. */
  readonly sets: number;
  readonly windows: readonly SavedAddress[];
}

export interface SavedAddress {
  /** Its set in the table, and the rest of its hash. */
  readonly set: number;
  readonly tag: number;
  /** The times at which the requests that still count were admitted, the oldest first. */
  readonly times: readonly number[];
}

const WINDOWS_PER_SET = 8;
const MOST_SETS = 8_192;
/** Pages of the table that nothing was written to take no memory. */
const MOST_BYTES = 128 * 1024 * 1024;

/** A window: the hash of its address, when it was used last, then its ring. */
const TAG = 0;
const LAST_USED = 1;
const WINDOW_HEAD = 2;

/** @param limit requests in any 60 seconds from one address */
export function makeAddressLimits(limit: number, memory = newMemory(limit)): AddressLimits {
  const { sets, cellsPerWindow } = layoutOf(limit);
  // Chosen anew by each process, so that nobody can pick addresses that share a set.
  const seed = new Uint32Array(memory, 0, 2);
  const locks = new Int32Array(memory, 8, sets);
  const cells = new Float64Array(memory, 8 + sets * 4);

  /** The set and the tag of an address. */
  function hashOf(address: string): { set: number; tag: number } {
    let a = seed[0];
    let b = seed[1];
    for (let i = 0; i < address.length; i++) {
      const code = address.charCodeAt(i);
      a = Math.imul(a ^ code, 0x9e3779b1);
      b = Math.imul(b ^ code, 0x5f356495);
    }
    a = Math.imul(a ^ (a >>> 16), 0x85ebca6b) ^ (b >>> 13);
    b = Math.imul(b ^ (b >>> 15), 0xc2b2ae35) ^ (a >>> 16);
    // 52 bits, never 0, which marks a window that is free.
    return { set: (a >>> 0) % sets, tag: (b >>> 0) * 2 ** 20 + (a >>> 12) + 1 };
  }

  /** Where the window of a tag starts in its set, or -1. */
  function find(set: number, tag: number): number {
    for (let i = 0; i < WINDOWS_PER_SET; i++) {
      const at = (set * WINDOWS_PER_SET + i) * cellsPerWindow;
      if (cells[at + TAG] === tag) return at;
    }
    return -1;
  }

  /** Makes a window for a tag; it replaces the one that was unused for the longest time. */
  function replace(set: number, tag: number): number {
    let quietest = set * WINDOWS_PER_SET * cellsPerWindow;
    for (let i = 1; i < WINDOWS_PER_SET; i++) {
      const at = (set * WINDOWS_PER_SET + i) * cellsPerWindow;
      if (cells[at + TAG] === 0 || isQuieter(at, quietest)) quietest = at;
    }
    cells.fill(0, quietest, quietest + WINDOW_HEAD + RING_HEAD);
    cells[quietest + TAG] = tag;
    return quietest;
  }

  function isQuieter(at: number, other: number): boolean {
    if (cells[other + TAG] === 0) return false;
    return cells[at + LAST_USED] < cells[other + LAST_USED];
  }

  function save(now: number): SavedAddresses {
    const windows: SavedAddress[] = [];
    for (let at = 0; at < sets * WINDOWS_PER_SET * cellsPerWindow; at += cellsPerWindow) {
      const tag = cells[at + TAG];
      if (tag === 0 || now - cells[at + LAST_USED] >= WINDOW_MS) continue;
      const times = timesIn(cells, at + WINDOW_HEAD, limit, now);
      const set = Math.floor(at / (WINDOWS_PER_SET * cellsPerWindow));
      if (times.length > 0) windows.push({ set, tag, times });
    }
    return { seed: [seed[0], seed[1]], sets, windows };
  }

  function restore(saved: SavedAddresses): void {
    if (saved.sets !== sets) return;
    seed.set(saved.seed);
    for (const { set, tag, times } of saved.windows) {
      const at = replace(set, tag);
      // If the limit was lowered, only the newest of them matter.
      const counted = times.slice(-limit);
      fillIn(cells, at + WINDOW_HEAD, counted);
      cells[at + LAST_USED] = counted.at(-1) ?? 0;
    }
  }

  return {
    memory,
    save,
    restore,
    admit(address, now) {
      const { set, tag } = hashOf(address);
      lock(locks, set);
      try {
        const known = find(set, tag);
        const at = known < 0 ? replace(set, tag) : known;
        cells[at + LAST_USED] = now;
        return admitIn(cells, at + WINDOW_HEAD, limit, limit, now);
      } finally {
        unlock(locks, set);
      }
    },
    peek(address, now) {
      const { set, tag } = hashOf(address);
      lock(locks, set);
      try {
        const at = find(set, tag);
        if (at < 0) {
          return { admitted: true, limit, remaining: limit, resetSeconds: 0, retrySeconds: 0 };
        }
        return peekIn(cells, at + WINDOW_HEAD, limit, limit, now);
      } finally {
        unlock(locks, set);
      }
    },
  };
}

function layoutOf(limit: number) {
  const cellsPerWindow = WINDOW_HEAD + RING_HEAD + limit;
  const bytesPerSet = WINDOWS_PER_SET * cellsPerWindow * 8;
  // Even, so that the numbers after the locks stand at a multiple of 8.
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
