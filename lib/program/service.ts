/**
 * What a program does that runs until a signal: it tells systemd that it is ready, and ends with exit code 0
 * on SIGTERM or SIGINT.
 */
import { execFile } from 'node:child_process';
import type { Logger } from 'pino';

/** Ends the work of a program. */
type Stop = (signal: NodeJS.Signals) => Promise<void>;

/** Undefined while the program has no work to end. */
let stop: Stop | undefined;
let isStopping = false;

/**
 * Ends the program with exit code 0 on SIGTERM or SIGINT, once its work has ended. SIGHUP has no effect: there is
 * nothing to read again, and by default it would end the program. Called before any work begins.
 */
export function stopOnSignals(): void {
  process.on('SIGHUP', () => {});
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, async (signal) => {
      if (isStopping) return;
      isStopping = true;
      await stop?.(signal);
      process.exit(0);
    });
  }
}

export type StopWith = (stop: Stop) => void;

/** Sets what the program does on the first signal, before it ends. Further signals have no effect. */
export const stopWith: StopWith = (next) => {
  stop = next;
};

/**
 * Tells systemd, if the program runs in a unit with Type=notify, that it does its work. Node cannot send to the
 * socket on which systemd listens, so `systemd-notify` does.
 */
export function reportReady(log: Logger): void {
  if (process.env.NOTIFY_SOCKET === undefined) return;
  execFile('systemd-notify', ['--ready'], (error) => {
    if (error === null) return;
    log.warn(
      { reason: error.message.trim() },
      'systemd cannot be told that this program is ready, and may restart it; install systemd-notify, or use Type=exec',
    );
  });
}
