/**
 * Notices when the clock of the store is changed: it is the wall clock of that machine, so somebody
 * can set it. It is compared with the monotonic clock of this proxy. Each reply bounds the difference
 * between the two, because the store read its clock after the command was sent and before the reply
 * came. If the bounds of two replies within a minute are further apart than the tolerance, one of
 * the clocks has jumped.
 */

/** Clocks that are kept by NTP differ by less than this in a minute. */
export const TOLERANCE_MS = 50;
const PERIOD_MS = 30_000;

export interface StoreClock {
  /**
   * @param storeMs the time of the store
   * @param sent when the command was sent, by the clock of this proxy
   * @param received when its reply came
   * @returns whether one of the clocks has jumped since an earlier reply
   */
  hasJumped(storeMs: number, sent: number, received: number): boolean;
  /** Forgets earlier replies, because they came from another server. */
  reset(): void;
}

/** The lowest and the highest possible difference between the clocks. */
interface Bounds {
  readonly low: number;
  readonly high: number;
}

export function makeStoreClock(): StoreClock {
  let since = 0;
  let present: Bounds | undefined;
  let previous: Bounds | undefined;

  function isOutside({ low, high }: Bounds, known: Bounds): boolean {
    return low > known.high + TOLERANCE_MS || high < known.low - TOLERANCE_MS;
  }

  return {
    hasJumped(storeMs, sent, received) {
      const low = storeMs - received;
      const high = storeMs - sent;
      const bounds = { low, high };
      for (const known of [present, previous]) {
        if (known !== undefined && isOutside(bounds, known)) {
          present = { low, high };
          previous = undefined;
          since = received;
          return true;
        }
      }
      if (present === undefined || received - since >= PERIOD_MS) {
        previous = present;
        present = { low, high };
        since = received;
      } else {
        const [narrowLow, narrowHigh] = [Math.max(present.low, low), Math.min(present.high, high)];
        // Within the tolerance, the bounds of two replies need not overlap. The older ones then stay,
        // so that a clock that runs fast is noticed as well.
        if (narrowLow <= narrowHigh) present = { low: narrowLow, high: narrowHigh };
      }
      return false;
    },
    reset() {
      present = undefined;
      previous = undefined;
    },
  };
}
