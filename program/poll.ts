/** Looks again and again at something that changes on disk. */
import type { Logger } from 'pino';

export interface Follower {
  /** Looks for the first time, and from then on by itself. */
  start(): Promise<void>;
  stop(): void;
  /** Looks for the last time, and stops. */
  finish(): Promise<void>;
  /** Why the last look failed; undefined when it did not. */
  fault(): string | undefined;
}

/**
 * @param step completes "cannot …" in the log when `refresh` fails; the same failure is logged once
 * @param consequence what the failure means for the service
 */
export function follow(
  step: string,
  milliseconds: number,
  refresh: () => Promise<unknown>,
  log: Logger,
  consequence: () => string = () => 'going on as before',
): Follower {
  let lastFault = '';
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let underWay = Promise.resolve();

  // One at a time: `finish` may be called while a look is under way.
  function look(): Promise<void> {
    underWay = underWay.then(lookOnce);
    return underWay;
  }

  async function lookOnce(): Promise<void> {
    try {
      await refresh();
      lastFault = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== lastFault) log.warn({ err: error }, `cannot ${step}; ${consequence()}`);
      lastFault = message;
    }
    if (!isStopped) timer = setTimeout(look, milliseconds);
  }

  function stop(): void {
    isStopped = true;
    clearTimeout(timer);
  }

  return {
    start: look,
    stop,
    finish() {
      stop();
      return look();
    },
    fault: () => lastFault || undefined,
  };
}
