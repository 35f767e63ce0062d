/**
 * Keeps polls within a twentieth of the time in the long run. Time that was not used is saved up, so that
 * a poll which is slow once, because a run is under way, does not delay the next takedown.
 */
const SHARE = 1 / 20;
/** The most that can be saved up, in milliseconds. */
const MOST_SAVED = 2_000;

/** @param now a monotonic clock in milliseconds */
export function makeTimeShare(now: () => number) {
  let saved = MOST_SAVED;
  let countedAt = now();
  return {
    /** Call it at the end of a poll. @param milliseconds how long the poll took */
    use(milliseconds: number): void {
      const earned = (now() - countedAt) * SHARE;
      saved = Math.min(MOST_SAVED, saved + earned) - milliseconds;
      countedAt = now();
    },
    /** How many milliseconds to wait before the next poll. */
    pause: () => Math.max(0, -saved / SHARE),
  };
}
