/**
 * Does some work again and again, such as looking at a file that changes on disk: once at the start,
 * and a fixed time after each end. Invariant: the work is never under way twice.
 */

export interface Poll {
  /** Does the work for the first time. Resolves when that has ended. */
  start(): Promise<void>;
  /** Starts no more work. Resolves when what is under way has ended. */
  stop(): Promise<void>;
  /** Does the work for a last time. Resolves when that has ended. */
  finish(): Promise<void>;
  /** Why the work failed the last time; undefined if it did not. */
  fault(): string | undefined;
}

/**
 * @param milliseconds from the end of the work to its next start
 * @param onFault called when the work fails in another way than the time before
 */
export function poll(
  work: () => Promise<unknown>,
  milliseconds: number,
  onFault: (error: Error) => void,
): Poll {
  let lastFault = '';
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let underWay = Promise.resolve();

  // `finish` may be called while the work is under way, and then waits for it.
  function workNext(): Promise<void> {
    underWay = underWay.then(workOnce);
    return underWay;
  }

  async function workOnce(): Promise<void> {
    try {
      await work();
      lastFault = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== lastFault) onFault(error as Error);
      lastFault = message;
    }
    if (!isStopped) timer = setTimeout(workNext, milliseconds);
  }

  function stop(): Promise<void> {
    isStopped = true;
    clearTimeout(timer);
    return underWay;
  }

  return {
    start: workNext,
    stop,
    finish() {
      void stop();
      return workNext();
    },
    fault: () => lastFault || undefined,
  };
}
