/**
 * Decides whether requests are within their limits. Two limiters have this interface: the windows in
 * the memory of this process, which decide at once, and Redis (`redis-limiter.ts`), whose windows all
 * proxies share.
 */
import type { LimitWindow, Quota } from './rolling-window.ts';

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
   * @returns undefined if Redis cannot be asked and nothing is admitted without it
   */
  take(claims: readonly Claim[], now: number): Taken | Promise<Taken>;
}

export type Taken = Decision | undefined;

/** Takes the claims in the windows of this process. */
export function takeLocally(claims: readonly Claim[], now: number): Decision {
  for (let position = 0; ; position++) {
    const claim = claims[position];
    const { window, limit, isCounted } = claim;
    const quota = isCounted ? window.admit(limit, now) : window.peek(limit, now);
    if (!quota.admitted || position === claims.length - 1) return { quota, claim };
  }
}
