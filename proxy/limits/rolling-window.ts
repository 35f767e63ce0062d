/**
 * An exact rate limit over a rolling minute. The times of the last admitted requests are kept in a ring
 * buffer, in memory that all serving threads share.
 *
 * Invariant: in any 60 seconds at most `limit` requests are admitted, whichever threads receive them.
 * A request is refused only if `limit` requests were admitted in the 60 seconds before it. A limit per
 * fixed minute would admit nearly twice as many in some 60 seconds.
 */
import { lock, unlock } from './shared-lock.ts';

/** What a caller has left. The three X-RateLimit headers report it. */
export interface Quota {
  readonly admitted: boolean;
  readonly limit: number;
  readonly remaining: number;
  /**
   * Whole seconds until `remaining` grows; 0 if the full quota is available now. After a refused request
   * this is at least 1, and a request will be admitted then.
   */
  readonly resetSeconds: number;
}

/** One caller's window. Times are milliseconds of one monotonic clock, never of the wall clock. */
export interface RollingWindow {
  /** Pass this to {@link openRollingWindow} in another thread to share the window. */
  readonly memory: SharedArrayBuffer;
  /** How many times the ring can hold: the largest limit that the window can enforce. */
  readonly capacity: number;
  /**
   * Counts the request if the limit allows it.
   * @param limit at most the capacity
   */
  admit(limit: number, now: number): Quota;
  /** Counts a request that was admitted elsewhere, whatever the limit. */
  record(now: number): void;
  /** Returns what is left, without counting anything. */
  peek(limit: number, now: number): Quota;
  /** When a request was last admitted; -Infinity if none ever was. */
  lastAdmitted(): number;
  /** The times at which the requests that still count were admitted, the oldest first. */
  times(now: number): number[];
}

/** How long an admitted request counts. */
export const WINDOW_MS = 60_000;

/**
 * A ring buffer with the times of admitted requests, within an array of numbers. Whoever uses it holds
 * the lock of the window.
 */
export interface Ring {
  readonly cells: Float64Array;
  /** The index at which the ring starts in `cells`. */
  readonly base: number;
  /** How many times it can hold. */
  readonly capacity: number;
}

/**
 * The layout of a ring, as numbers: the position of the oldest time, the count of times, the newest
 * time ever, then the times.
 */
const HEAD = 0;
const COUNT = 1;
const NEWEST = 2;
export const RING_HEAD = 3;

/** The layout of a window's memory: its lock, in as many bytes as a number, then its ring. */
const LOCK = 0;
const LOCK_BYTES = 8;

/**
 * @param capacity the largest limit that the window will be used with
 * @param times when earlier requests were admitted: at most `capacity` times, the oldest first
 */
export function makeRollingWindow(capacity: number, times: readonly number[] = []): RollingWindow {
  const memory = new SharedArrayBuffer(LOCK_BYTES + 8 * (RING_HEAD + capacity));
  fillIn({ cells: new Float64Array(memory, LOCK_BYTES), base: 0, capacity }, times);
  return openRollingWindow(memory);
}

/** Opens a window whose memory was created before, possibly by another thread. */
export function openRollingWindow(memory: SharedArrayBuffer): RollingWindow {
  const state = new Int32Array(memory, 0, 1);
  const cells = new Float64Array(memory, LOCK_BYTES);
  const capacity = cells.length - RING_HEAD;
  const ring: Ring = { cells, base: 0, capacity };

  function withLock<T>(work: () => T): T {
    lock(state, LOCK);
    try {
      return work();
    } finally {
      unlock(state, LOCK);
    }
  }

  return {
    memory,
    capacity,
    admit: (limit, now) => withLock(() => admitIn(ring, limit, now)),
    record: (now) => withLock(() => recordIn(ring, now)),
    peek: (limit, now) => withLock(() => peekIn(ring, limit, now)),
    times: (now) => withLock(() => timesIn(ring, now)),
    lastAdmitted() {
      const isUsed = cells[COUNT] !== 0 || cells[NEWEST] !== 0;
      return isUsed ? cells[NEWEST] : Number.NEGATIVE_INFINITY;
    },
  };
}

