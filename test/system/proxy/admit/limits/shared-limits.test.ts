/**
 * Limits that several proxies share, as clients see them: proxies in this process, a real Redis, over HTTP. The
 * proxies wait for the store for as long as it takes, so that on a busy machine none decides alone.
 */
import { pino } from 'pino';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { readLimitsUrl } from '#lib/program/environment/limits-url.ts';
import {
  LIMIT_COUNTS,
  makeRedisLimiter,
  newLimitCounts,
} from '#proxy/admit/limits/redis-limiter.ts';
import { makeRollingWindow, now, type RollingWindow } from '#proxy/admit/limits/rolling-window.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';

import type { Texts } from '#test/support/processes.ts';
import {
  NEVER,
  type OwnProxy,
  send,
  startProxy,
  testKey,
  writeKeys,
} from '#test/support/product.ts';
import { startRedis } from '#test/support/servers/redis.ts';

/** As good as for ever. */
const PATIENT = 1e6;
const SHARED = '"msg":"the limits are shared"';
const LOST = 'cannot reach the limits store';

const redis = await startRedis();
const dir = await makeSampleSnapshots();
beforeEach(async () => {
  await redis.client.flushall();
});
afterAll(() => redis.stop());

const countOf = (statuses: readonly number[], status: number) =>
  statuses.filter((found) => found === status).length;

/** Starts proxies. Each waits for the store before it listens. */
async function startFleet(
  proxies: number,
  environment: Texts = {},
  redisTimeoutMs = PATIENT,
): Promise<OwnProxy[]> {
  const own = { LIMITS_URL: redis.url, ...environment };
  const start = () => startProxy(dir, own, NEVER, { redisTimeoutMs });
  return Promise.all(Array.from({ length: proxies }, start));
}

/** Starts proxies that have one key with this limit. */
async function startWith(limit: number, proxies = 2, ...more: [Texts?, number?]) {
  const key = testKey(1, { limit });
  writeKeys(dir, [key]);
  return { key, fleet: await startFleet(proxies, ...more) };
}

const allLogged = (fleet: readonly OwnProxy[], part: string, times = 1) =>
  Promise.all(fleet.map((proxy) => proxy.logged(part, times)));

const stopAll = (fleet: readonly OwnProxy[]) => Promise.all(fleet.map((proxy) => proxy.stop()));

/** Sends requests to all proxies in turn, all at once. */
async function sendMany(
  fleet: readonly OwnProxy[],
  key: string | undefined,
  requests: number,
): Promise<number[]> {
  const headers: Record<string, string> = key === undefined ? {} : { 'x-api-key': key };
  const replies = await Promise.all(
    Array.from({ length: requests }, (_, i) =>
      send(`${fleet[i % fleet.length].url}/api/v1/stats`, { headers }),
    ),
  );
  return replies.map(({ status }) => status);
}

test('two proxies with two threads admit exactly 120 of 200 simultaneous requests, and 10 without a key', async () => {
  const { key, fleet } = await startWith(120, 2, { PROXY_THREADS: '2', ADDRESS_RATE_LIMIT: '10' });
  const statuses = await sendMany(fleet, key.key, 200);
  expect([countOf(statuses, 200), countOf(statuses, 429)]).toEqual([120, 80]);
  const refused = await fleet[0].get('/stats', key.key);
  expect(refused.headers).toMatchObject({
    'x-ratelimit-limit': '120',
    'x-ratelimit-remaining': '0',
    'retry-after': expect.stringMatching(/^([1-9]|[1-5]\d|60)$/),
  });
  const guesses = await sendMany(fleet, undefined, 30);
  expect([countOf(guesses, 401), countOf(guesses, 429)]).toEqual([10, 20]);
  const preflight = await send(`${fleet[0].url}/api/v1/stats`, { method: 'OPTIONS' });
  expect(preflight.headers['x-ratelimit-remaining']).toBe('0');
  await stopAll(fleet);
});

