/**
 * Keeps a store up to date: pushes whenever another generation has become current, when a replaced one can
 * be removed from the store, and again after a failure. For programs that run all the time. A push that
 * fails never ends the program, and never keeps it from publishing.
 */
import type { Logger } from 'pino';
import { currentId } from '../../generations/generations.ts';
import type { Tasks } from '../../program/admin/tasks.ts';
import { poll } from '../../program/poll.ts';
import { type Clock, systemClock } from '../transfer/clock.ts';
import { type PushEnding, type RunningPush, startPush } from './start-push.ts';

/** How often `current` is read: one system call. */
const INTERVAL_MS = 500;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;
/** A push that finds nothing new checks whether the store still has everything. */
const CHECK_MS = 3_600_000;
/** The first check: another machine may have pushed at the same moment, which the lock does not prevent. */
const FIRST_CHECK_MS = 10_000;

type Pushed = NonNullable<PushEnding['result']> & { readonly messages: string };

export interface PushedChanges {
  /** Checks now whether something is to be pushed. Resolves when it is. */
  check(): Promise<void>;
  /** Ends a push that is under way. */
  stop(): Promise<void>;
}

/**
 * @param environment as for {@link startPush}
 * @param start starts a push
 * @param clock tells when to push again
 */
export function pushChanges(
  snapshotsDir: string,
  environment: NodeJS.ProcessEnv,
  tasks: Tasks,
  log: Logger,
  start = startPush,
  { now }: Pick<Clock, 'now'> = systemClock,
): PushedChanges {
  let running: RunningPush | undefined;
  /** The generation that the last push sent, or failed to send. */
  let lastId: string | undefined;
  let nextAt = 0;
  let pauseMs = FIRST_PAUSE_MS;
  let lastFault = '';
  let lastWarning = '';

  const push = tasks.observe('push', async (): Promise<Pushed> => {
    running = start(environment);
    const { result, messages } = await running.ended;
    running = undefined;
    if (result === undefined) throw new Error(messages);
    return { ...result, messages };
  });

  async function check(): Promise<void> {
    const id = currentId(snapshotsDir);
    if (id === undefined || (id === lastId && now() < nextAt)) return;
    lastId = id;
    let pushed: Pushed;
    try {
      pushed = await push();
    } catch (error) {
      noteFailure((error as Error).message);
      return;
    }
    const { messages, ...result } = pushed;
    if (messages !== '' && messages !== lastWarning) log.warn(messages);
    lastWarning = messages;
    if (lastFault !== '' || result.outcome !== 'unchanged' || result.removed > 0) {
      log.info(result, 'pushed');
    }
    lastId = result.id;
    const checkMs = result.outcome === 'unchanged' ? CHECK_MS : FIRST_CHECK_MS;
    nextAt = now() + Math.min(checkMs, result.againInMs ?? checkMs);
    pauseMs = FIRST_PAUSE_MS;
    lastFault = '';
  }

  function noteFailure(messages: string): void {
    if (messages !== lastFault) {
      log.error(`The push failed, and will be tried again: ${messages}`);
    }
    lastFault = messages;
    nextAt = now() + pauseMs;
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }

  const checks = poll(check, INTERVAL_MS, ({ message }) => log.error(message));
  void checks.start();
  return {
    check: checks.now,
    async stop() {
      running?.stop();
      await checks.stop();
    },
  };
}
