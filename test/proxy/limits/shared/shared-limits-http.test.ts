/** Limits that several proxies share, as clients see them: real proxies, a real Redis, over HTTP. */
import { afterAll, describe, expect, test } from 'vitest';
import { makeKey } from '../../../../format/api-key.ts';
import { makeSampleSnapshots } from '../../../catalogue/snapshots.ts';
import { changeTimers, PATIENT_LIMITS, QUICK_POLLS } from '../../../support/processes.ts';
import {
  end,
  type ProxyProgram,
  send,
  startProxyProgram,
  testKey,
  until,
  writeKeys,
} from '../../../support/product.ts';
import { freePort } from '../../../support/servers/ports.ts';
import { type RedisServer, startRedis } from '../../../support/servers/redis.ts';

const servers: RedisServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.stop())));

/** A snapshots folder and a Redis for one test, so that the tests can run at the same time. */
async function makePlace(): Promise<{ dir: string; redis: RedisServer }> {
  const dir = await makeSampleSnapshots();
  const redis = await startRedis();
  servers.push(redis);
  return { dir, redis };
}

const countOf = (statuses: readonly number[], status: number) =>
  statuses.filter((found) => found === status).length;

async function startFleet(
  { dir, redis }: { dir: string; redis: RedisServer },
  proxies: number,
  environment: Readonly<Record<string, string>> = {},
): Promise<ProxyProgram[]> {
  const own = { LIMITS_URL: redis.url, ...PATIENT_LIMITS, ...environment };
  const fleet = await Promise.all(
    Array.from({ length: proxies }, () => startProxyProgram(dir, own)),
  );
  await untilMode(fleet, 'shared', proxies);
  return fleet;
}

async function untilMode(fleet: readonly ProxyProgram[], mode: string, proxies?: number) {
  await until(async () => {
    const states = await Promise.all(fleet.map((proxy) => proxy.readyz()));
    return states.every(
      ({ json }) =>
        json.limits.mode === mode && (proxies === undefined || json.limits.proxies >= proxies),
    );
  });
}

