/**
 * An exact rate limit over a rolling minute. The times of the last admitted requests are kept in a ring
 * buffer, in memory that all serving threads share.
 *
 * Invariant: in any 60 seconds at most `limit` requests are admitted, whichever threads receive them.
 * A request is refused only if `limit` requests were admitted in the 60 seconds before it. A limit per
 * fixed minute would admit nearly twice as many in some 60 seconds.
 *
 * Two limiters take the claims of requests: the windows here, which decide at once, and Redis
 * (`redis-limiter.ts`), whose windows all proxies share.
 */

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
export interface LimitWindow {
  /**
   * Counts the request if the limit allows it.
   * @param limit at most the capacity of the window
   * @param isCounted false only to look: `admitted` then says whether a request would be
   */
  admit(limit: number, now: number, isCounted?: boolean): Quota;
  /**
   * Counts a request that was admitted elsewhere, whatever the limit. In a full window it replaces the
   * oldest, which then no longer counts where the request was admitted.
   */
  record(now: number): void;
}

/** The clock of windows, in milliseconds: monotonic, and the same for all threads and processes. */
export function now(): number {
  // Not `performance.now()`, which counts from the start of its thread.
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

/** How long an admitted request counts. */
const WINDOW_MS = 60_000;

/**
 * The layout of a ring, as numbers: the position of the oldest time, the count of times, the newest time
 * ever, then the times.
 */
const HEAD = 0;
const COUNT = 1;
export const NEWEST = 2;
export const RING_HEAD = 3;

/** The lock of a window takes as many bytes as a number. Its ring follows. */
const LOCK_BYTES = 8;

/**
 * @param capacity the largest limit that the window will be used with
 * @param times when earlier requests were admitted: at most `capacity` times, the oldest first
 */
export function makeRollingWindow(capacity: number, times: readonly number[] = []): RollingWindow {
  const memory = new SharedArrayBuffer(LOCK_BYTES + 8 * (RING_HEAD + capacity));
  const window = new RollingWindow(memory);
  for (const time of times) window.record(time);
  return window;
}

/** The window of a key, in memory that was perhaps created by another thread. */
export class RollingWindow implements LimitWindow {
  /** Another thread can open the same window with it. */
  readonly memory: SharedArrayBuffer;
  private readonly locks: Int32Array;
  private readonly cells: Float64Array;
  private readonly ring: Ring;

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory;
    this.locks = new Int32Array(memory, 0, 1);
    this.cells = new Float64Array(memory, LOCK_BYTES);
    this.ring = new Ring(this.cells);
  }

  /** How many times the ring can hold: the largest limit that the window can enforce. */
  get capacity(): number {
    return this.ring.capacity;
  }

  admit(limit: number, now: number, isCounted = true): Quota {
    return withLock(this.locks, 0, () => this.ring.admit(limit, now, isCounted));
  }

  record(now: number): void {
    withLock(this.locks, 0, () => this.ring.record(now));
  }

  /** The times at which the requests that still count were admitted, the oldest first. */
  times(now: number): number[] {
    return withLock(this.locks, 0, () => this.ring.times(now));
  }

  /** When a request was last admitted; -Infinity if none ever was. */
  lastAdmitted(): number {
    const isUsed = this.cells[COUNT] !== 0 || this.cells[NEWEST] !== 0;
    return isUsed ? this.cells[NEWEST] : Number.NEGATIVE_INFINITY;
  }
}

/** A window in an array of numbers, which are 0 at first. Whoever uses it holds the lock of the window. */
export class Ring implements LimitWindow {
  readonly capacity: number;
  private readonly cells: Float64Array;

  /** @param cells {@link RING_HEAD} and as many as the window has capacity */
  constructor(cells: Float64Array) {
    this.cells = cells;
    this.capacity = cells.length - RING_HEAD;
  }

  admit(limit: number, now: number, isCounted = true): Quota {
    const time = this.expire(now);
    const admitted = this.cells[COUNT] < limit;
    if (admitted && isCounted) this.append(time);
    return this.quotaOf(limit, admitted, time);
  }

