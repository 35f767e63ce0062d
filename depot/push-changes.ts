/**
 * Keeps a depot up to date: pushes whenever another generation has become current, and again after a while.
 * A push that fails never ends the program.
 */
import type { Logger } from 'pino';
import { currentId } from '../generations/generations.ts';
import type { Tasks } from '../program/admin/tasks.ts';
import { poll } from '../program/poll.ts';
import type { PushResult } from './push.ts';
import { type Clock, systemClock, type TransferReport } from './transfers.ts';

/** How often `current` is read: one system call. */
const INTERVAL_MS = 500;
/** When to push again after a failure; the push itself has tried each transfer several times. */
const AGAIN_MS = 10_000;
/** A push that finds nothing new sends what the depot has lost, and removes what it no longer needs. */
const CHECK_MS = 60_000;

/** @param send pushes the current generation once */
export function pushChanges(
  snapshotsDir: string,
  send: (report: TransferReport) => Promise<PushResult>,
  tasks: Tasks,
  log: Logger,
  { now }: Pick<Clock, 'now'> = systemClock,
) {
  /** The generation that the last push sent, or failed to send. */
  let lastId: string | undefined;
  let nextAt = 0;
  const push = tasks.observe('push', () =>
    send({ advance() {}, step: (text) => log.debug(text), warn: (text) => log.warn(text) }),
  );

  async function check(): Promise<void> {
    const id = currentId(snapshotsDir);
    if (id === undefined || (id === lastId && now() < nextAt)) return;
    lastId = id;
    nextAt = now() + AGAIN_MS;
    const result = await push();
    if (result.outcome !== 'unchanged' || result.removed > 0) log.info(result, 'pushed');
    nextAt = now() + CHECK_MS;
  }

  const checks = poll(check, INTERVAL_MS, ({ message }) =>
    log.error(`The push failed, and will be tried again: ${message}`),
  );
  void checks.start();
  return {
    /** Checks now whether something is to be pushed. Resolves when it is. */
    check: checks.now,
    /** Starts no further push. What one under way has sent stays for the next. */
    stop: () => void checks.stop(),
  };
}
