/**
 * Limits that all proxies of a fleet share, through a Redis or Valkey server (the store). There is one
 * of these in each serving thread.
 *
 * What it promises, for each window, with times by the clock of the store:
 * - While the store answers, at most `limit` requests are admitted in any 60 seconds by all proxies
 *   together, and a request is refused only if `limit` requests count.
 * - `local`: a proxy that cannot ask the store admits a request if it admitted fewer than its share in
 *   the 60 seconds before it. Its share is limit ÷ proxies, rounded down, but at least 1. So the fleet
 *   admits at most the limit through the store, plus one share for each proxy that could not ask it:
 *   less than twice the limit in the minute in which the store is lost, and the limit from then on.
 * - `refuse`: a proxy that cannot ask the store admits nothing. The fleet never admits more than the
 *   limit.
 * - When the store is back, it is asked only after it knows what every proxy admitted in the last 60
 *   seconds, whether it kept its memory or not.
 *
 * One exception: when the store has lost its memory, proxies that have never shared limits with each
 * other wait for each other only for a moment (`SETTLE_US`).
 *
 * A proxy counts as long as the store has heard of it within 60 seconds. One that was never in touch
 * with the store knows only itself.
 */
import type { Quota } from '../rolling-window.ts';
import type { Surroundings } from './connection.ts';
import type { LimitCells } from './counts.ts';
import type { Fleet } from './fleet.ts';
import { STORE_KEYS } from './scripts.ts';
import { makeWaitingRows, type Question } from './waiting-rows.ts';

/** What happens to requests while the store cannot be asked. */
export type Failure = 'local' | 'refuse';

export interface SharedLimits {
  ask(question: Question): void;
  /** Call it whenever {@link Fleet.epoch} has changed. */
  onChange(): void;
}

export interface SharedLimitsOptions {
  readonly fleet: () => Fleet;
  readonly surroundings: Pick<Surroundings, 'now' | 'defer'>;
  readonly failure: Failure;
  readonly counts: LimitCells;
}

/**
 * How many commands may be under way at once. With one, requests that come while it is under way share the next
 * command.
 */
const MOST_UNDER_WAY = 1;

export function makeSharedLimits(options: SharedLimitsOptions): SharedLimits {
  const { fleet, failure, counts } = options;
  const { now, defer } = options.surroundings;
  let waiting = makeWaitingRows();
  let waitingSince = 0;
  let underWay = 0;
  let isDeferred = false;

  function ask(question: Question): void {
    if (fleet().epoch() === undefined && !fleet().isNearlyReady()) {
      answerAlone(question);
      return;
    }
    if (waiting.size() === 0) waitingSince = now();
    waiting.add(question);
    send();
  }

  /** Sends what waits, once this turn of the event loop has handled what arrived. */
  function send(): void {
    if (isDeferred || underWay >= MOST_UNDER_WAY || waiting.size() === 0) return;
    isDeferred = true;
    defer(() => {
      isDeferred = false;
      const epoch = fleet().epoch();
      if (epoch !== undefined) void askStore(epoch);
      else if (!fleet().isNearlyReady()) answerWaiting();
    });
  }

  async function askStore(epoch: string): Promise<void> {
    const asked = waiting;
    const since = waitingSince;
    waiting = makeWaitingRows();
    underWay++;
    try {
      const keys = [STORE_KEYS.open, ...asked.keys(epoch)];
      const args = [epoch, ...asked.args()];
      const reply = await fleet().admit(keys, args);
      const received = now();
      counts.countCall(asked.size(), received - since);
      asked.answer(reply, received);
    } catch (error) {
      counts.countFailure();
      fleet().lose(error as Error);
      for (const question of asked.questions()) answerAlone(question);
    } finally {
      underWay--;
      send();
    }
  }

  function answerWaiting(): void {
    const left = waiting;
    waiting = makeWaitingRows();
    for (const question of left.questions()) answerAlone(question);
  }

  /** Answers without the store. */
  function answerAlone({ window, limit, isPeek, guard, done }: Question): void {
    if (failure === 'refuse') {
      counts.countRefused();
      done(undefined, false);
      return;
    }
    counts.countLocal();
    const time = now();
    if (guard !== undefined) {
      const quota = guard.window.peek(share(guard.limit), time);
      if (!quota.admitted) {
        done({ ...quota, limit: guard.limit }, true);
        return;
      }
    }
    const most = share(limit);
    const quota: Quota = isPeek ? window.peek(most, time) : window.admit(most, time);
    if (quota.admitted && !isPeek) fleet().note(window.name, time);
    done({ ...quota, limit }, false);
  }

  function share(limit: number): number {
    return Math.max(1, Math.floor(limit / fleet().proxies()));
  }

  return { ask, onChange: send };
}