  record(now: number): void {
    const time = this.expire(now);
    if (this.cells[COUNT] === this.capacity) this.dropOldest();
    this.append(time);
  }

  times(now: number): number[] {
    const times = Array.from({ length: this.cells[COUNT] }, (_, position) => this.timeAt(position));
    return times.filter((time) => now - time < WINDOW_MS);
  }

  private timeAt(position: number): number {
    return this.cells[RING_HEAD + ((this.cells[HEAD] + position) % this.capacity)];
  }

  /**
   * Removes the times that no longer count.
   * @returns the present time, but not before the newest in the ring: the clocks of threads differ by
   * microseconds, and an earlier time would unsort the ring
   */
  private expire(now: number): number {
    const { cells } = this;
    const time = cells[COUNT] === 0 ? now : Math.max(now, cells[NEWEST]);
    while (cells[COUNT] > 0 && time - this.timeAt(0) >= WINDOW_MS) this.dropOldest();
    return time;
  }

  private dropOldest(): void {
    this.cells[HEAD] = (this.cells[HEAD] + 1) % this.capacity;
    this.cells[COUNT]--;
  }

  private append(time: number): void {
    const { cells } = this;
    cells[RING_HEAD + ((cells[HEAD] + cells[COUNT]) % this.capacity)] = time;
    cells[NEWEST] = time;
    cells[COUNT]++;
  }

  private quotaOf(limit: number, admitted: boolean, now: number): Quota {
    const count = this.cells[COUNT];
    // Not `time + WINDOW_MS - now`: rounding errors make that slightly over a minute, which gives 61 s.
    const untilFree = (time: number) => Math.ceil((WINDOW_MS - (now - time)) / 1000);
    return {
      admitted,
      limit,
      // After the limit was lowered, the count can exceed it. The requests count until they expire, since
      // the limit may be raised again.
      remaining: Math.max(0, limit - count),
      resetSeconds: count === 0 ? 0 : untilFree(this.timeAt(Math.max(0, count - limit))),
    };
  }
}

// Claims of requests.

/** What a request needs from one window: that fewer requests than the limit count. */
export interface Claim {
  /** Names the window in Redis: "k" and the id of a key, or "a" and an address. */
  readonly name: string;
  /** That of the key or address in this process. */
  readonly window: LimitWindow;
  readonly limit: number;
  /** Whether the request then counts, too. */
  readonly isCounted: boolean;
}

export interface Decision {
  readonly quota: Quota;
  /** The claim that the quota describes: the first that was refused, otherwise the last. */
  readonly claim: Claim;
}

export interface Limiter {
  /**
   * Takes the claims of one request in their order. After a claim that is refused, the others do not
   * count.
   * @param now on the monotonic clock of the windows, in milliseconds
   * @returns undefined if Redis cannot be reached and nothing is admitted without it
   */
  take(claims: readonly Claim[], now: number): Taken | Promise<Taken>;
}

export type Taken = Decision | undefined;

/** Takes the claims in the windows of this process. */
export function takeLocally(claims: readonly Claim[], now: number): Decision {
  for (let position = 0; ; position++) {
    const claim = claims[position];
    const { window, limit, isCounted } = claim;
    const quota = window.admit(limit, now, isCounted);
    if (!quota.admitted || position === claims.length - 1) return { quota, claim };
  }
}

// The lock of a window, in its memory. It is held only for the few instructions that count a request. A state of its
// own says that a thread is waiting, so that an unlock with nobody waiting is one atomic exchange.

const FREE = 0;
/** Held; no thread is waiting. */
const HELD = 1;
/** Held; another thread may be waiting. */
const AWAITED = 2;

/** Does some work under the lock. Waits while another thread holds it. */
export function withLock<T>(locks: Int32Array, index: number, work: () => T): T {
  if (Atomics.compareExchange(locks, index, FREE, HELD) !== FREE) {
    while (Atomics.exchange(locks, index, AWAITED) !== FREE) Atomics.wait(locks, index, AWAITED);
  }
  try {
    return work();
  } finally {
    if (Atomics.exchange(locks, index, FREE) === AWAITED) Atomics.notify(locks, index, 1);
  }
}
