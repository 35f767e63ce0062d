/**
 * The exact rolling-minute limit: the times of the last admitted requests in a ring, in memory that
 * all serving threads share.
 *
 * Invariant: in any 60 seconds at most `limit` requests are admitted, whichever threads they came
 * to, and one is refused only when `limit` were admitted in the 60 seconds before it. A fixed window
 * would admit nearly twice that.
 */
import { lock, unlock } from './shared-lock.ts';

/** What a caller has left; also what the three X-RateLimit headers say. */
export interface Quota {
  readonly admitted: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until the full quota is back; 0 when it is. */
  readonly resetSeconds: number;
  /** Whole seconds, at least 1, after which a request is admitted; 0 when this one was. */
  readonly retrySeconds: number;
}

/** One caller's window. Times are milliseconds of one monotonic clock, never of the wall clock. */
export interface RollingWindow {
  /** Handed to another thread, makes the same window there. */
  readonly memory: SharedArrayBuffer;
  /** The largest limit that it can hold. */
  readonly capacity: number;
  /**
   * Counts the request if the limit allows it.
   * @param limit at most the capacity
   * @returns undefined once the window was replaced by a larger one
   */
  admit(limit: number, now: number): Quota | undefined;
  /** Says what is left without counting anything. */
  peek(limit: number, now: number): Quota | undefined;
  /** When a request was admitted last; -Infinity before the first. */
  lastAdmitted(): number;
  /** The times at which the requests that still count were admitted, the oldest first. */
  times(now: number): number[];
  /** Moves everything into one of {@link makeLargerWindow}, which replaces it in every thread. */
  moveTo(larger: RollingWindow): void;
}

/** How long an admitted request counts. */
export const WINDOW_MS = 60_000;

/**
 * A ring of times as a run of numbers: where the oldest stands, how many there are, when the newest
 * ever was, then the times.
 */
const HEAD = 0;
const COUNT = 1;
const NEWEST = 2;
export const RING_HEAD = 3;

/** The memory of a window of its own: its lock and whether it has moved, then the ring. */
const LOCK = 0;
const MOVED = 1;
const STATE_BYTES = 8;

/**
 * @param capacity the largest limit that it will be used with
 * @param times of requests that were admitted before, at most the capacity, the oldest first
 */
export function makeRollingWindow(capacity: number, times: readonly number[] = []): RollingWindow {
  const memory = new SharedArrayBuffer(STATE_BYTES + 8 * (RING_HEAD + capacity));
  fillIn(new Float64Array(memory, STATE_BYTES), 0, times);
  return openRollingWindow(memory);
}

/** A window that makes every caller wait until another one was moved into it. */
export function makeLargerWindow(capacity: number): RollingWindow {
  const window = makeRollingWindow(capacity);
  lock(new Int32Array(window.memory, 0, 2), LOCK);
  return window;
}

/** The same window in another thread. */
export function openRollingWindow(memory: SharedArrayBuffer): RollingWindow {
  const state = new Int32Array(memory, 0, 2);
  const cells = new Float64Array(memory, STATE_BYTES);
  const capacity = cells.length - RING_HEAD;
  return {
    memory,
    capacity,
    admit(limit, now) {
      lock(state, LOCK);
      try {
        return state[MOVED] === 1 ? undefined : admitIn(cells, 0, capacity, limit, now);
      } finally {
        unlock(state, LOCK);
      }
    },
    peek(limit, now) {
      lock(state, LOCK);
      try {
        return state[MOVED] === 1 ? undefined : peekIn(cells, 0, capacity, limit, now);
      } finally {
        unlock(state, LOCK);
      }
    },
    lastAdmitted() {
      const isUsed = cells[COUNT] !== 0 || cells[NEWEST] !== 0;
      return isUsed ? cells[NEWEST] : Number.NEGATIVE_INFINITY;
    },
    times(now) {
      lock(state, LOCK);
      try {
        return timesIn(cells, 0, capacity, now);
      } finally {
        unlock(state, LOCK);
      }
    },
    moveTo(larger) {
      const target = new Float64Array(larger.memory, STATE_BYTES);
      lock(state, LOCK);
      try {
        const count = cells[COUNT];
        for (let position = 0; position < count; position++) {
          target[RING_HEAD + position] = timeAt(cells, 0, capacity, position);
        }
        target[COUNT] = count;
        target[NEWEST] = cells[NEWEST];
        state[MOVED] = 1;
      } finally {
        unlock(state, LOCK);
        unlock(new Int32Array(larger.memory, 0, 2), LOCK);
      }
    },
  };
}