/** Counts a request if the limit, at most the capacity of the ring, allows it. */
export function admitIn(ring: Ring, limit: number, now: number): Quota {
  // The clocks of threads differ by microseconds. A time before the newest would unsort the ring.
  const time = inOrder(ring, now);
  expire(ring, time);
  const admitted = countIn(ring) < limit;
  if (admitted) append(ring, time);
  return quotaOf(ring, limit, admitted, time);
}

/**
 * Counts a request in a ring that was admitted elsewhere. In a full ring it replaces the oldest time,
 * which then no longer counts where the request was admitted.
 */
export function recordIn(ring: Ring, now: number): void {
  const { cells, base, capacity } = ring;
  const time = inOrder(ring, now);
  expire(ring, time);
  if (countIn(ring) === capacity) {
    cells[base + HEAD] = (cells[base + HEAD] + 1) % capacity;
    cells[base + COUNT]--;
  }
  append(ring, time);
}

/** Returns what is left in a ring, without counting a request. `admitted` says whether one would be. */
export function peekIn(ring: Ring, limit: number, now: number): Quota {
  const time = inOrder(ring, now);
  expire(ring, time);
  return quotaOf(ring, limit, countIn(ring) < limit, time);
}

/** The times at which the requests of a ring that still count were admitted, the oldest first. */
function timesIn(ring: Ring, now: number): number[] {
  const times = Array.from({ length: countIn(ring) }, (_, position) => timeAt(ring, position));
  return times.filter((time) => now - time < WINDOW_MS);
}

/** Puts times, the oldest first, into an empty ring that has room for them. */
function fillIn({ cells, base }: Ring, times: readonly number[]): void {
  cells.set(times, base + RING_HEAD);
  cells[base + COUNT] = times.length;
  cells[base + NEWEST] = times.at(-1) ?? 0;
}

function countIn({ cells, base }: Ring): number {
  return cells[base + COUNT];
}

function append({ cells, base, capacity }: Ring, time: number): void {
  const position = (cells[base + HEAD] + cells[base + COUNT]) % capacity;
  cells[base + RING_HEAD + position] = time;
  cells[base + NEWEST] = time;
  cells[base + COUNT]++;
}

/** The present time, but not before the newest time in the ring. */
function inOrder({ cells, base }: Ring, now: number): number {
  return cells[base + COUNT] === 0 ? now : Math.max(now, cells[base + NEWEST]);
}

function timeAt({ cells, base, capacity }: Ring, position: number): number {
  const at = (cells[base + HEAD] + position) % capacity;
  return cells[base + RING_HEAD + at];
}

/** Removes the times that no longer count. */
function expire({ cells, base, capacity }: Ring, now: number): void {
  let head = cells[base + HEAD];
  let count = cells[base + COUNT];
  while (count > 0 && now - cells[base + RING_HEAD + head] >= WINDOW_MS) {
    head = head + 1 === capacity ? 0 : head + 1;
    count--;
  }
  cells[base + HEAD] = head;
  cells[base + COUNT] = count;
}

function quotaOf(ring: Ring, limit: number, admitted: boolean, now: number): Quota {
  const count = countIn(ring);
  // Not `time + WINDOW_MS - now`: rounding errors make that slightly over a minute, which gives 61 s.
  const untilFree = (time: number) => Math.ceil((WINDOW_MS - (now - time)) / 1000);
  return {
    admitted,
    limit,
    // After the limit was lowered, the count can exceed it. The requests count until they expire, since
    // the limit may be raised again.
    remaining: Math.max(0, limit - count),
    resetSeconds: count === 0 ? 0 : untilFree(timeAt(ring, Math.max(0, count - limit))),
  };
}
