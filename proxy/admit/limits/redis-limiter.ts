/**
 * Limits that all proxies share, through a Redis or Valkey server. There is one of these in each serving
 * thread.
 *
 * What it promises, with times by the clock of the server: while the server answers, at most `limit`
 * requests of one window are admitted in any 60 seconds by all proxies together, and a request is
 * refused only if `limit` requests count. While it does not answer, `local` takes the windows of this
 * process, so that N proxies admit up to N times the limit, and `refuse` admits nothing. A server that
 * loses its memory, or a failover to one that lacks the newest writes, begins again without what it
 * has lost.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { sharedZeros } from '../../../lib/columns/arrays.ts';
import type { LimitsAddress } from '../../../lib/program/environment/limits-url.ts';
import {
  type Claim,
  type Decision,
  type Limiter,
  type Taken,
  takeLocally,
} from './rolling-window.ts';

/** How long the server may take to answer. */
const REDIS_TIMEOUT_MS = 200;
/** After a failed call, this thread decides alone for so long. */
const REST_MS = 1_000;
/** How long a proxy that starts waits for the server. */
const START_MS = 4_000;
const NUMBERS_PER_CLAIM = 3;

/** What happens to requests while the server cannot be reached. */
type Failure = 'local' | 'refuse';

/** The positions of the counts of one thread, in memory that the first thread reads. */
export const LIMIT_COUNTS = {
  asked: 0,
  local: 1,
  refused: 2,
  waitedMs: 3,
  isReady: 4,
} as const;

export function newLimitCounts(): Float64Array {
  return sharedZeros(Float64Array, Object.keys(LIMIT_COUNTS).length);
}

interface RedisLimiterParts {
  /** LIMITS_URL. */
  readonly address: LimitsAddress;
  /** LIMITS_FAILURE. */
  readonly failure: Failure;
  /** From {@link newLimitCounts}. */
  readonly counts: Float64Array;
  /** The clock of the windows. */
  readonly now: () => number;
  readonly log: Logger;
  readonly timeoutMs?: number | undefined;
}

interface Waiting {
  readonly claims: readonly Claim[];
  readonly since: number;
  readonly resolve: (taken: Taken) => void;
}

export async function makeRedisLimiter(parts: RedisLimiterParts) {
  const { address, failure, counts, now, log, timeoutMs = REDIS_TIMEOUT_MS } = parts;
  // Only here: the client takes 25 MB of memory and 50 ms of CPU time.
  const { connectToRedis } = await import('./redis-connection.ts');
  let waiting: Waiting[] = [];
  let askAgainAt = Number.NEGATIVE_INFINITY;
  let wasReady: boolean | undefined;
  let isStopped = false;
  const ready = Promise.withResolvers<void>();
  const redis = connectToRedis(address, timeoutMs, noteState);

  function noteState(): void {
    if (isStopped) return;
    const isReady = redis.isReady();
    if (isReady) ready.resolve();
    counts[LIMIT_COUNTS.isReady] = Number(isReady);
    // Each state is logged once, however often its reason changes.
    if (isReady === wasReady) return;
    wasReady = isReady;
    if (isReady) log.info('the limits are shared');
    else log.warn(`cannot reach the limits store: ${redis.fault()}; ${CONSEQUENCES[failure]}`);
  }

  /** Sends all claims of this turn of the event loop in one call. */
  async function ask(): Promise<void> {
    const asked = waiting;
    waiting = [];
    const claims = asked.flatMap((each) => each.claims);
    const args = asked.flatMap((each) =>
      each.claims.flatMap(({ limit, isCounted }, position) => {
        const isLast = position === each.claims.length - 1;
        return [limit, Number(isCounted), Number(isLast)];
      }),
    );
    try {
      const names = claims.map(({ name }) => name);
      const reply = await redis.take(names, args);
      const received = now();
      let at = 0;
      for (const { claims, since, resolve } of asked) {
        counts[LIMIT_COUNTS.asked]++;
        counts[LIMIT_COUNTS.waitedMs] += received - since;
        resolve(readDecision(claims, reply, at, received));
        at += claims.length * NUMBERS_PER_CLAIM;
      }
    } catch (error) {
      askAgainAt = now() + REST_MS;
      // A server that refuses may have been replaced: a new connection finds the new one.
      if (!isStopped) redis.reset((error as Error).message);
      for (const { claims, resolve } of asked) resolve(takeAlone(claims));
    }
  }

  function takeAlone(claims: readonly Claim[]): Taken {
    counts[LIMIT_COUNTS[failure === 'local' ? 'local' : 'refused']]++;
    return failure === 'local' ? takeLocally(claims, now()) : undefined;
  }

  const limiter: Limiter = {
    take(claims) {
      const since = now();
      if (!redis.isReady() || since < askAgainAt) return takeAlone(claims);
      const { promise, resolve } = Promise.withResolvers<Taken>();
      if (waiting.push({ claims, since, resolve }) === 1) setImmediate(ask);
      return promise;
    },
  };
  return {
    ...limiter,
    /** Resolves when the server answers, or after four seconds. */
    start: () => Promise.race([ready.promise, sleep(START_MS, undefined, { ref: false })]),
    stop() {
      isStopped = true;
      redis.close();
    },
  };
}

const CONSEQUENCES = {
  local: 'each proxy counts on its own',
  refuse: 'requests get 503',
} as const;

/**
 * Reads the decision about one request, and counts it in the windows of this process, if it was admitted:
 * they say when a key was last used, and decide while the server is away.
 */
function readDecision(
  claims: readonly Claim[],
  reply: readonly number[],
  start: number,
  now: number,
): Decision {
  for (let position = 0; ; position++) {
    const claim = claims[position];
    const at = start + position * NUMBERS_PER_CLAIM;
    const admitted = reply[at] === 1;
    if (admitted && claim.isCounted) claim.window.record(now);
    if (admitted && position < claims.length - 1) continue;
    const resetSeconds = Math.ceil(reply[at + 2] / 1e6);
    return {
      quota: { admitted, limit: claim.limit, remaining: reply[at + 1], resetSeconds },
      claim,
    };
  }
}
