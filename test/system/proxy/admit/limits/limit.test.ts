/** The limits of keys and addresses as clients see them, over real HTTP. */
import { describe, expect, test, vi } from 'vitest';
import { makeKey } from '#lib/format/api-key.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { NEVER, type Reply, send, startProxy, testKey, writeKeys } from '#test/support/product.ts';

const snapshotsDir = await makeSampleSnapshots();

const countOf = (statuses: readonly number[], status: number) =>
  statuses.filter((found) => found === status).length;

const start = (environment: Readonly<Record<string, string>> = {}) =>
  startProxy(snapshotsDir, environment, NEVER);

test.each([1, 2])(
  'with %i serving threads, exactly 120 of 121 simultaneous requests are admitted with a limit of 120',
  async (threads) => {
    const key = testKey(1, { limit: 120 });
    writeKeys(snapshotsDir, [key]);
    const proxy = await start({ PROXY_THREADS: String(threads) });
    const replies = await Promise.all(
      Array.from({ length: 121 }, () => proxy.get('/stats', key.key)),
    );
    const statuses = replies.map(({ status }) => status);
    expect(countOf(statuses, 200)).toBe(120);
    expect(countOf(statuses, 429)).toBe(1);
    const remaining = replies
      .filter(({ status }) => status === 200)
      .map(({ headers }) => Number(headers['x-ratelimit-remaining']))
      .sort((a, b) => a - b);
    expect(remaining).toEqual(Array.from({ length: 120 }, (_, i) => i));
  },
);

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

describe.each([1, 2])('with %i serving threads, requests without a valid key', (threads) => {
  const PROXY_THREADS = String(threads);

  test('are limited per address, while keys in use behind the same address still work', async () => {
    const inUse = testKey(1);
    const unused = testKey(2);
    writeKeys(snapshotsDir, [inUse, unused]);
    const proxy = await start({ PROXY_THREADS, ADDRESS_RATE_LIMIT: '5' });
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
});
