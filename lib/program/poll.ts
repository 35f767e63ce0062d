/**
 * Repeats some work, such as checking a file for changes: each run starts some time after the end of the
 * one before. Invariant: runs never overlap.
 */

export interface Poll {
  /** Does the work now, after the run under way. Resolves when it is done. The first call starts the poll. */
  run(): Promise<void>;
  /** Starts no further runs. Resolves when the run under way has ended. */
  stop(): Promise<void>;
  /** Does the work for the last time. Resolves when this run has ended. */
  finish(): Promise<void>;
  /** The error message of the last run; undefined if it succeeded. */
  fault(): string | undefined;
}

/** No longer, so that what has failed is soon noticed to work again. */
const LONGEST_AFTER_FAILURES_MS = 5_000;

/**
 * @param milliseconds from the end of a run to the start of the next one; a function is called after each.
 * After a failure it is twice as long, and doubles with each further one, to at most five seconds.
 * @param onFault called when a run fails, unless the run before failed with the same message
 */
export function poll(
  work: () => Promise<unknown>,
  milliseconds: number | (() => number),
  onFault: (error: Error) => void,
): Poll {
  let lastFault = '';
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let underWay = Promise.resolve();

  // The run waits for the one under way, because `finish` may be called at any time.
  function run(): Promise<void> {
    underWay = underWay.then(workOnce);
    return underWay;
  }

  async function workOnce(): Promise<void> {
    try {
      await work();
      lastFault = '';
      failures = 0;
    } catch (error) {
      failures++;
      const { message } = error as Error;
      if (message !== lastFault) onFault(error as Error);
      lastFault = message;
    }
    if (isStopped) return;
    clearTimeout(timer);
    const usual = typeof milliseconds === 'number' ? milliseconds : milliseconds();
    timer = setTimeout(
      run,
      Math.max(usual, Math.min(usual * 2 ** failures, LONGEST_AFTER_FAILURES_MS)),
    );
  }

  function stop(): Promise<void> {
    isStopped = true;
    clearTimeout(timer);
    return underWay;
  }

  return {
    run,
    stop,
    finish() {
      void stop();
      return run();
    },
    fault: () => lastFault || undefined,
  };
}
