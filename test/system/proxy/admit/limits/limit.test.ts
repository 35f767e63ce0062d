/** The limits of keys and addresses as clients see them, over real HTTP. */
import { expect, test, vi } from 'vitest';
import { makeKey } from '#lib/format/api-key.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { NEVER, type Reply, send, startProxy, testKey, writeKeys } from '#test/support/product.ts';

const snapshotsDir = await makeSampleSnapshots();

const start = (environment: Readonly<Record<string, string>> = {}) =>
  startProxy(snapshotsDir, environment, NEVER);

test('a wall clock that jumps back and forth has no effect', async () => {
  const key = testKey(1, { limit: 20 });
  writeKeys(snapshotsDir, [key]);
  const proxy = await start();
  const real = Date.now;
  let readings = 0;
  // Every second reading of the wall clock is half a day later.
  const wallClock = vi
    .spyOn(Date, 'now')
    .mockImplementation(() => real() + (readings++ % 2) * 43_200_000);
  const replies: Reply[] = [];
  try {
    for (let i = 0; i < 30; i++) replies.push(await proxy.get('/stats', key.key));
  } finally {
    wallClock.mockRestore();
  }
  const statuses = replies.map(({ status }) => status);
  expect(statuses).toEqual(Array.from({ length: 30 }, (_, i) => (i < 20 ? 200 : 429)));
  for (const { headers } of replies) {
    expect(headers['x-ratelimit-reset']).toMatch(/^([1-9]|[1-5]\d|60)$/);
  }
});

test('guesses are limited per address on all threads, while keys in use behind the same address still work', async () => {
  const inUse = testKey(1);
  const unused = testKey(2);
  writeKeys(snapshotsDir, [inUse, unused]);
  const proxy = await start({ PROXY_THREADS: '2', ADDRESS_RATE_LIMIT: '5' });
  const request = (key: string | undefined) =>
    send(`${proxy.url}/api/v1/stats`, {
      headers: { connection: 'close', ...(key === undefined ? {} : { 'x-api-key': key }) },
    });
  expect((await request(inUse.key)).status).toBe(200);
  const guesses: number[] = [];
  for (let i = 0; i < 8; i++) guesses.push((await request(i % 2 ? makeKey() : undefined)).status);
  expect(guesses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
  const refused = await request(undefined);
  expect(refused.headers['x-ratelimit-limit']).toBe('5');
  expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect((await request(inUse.key)).status).toBe(200);
  // A key that was not in use cannot be distinguished from a lucky guess.
  expect((await request(unused.key)).status).toBe(429);
});