/** Sends requests to all proxies in turn, all at once. */
async function sendMany(
  fleet: readonly ProxyProgram[],
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

/**
 * Sends requests one after the other until one is over the limit. On a machine that is very busy, the
 * store does not always answer in time: 503 is then no answer.
 * @returns how many were admitted
 */
async function admittedOf(
  fleet: readonly ProxyProgram[],
  key: string,
  most: number,
): Promise<number> {
  let admitted = 0;
  while (admitted < most) {
    const { status } = await fleet[admitted % fleet.length].get('/stats', key);
    if (status === 429) break;
    if (status === 200) admitted++;
  }
  return admitted;
}

const killAll = (fleet: readonly ProxyProgram[]) => Promise.all(fleet.map((proxy) => proxy.stop()));

describe.each([
  [2, 1],
  [3, 2],
])('%i proxies with %i serving threads', (proxies, threads) => {
  const PROXY_THREADS = String(threads);

  test.concurrent('admit exactly 120 of 200 simultaneous requests, and 10 without a key', async () => {
    const place = await makePlace();
    const key = testKey(1, { limit: 120 });
    writeKeys(place.dir, [key]);
    const fleet = await startFleet(place, proxies, { PROXY_THREADS, ADDRESS_RATE_LIMIT: '10' });
    const started = performance.now();
    const statuses = await sendMany(fleet, key.key, 200);
    expect([countOf(statuses, 200), countOf(statuses, 429)]).toEqual([120, 80]);
    const refused = await fleet[0].get('/stats', key.key);
    expect(refused.headers).toMatchObject({
      'x-ratelimit-limit': '120',
      'x-ratelimit-remaining': '0',
    });
    const elapsed = (performance.now() - started) / 1000;
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(59 - elapsed);
    const guesses = await sendMany(fleet, undefined, 30);
    expect([countOf(guesses, 401), countOf(guesses, 429)]).toEqual([10, 20]);
    const preflight = await send(`${fleet[0].url}/api/v1/stats`, { method: 'OPTIONS' });
    expect(preflight.headers['x-ratelimit-remaining']).toBe('0');
    await killAll(fleet);
  });
});

test.concurrent('a key that is not in use cannot be guessed once its address is over the limit anywhere', async () => {
  const place = await makePlace();
  const [inUse, unused] = [testKey(1), testKey(2)];
  writeKeys(place.dir, [inUse, unused]);
  const fleet = await startFleet(place, 2, { ADDRESS_RATE_LIMIT: '5' });
  const [first, second] = fleet;
  expect((await second.get('/stats', inUse.key)).status).toBe(200);
  const guesses = await sendMany([first], makeKey(), 8);
  expect([countOf(guesses, 401), countOf(guesses, 429)]).toEqual([5, 3]);
  expect((await second.get('/stats', unused.key)).status).toBe(429);
  expect((await second.get('/stats', inUse.key)).status).toBe(200);
  await killAll(fleet);
});

test.concurrent('a changed limit and a revoked key reach every proxy', async () => {
  const place = await makePlace();
  const key = testKey(1, { limit: 50 });
  writeKeys(place.dir, [key]);
  const fleet = await startFleet(place, 2, QUICK_POLLS);
  const limits = async () => {
    const replies = await Promise.all(fleet.map((proxy) => proxy.get('/stats', key.key)));
    return replies.map(({ headers }) => headers['x-ratelimit-limit']);
  };
  expect(await limits()).toEqual(['50', '50']);
  writeKeys(place.dir, [{ ...key, limit: 90 }]);
  await until(async () => (await limits()).every((limit) => limit === '90'));
  writeKeys(place.dir, [{ ...key, state: 'revoked' }]);
  await until(async () => (await sendMany(fleet, key.key, 2)).every((status) => status === 401));
  await killAll(fleet);
});

describe('when the store is gone', () => {
  test.concurrent('each proxy admits its share, and reports it before it asks the store again', async () => {
    const place = await makePlace();
    const key = testKey(1, { limit: 20 });
    writeKeys(place.dir, [key]);
    const fleet = await startFleet(place, 2);
    await place.redis.kill();
    await untilMode(fleet, 'local');
    const statuses = await sendMany(fleet, key.key, 60);
    expect([countOf(statuses, 200), countOf(statuses, 429)]).toEqual([20, 40]);
    expect((await fleet[0].readyz()).json).toMatchObject({ ready: true });
    await place.redis.restart();
    await untilMode(fleet, 'shared');
    // The new server has learnt from the proxies that the limit is used up.
    expect(countOf(await sendMany(fleet, key.key, 20), 200)).toBe(0);
    await killAll(fleet);
  });

  test.concurrent('with refuse, requests get 503 and count for nobody', async () => {
    const place = await makePlace();
    const key = testKey(1, { limit: 20 });
    writeKeys(place.dir, [key]);
    const fleet = await startFleet(place, 2, { LIMITS_FAILURE: 'refuse' });
    expect(await admittedOf(fleet, key.key, 10)).toBe(10);
    await place.redis.kill();
    await untilMode(fleet, 'refuse');
    const refused = await fleet[0].get('/stats', key.key);
    expect(refused.status).toBe(503);
    expect(refused.json).toEqual({ error: 'Rate limits cannot be checked at the moment' });
    expect(await fleet[0].metrics()).toMatch(
      /^api_refusals_total\{reason="limits_unavailable"\} [1-9]/m,
    );
    expect(refused.headers['retry-after']).toBe('5');
    expect((await fleet[0].readyz()).status).toBe(503);
    await place.redis.restart();
    await untilMode(fleet, 'shared');
    expect(await admittedOf(fleet, key.key, 30)).toBe(10);
    await killAll(fleet);
  });

  test.concurrent('a server that does not answer delays requests by at most a moment', async () => {
    const place = await makePlace();
    const key = testKey(1, { limit: 1000 });
    writeKeys(place.dir, [key]);
    const [proxy] = await startFleet(place, 1, changeTimers({}));
    const timeOfRequest = async () => {
      const started = performance.now();
      expect((await proxy.get('/stats', key.key)).status).toBe(200);
      return performance.now() - started;
    };
    place.redis.freeze();
    try {
      // It waits 0.2 s. The rest allows for a busy machine.
      expect(await timeOfRequest()).toBeLessThan(5_000);
      await untilMode([proxy], 'local');
      // From then on none waits. Other work on the machine does not delay all of them.
      const times: number[] = [];
      for (let i = 0; i < 20; i++) times.push(await timeOfRequest());
      expect(Math.min(...times)).toBeLessThan(100);
    } finally {
      place.redis.thaw();
    }
    await untilMode([proxy], 'shared');
    await killAll([proxy]);
  });

  test.concurrent('a proxy can start, serve and stop', async () => {
    const place = await makePlace();
    const key = testKey(1, { limit: 20 });
    writeKeys(place.dir, [key]);
    const LIMITS_URL = `redis://127.0.0.1:${await freePort()}`;
    const proxy = await startProxyProgram(place.dir, { LIMITS_URL });
    expect(countOf(await sendMany([proxy], key.key, 30), 200)).toBe(20);
    expect(proxy.log()).toContain('cannot ask the limits store');
    expect(await proxy.stop()).toBe(0);
  });
});

test.concurrent('a store that was emptied is filled again by the proxies', async () => {
  const place = await makePlace();
  const key = testKey(1, { limit: 30 });
  writeKeys(place.dir, [key]);
  const fleet = await startFleet(place, 3);
  expect(countOf(await sendMany(fleet, key.key, 24), 200)).toBe(24);
  await place.redis.client.flushall();
  // The first request afterwards notices that the windows are gone.
  await sendMany(fleet, makeKey(), 3);
  await untilMode(fleet, 'shared');
  expect(countOf(await sendMany(fleet, key.key, 30), 200)).toBe(6);
  await killAll(fleet);
});

test.concurrent('a restarted proxy counts nothing twice and forgets nothing', async () => {
  const place = await makePlace();
  const key = testKey(1, { limit: 30 });
  writeKeys(place.dir, [key]);
  const PORT = String(await freePort());
  const [first] = await startFleet(place, 1, { PORT });
  expect(countOf(await sendMany([first], key.key, 10), 200)).toBe(10);
  await first.stop();
  const [second] = await startFleet(place, 1, { PORT });
  const reply = await second.get('/stats', key.key);
  expect(reply.headers['x-ratelimit-remaining']).toBe('19');
  await end(second.child, 'SIGKILL');
  const [third] = await startFleet(place, 1, { PORT });
  expect((await third.get('/stats', key.key)).headers['x-ratelimit-remaining']).toBe('18');
  await killAll([third]);
});

test.concurrent('the metrics count calls, waiting and who decided', async () => {
  const place = await makePlace();
  const key = testKey(1);
  writeKeys(place.dir, [key]);
  const [proxy] = await startFleet(place, 1);
  await sendMany([proxy], key.key, 10);
  const metrics = await proxy.metrics();
  const value = (name: string) =>
    Number(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (.*)$`, 'm').exec(metrics)?.[1]);
  expect(value('limits_store_up')).toBe(1);
  expect(value('limits_proxies')).toBeGreaterThanOrEqual(1);
  expect(value('limits_store_calls_total')).toBeGreaterThanOrEqual(1);
  expect(value('limits_store_wait_seconds_total')).toBeGreaterThan(0);
  expect(value('limits_decisions_total{by="store"}')).toBe(10);
  expect(value('limits_decisions_total{by="proxy"}')).toBe(0);
  await killAll([proxy]);
});