/**
 * Counts a request in the ring that starts at `base`, under the caller's lock.
 * @param capacity of the ring, at least the limit
 */
export function admitIn(
  cells: Float64Array,
  base: number,
  capacity: number,
  limit: number,
  now: number,
): Quota {
  // Clocks of threads agree but for microseconds: a time before the newest would unsort the ring.
  const time = inOrder(cells, base, now);
  expire(cells, base, capacity, time);
  const count = cells[base + COUNT];
  if (count >= limit) return quotaOf(cells, base, capacity, false, limit, time);
  const position = (cells[base + HEAD] + count) % capacity;
  cells[base + RING_HEAD + position] = time;
  cells[base + NEWEST] = time;
  cells[base + COUNT] = count + 1;
  return quotaOf(cells, base, capacity, true, limit, time);
}

/** What {@link admitIn} would say, without counting. */
export function peekIn(
  cells: Float64Array,
  base: number,
  capacity: number,
  limit: number,
  now: number,
): Quota {
  const time = inOrder(cells, base, now);
  expire(cells, base, capacity, time);
  return quotaOf(cells, base, capacity, cells[base + COUNT] < limit, limit, time);
}

/** The times at which the requests of a ring that still count were admitted, the oldest first. */
export function timesIn(
  cells: Float64Array,
  base: number,
  capacity: number,
  now: number,
): number[] {
  const count = cells[base + COUNT];
  const times = Array.from({ length: count }, (_, position) =>
    timeAt(cells, base, capacity, position),
  );
  return times.filter((time) => now - time < WINDOW_MS);
}

/** Puts times, the oldest first, into an empty ring that has room for them. */
export function fillIn(cells: Float64Array, base: number, times: readonly number[]): void {
  cells.set(times, base + RING_HEAD);
  cells[base + COUNT] = times.length;
  cells[base + NEWEST] = times.at(-1) ?? 0;
}

function inOrder(cells: Float64Array, base: number, now: number): number {
  return cells[base + COUNT] === 0 ? now : Math.max(now, cells[base + NEWEST]);
}

function timeAt(cells: Float64Array, base: number, capacity: number, position: number): number {
  const at = (cells[base + HEAD] + position) % capacity;
  return cells[base + RING_HEAD + at];
}

function expire(cells: Float64Array, base: number, capacity: number, now: number): void {
  let head = cells[base + HEAD];
  let count = cells[base + COUNT];
  while (count > 0 && now - cells[base + RING_HEAD + head] >= WINDOW_MS) {
    head = head + 1 === capacity ? 0 : head + 1;
    count--;
  }
  cells[base + HEAD] = head;
  cells[base + COUNT] = count;
}

function quotaOf(
  cells: Float64Array,
  base: number,
  capacity: number,
  admitted: boolean,
  limit: number,
  now: number,
): Quota {
  const count = cells[base + COUNT];
  // In this order: `time + WINDOW_MS - now` rounds to a little over a minute, and that up to 61 s.
  const untilFree = (time: number) => Math.ceil((WINDOW_MS - (now - time)) / 1000);
  return {
    admitted,
    limit,
    // After a limit was lowered more than it may have been admitted; they count until they expire,
    // since the limit may be raised again.
    remaining: Math.max(0, limit - count),
    resetSeconds: count === 0 ? 0 : untilFree(timeAt(cells, base, capacity, count - 1)),
    retrySeconds: admitted
      ? 0
      : Math.max(1, untilFree(timeAt(cells, base, capacity, count - limit))),
  };
}
