/**
 * What a program does that runs until a signal: it ends with exit code 0 on SIGTERM or SIGINT, and tells
 * systemd that it is ready and alive. Programs import this module early, for its effect, so that a signal
 * during startup also ends them with 0.
 */
import { spawn } from 'node:child_process';
import type { Logger } from 'pino';

/** Ends the work of a program. */
export type Stop = (signal: NodeJS.Signals) => Promise<void>;

/** Undefined while the program has no work to end. */
let stop: Stop | undefined;
let isStopping = false;

for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.on(name, async (signal) => {
    if (isStopping) return;
    isStopping = true;
    await stop?.(signal);
    process.exit(0);
  });
}

/** Sets what the program does on the first signal, before it ends. Further signals have no effect. */
export function stopWith(next: Stop): void {
  stop = next;
}

/**
 * systemd listens on a Unix datagram socket, which Node does not support, so `systemd-notify` sends the
 * messages. One small shell starts it for each message: a fork of a proxy, which is large, would delay
 * requests. The shell ends with its stdin, and so with the program.
 */
const PASS_ON = 'while read -r message; do systemd-notify "$message" || exit; done';
/** Messages per watchdog period, so that one may be late. */
const MESSAGES_PER_PERIOD = 3;

/**
 * Tells systemd that the program does its work and, if its unit has WatchdogSec, that its event loop still
 * runs: systemd restarts a program that hangs. Does nothing outside of a unit with Type=notify.
 */
export function reportReady(log: Logger, environment: NodeJS.ProcessEnv = process.env): void {
  const { NOTIFY_SOCKET = '', WATCHDOG_PID = process.pid, WATCHDOG_USEC } = environment;
  if (NOTIFY_SOCKET === '') return;
  const shell = spawn('sh', ['-c', PASS_ON], {
    env: environment,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let reason = '';
  shell.stderr.setEncoding('utf8').on('data', (text) => {
    reason += text;
  });
  shell.once('error', ({ message }) => {
    reason = message;
  });
  shell.once('close', () => {
    log.warn(
      { reason: reason.trim() },
      'systemd cannot be told that this program is ready and alive, and may restart it; install systemd-notify, or use Type=exec without WatchdogSec',
    );
  });
  // A write after the end of the shell fails, which is reported above.
  shell.stdin.on('error', () => {});
  shell.stdin.write('READY=1\n');
  // Variables with the id of another process belong to that process.
  const period = Number(WATCHDOG_PID) === process.pid ? Number(WATCHDOG_USEC) : 0;
  if (period > 0) {
    const interval = period / 1000 / MESSAGES_PER_PERIOD;
    setInterval(() => shell.stdin.write('WATCHDOG=1\n'), interval).unref();
  }
}
