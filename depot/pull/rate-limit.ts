/**
 * Limits how many bytes a pull takes per second, over all its transfers together. A slow reader makes
 * the sender wait, so the limit also holds on the network, apart from what buffers hold.
 */
import type { Clock } from '../transfer/clock.ts';

/** Passes bytes on, at the allowed rate. */
export type RateLimit = (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

export const unlimited: RateLimit = (bytes) => bytes;

/** After a pause, a reader may take what it did not take in this time. */
const LONGEST_CREDIT_MS = 250;

/** @param bytesPerSecond at least 1 */
export function makeRateLimit(bytesPerSecond: number, clock: Clock): RateLimit {
  /** When all bytes that were passed on so far are paid for. */
  let paidAt = Number.NEGATIVE_INFINITY;
  return async function* limit(bytes) {
    for await (const piece of bytes) {
      const now = clock.now();
      paidAt = Math.max(paidAt, now - LONGEST_CREDIT_MS) + (piece.length / bytesPerSecond) * 1000;
      if (paidAt > now) await clock.pause(paidAt - now);
      yield piece;
    }
  };
}
