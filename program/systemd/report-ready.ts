/**
 * Tells systemd that a program is ready and, if its unit has WatchdogSec, that its event loop still runs:
 * systemd restarts a program that hangs. Does nothing outside of a unit with Type=notify.
 *
 * systemd listens on a Unix datagram socket, which Node does not support, so `systemd-notify` sends the
 * messages. One small shell starts it for each message: a fork of a proxy, which is large, would delay
 * requests.
 */
import { spawn } from 'node:child_process';
import type { Logger } from 'pino';

/** Ends with its stdin, and so with the program. */
const PASS_ON = 'while read -r message; do systemd-notify "$message" || exit; done';
const READY = 'READY=1\n';
const ALIVE = 'WATCHDOG=1\n';
/** Messages per watchdog period, so that one may be late. */
const MESSAGES_PER_PERIOD = 3;

/** Call it once the program does its work. */
export function reportReady(log: Logger, environment: NodeJS.ProcessEnv = process.env): void {
  const { NOTIFY_SOCKET, WATCHDOG_PID, WATCHDOG_USEC } = environment;
  if (NOTIFY_SOCKET === undefined || NOTIFY_SOCKET === '') return;
  const shell = spawn('sh', ['-c', PASS_ON], {
    env: environment,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let errors = '';
  shell.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text;
  });
  shell.once('error', ({ message }) => {
    errors = message;
  });
  shell.once('close', () => warn(errors.trim()));
  // A write after the end of the shell fails, which is reported above.
  shell.stdin.on('error', () => {});
  shell.stdin.write(READY);
  // Variables with the id of another process belong to that process.
  const period = Number(WATCHDOG_PID ?? process.pid) === process.pid ? Number(WATCHDOG_USEC) : 0;
  if (period > 0) {
    const interval = period / 1000 / MESSAGES_PER_PERIOD;
    setInterval(() => shell.stdin.write(ALIVE), interval).unref();
  }

  function warn(reason: string): void {
    log.warn(
      { reason },
      'systemd cannot be told that this program is ready and alive, and may restart it; install systemd-notify, or use Type=exec without WatchdogSec',
    );
  }
}
