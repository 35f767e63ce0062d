/** Transfers that fail, and may succeed if they are tried again. */
import { type Clock, systemClock } from './clock.ts';

/** How many tries may fail in a row without any progress. */
const MOST_FAILURES = 5;
/** The same, if the other side asks to try again later. */
const MOST_WAITS = 20;
const FIRST_PAUSE_MS = 250;

/** No wait is longer, even if the other side asks for it. */
const LONGEST_WAIT_MS = 90_000;

/** A transfer failed, and may succeed if it is tried again. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
  /**
   * How long the other side asks to wait, in milliseconds, but at most {@link LONGEST_WAIT_MS};
   * undefined if it does not ask.
   */
  readonly waitMs: number | undefined;

  constructor(message: string, options: { cause?: unknown; waitMs?: number } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : {});
    this.waitMs = options.waitMs && Math.min(options.waitMs, LONGEST_WAIT_MS);
  }
}

/**
 * Repeats work that fails with a TransferError, after a pause.
 * @param name what error messages begin with
 * @param progress a number that grows when the work has made progress
 */
export async function tryAgain<T>(
  name: string,
  work: () => Promise<T>,
  progress: () => number = () => 0,
  clock: Clock = systemClock,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    const before = progress();
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof TransferError)) throw error;
      if (progress() > before) failures = 1;
      if (failures >= (error.waitMs === undefined ? MOST_FAILURES : MOST_WAITS)) {
        throw new Error(`${name}: ${error.message} (tried ${failures} times)`);
      }
      await clock.pause(error.waitMs ?? FIRST_PAUSE_MS * 2 ** failures);
    }
  }
}
