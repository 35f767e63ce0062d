/**
 * The exact rolling-minute limit: the times of the last admitted requests in a ring.
 *
 * Invariant: in any 60 seconds at most `limit` requests are admitted, and one is refused only when
 * `limit` were admitted in the 60 seconds before it. A fixed window would admit nearly twice that.
 */

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
  /** Counts the request if the limit allows it. */
  admit(limit: number, now: number): Quota;
  /** Says what is left without counting anything. */
  peek(limit: number, now: number): Quota;
}

const WINDOW_MS = 60_000;
const SMALLEST_RING = 8;

export function makeRollingWindow(): RollingWindow {
  // Times of admitted requests, oldest at `head`; grows with use, so an idle key costs little.
  let ring = new Float64Array(SMALLEST_RING);
  let head = 0;
  let count = 0;

  function expire(now: number): void {
    while (count > 0 && now - (ring[head] as number) >= WINDOW_MS) {
      head = head + 1 === ring.length ? 0 : head + 1;
      count--;
    }
  }

  function timeAt(place: number): number {
    return ring[(head + place) % ring.length] as number;
  }

  function add(now: number): void {
    if (count === ring.length) {
      const larger = new Float64Array(ring.length * 2);
      for (let i = 0; i < count; i++) larger[i] = timeAt(i);
      ring = larger;
      head = 0;
    }
    ring[(head + count) % ring.length] = now;
    count++;
  }

  function quota(admitted: boolean, limit: number, now: number): Quota {
    // In this order: `time + WINDOW_MS - now` rounds to a little over a minute, and that up to 61 s.
    const untilFree = (time: number) => Math.ceil((WINDOW_MS - (now - time)) / 1000);
    return {
      admitted,
      limit,
      // After a limit was lowered more than it may have been admitted; they count until they expire,
      // since the limit may be raised again.
      remaining: Math.max(0, limit - count),
      resetSeconds: count === 0 ? 0 : untilFree(timeAt(count - 1)),
      retrySeconds: admitted ? 0 : Math.max(1, untilFree(timeAt(count - limit))),
    };
  }

  return {
    admit(limit, now) {
      expire(now);
      if (count >= limit) return quota(false, limit, now);
      add(now);
      return quota(true, limit, now);
    },
    peek(limit, now) {
      expire(now);
      return quota(count < limit, limit, now);
    },
  };
}