test('a thread that is blocked while the store answers admits exactly 120 of 200 for two proxies', async () => {
  const address = readLimitsUrl(redis.url);
  if (address === undefined) throw new Error('Redis has no address');
  const timeoutMs = 20;
  const counts = newLimitCounts();
  const parts = {
    address,
    failure: 'local',
    counts,
    now,
    log: pino({ level: 'silent' }),
    timeoutMs,
  } as const;
  const proxies = await Promise.all([makeRedisLimiter(parts), makeRedisLimiter(parts)]);
  await Promise.all(proxies.map((proxy) => proxy.start()));
  const windows = proxies.map(() => makeRollingWindow(120));
  const admitted: boolean[] = [];
  for (let round = 0; round < 4; round++) {
    const taken = Array.from({ length: 50 }, (_, i) => {
      const window = windows[i % 2] as RollingWindow;
      return proxies[i % 2]?.take([{ name: 'k1', window, limit: 120, isCounted: true }], now());
    });
    // After both have asked.
    setImmediate(() => {
      redis.answerAll();
      const end = now() + 2 * timeoutMs;
      while (now() < end);
    });
    for (const each of await Promise.all(taken)) admitted.push(each?.quota.admitted === true);
  }
  expect(admitted.filter(Boolean).length).toBe(120);
  expect(counts[LIMIT_COUNTS.local]).toBe(0);
  for (const proxy of proxies) proxy.stop();
});

test('a changed limit applies to what was counted before, and the metrics say who decided', async () => {
  const { key, fleet } = await startWith(50);
  const [first, second] = fleet;
  await sendMany([first], key.key, 10);
  writeKeys(dir, [{ ...key, limit: 90 }]);
  await second.refresh();
  const { headers } = await second.get('/stats', key.key);
  expect(headers).toMatchObject({ 'x-ratelimit-limit': '90', 'x-ratelimit-remaining': '79' });
  const metrics = await first.metrics();
  const value = (name: string) =>
    Number(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (.*)$`, 'm').exec(metrics)?.[1]);
  expect(value('limits_store_up')).toBe(1);
  expect(value('limits_store_wait_seconds_total')).toBeGreaterThan(0);
  expect(value('limits_decisions_total{by="store"}')).toBe(10);
  expect(value('limits_decisions_total{by="proxy"}')).toBe(0);
  await stopAll(fleet);
});

describe('when the store is gone', () => {
  test('each proxy counts on its own, with what it admitted before', async () => {
    const { key, fleet } = await startWith(20);
    // Ten through each of the two.
    expect(countOf(await sendMany(fleet, key.key, 20), 200)).toBe(20);
    await redis.kill();
    await allLogged(fleet, LOST);
    expect(countOf(await sendMany(fleet, key.key, 60), 200)).toBe(20);
    const { json } = await fleet[0].readyz();
    expect(json).toMatchObject({ ready: true, limits: { mode: 'local' } });
    await redis.restart();
    await allLogged(fleet, SHARED, 2);
    expect(countOf(await sendMany(fleet, key.key, 30), 200)).toBe(20);
    await stopAll(fleet);
  });

  test('with refuse, requests get 503 and count for nobody', async () => {
    const { key, fleet } = await startWith(20, 2, { LIMITS_FAILURE: 'refuse' });
    expect(countOf(await sendMany(fleet, key.key, 10), 200)).toBe(10);
    await redis.kill();
    await allLogged(fleet, LOST);
    const refused = await fleet[0].get('/stats', key.key);
    expect(refused.status).toBe(503);
    expect(refused.json).toEqual({ error: 'Rate limits cannot be checked at the moment' });
    expect(await fleet[0].metrics()).toMatch(
      /^api_refusals_total\{reason="limits_unavailable"\} [1-9]/m,
    );
    expect(refused.headers['retry-after']).toBe('5');
    const ready = await fleet[0].readyz();
    expect([ready.status, ready.json.limits.mode]).toEqual([503, 'refuse']);
    await redis.restart();
    await allLogged(fleet, SHARED, 2);
    expect(countOf(await sendMany(fleet, key.key, 30), 200)).toBe(20);
    await stopAll(fleet);
  });

  test('a server that does not answer delays one request, and none after it', async () => {
    const { key, fleet } = await startWith(1000, 1, {}, 500);
    const [proxy] = fleet;
    redis.freeze();
    try {
      expect((await proxy.get('/stats', key.key)).status).toBe(200);
      await proxy.logged('Command timed out');
      expect(countOf(await sendMany([proxy], key.key, 20), 200)).toBe(20);
      expect(await proxy.metrics()).toMatch(/^limits_decisions_total\{by="proxy"\} 21$/m);
    } finally {
      redis.thaw();
    }
    await proxy.logged(SHARED, 2);
    await proxy.stop();
  });
});
