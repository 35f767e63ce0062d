/** Looks again and again at something that changes on disk. */
import type { Logger } from 'pino';

export interface Follower {
  /** Looks for the first time, and from then on by itself. */
  start(): Promise<void>;
  stop(): void;
}

/**
 * @param step completes "cannot …" in the log when `refresh` fails, which is said once
 * @param consequence what that means for the service
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

  async function look(): Promise<void> {
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

  return {
    start: look,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
