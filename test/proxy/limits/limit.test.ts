/** The limits of keys and addresses as clients see them, over real HTTP. */
import { beforeAll, describe, expect, test } from 'vitest';
import { makeKey } from '../../../format/api-key.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import { QUICK_POLLS } from '../../support/processes.ts';
import { send, startProxy, testKey, until, writeKeys } from '../../support/product.ts';

let snapshotsDir: string;

beforeAll(async () => {
  snapshotsDir = await makeSampleSnapshots();
});

const countOf = (statuses: readonly number[], status: number) =>
  statuses.filter((found) => found === status).length;

describe.each([1, 4])('with %i serving threads', (threads) => {
  const start = (environment: Readonly<Record<string, string>> = {}) =>
    startProxy(snapshotsDir, { ...environment, PROXY_THREADS: String(threads) });

  test('exactly 120 of 121 simultaneous requests are admitted with a limit of 120', async () => {
    const key = testKey(1, { limit: 120 });
    writeKeys(snapshotsDir, [key]);
    const proxy = await start();
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
    await proxy.stop();
  });

  test('a wall clock that jumps back and forth has no effect', async () => {
    const key = testKey(1, { limit: 120 });
    writeKeys(snapshotsDir, [key]);
    // Every reading of the wall clock is wrong by up to half a day.
    const steps =
      'const n = Date.now; Date.now = () => n() + Math.round((Math.random() - 0.5) * 86400000);';
    const proxy = await start({
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(steps)}`,
    });
    const statuses: number[] = [];
    for (let i = 0; i < 200; i++) {
      const { status, headers } = await proxy.get('/stats', key.key);
      statuses.push(status);
      expect(Number(headers['x-ratelimit-reset'])).toBeLessThanOrEqual(60);
      expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThan(40);
    }
    expect(statuses).toEqual(Array.from({ length: 200 }, (_, i) => (i < 120 ? 200 : 429)));
    await proxy.stop();
  });

  describe('requests without a valid key', () => {
    test('are limited per address, while keys in use behind the same address still work', async () => {
      const inUse = testKey(1);
      const unused = testKey(2);
      writeKeys(snapshotsDir, [inUse, unused]);
      const proxy = await start({ ADDRESS_RATE_LIMIT: '5' });
      const request = (key: string | undefined) =>
        send(`${proxy.url}/api/v1/stats`, {
          headers: key === undefined ? {} : { 'x-api-key': key },
        });
      expect((await request(inUse.key)).status).toBe(200);
      const guesses: number[] = [];
      for (let i = 0; i < 8; i++)
        guesses.push((await request(i % 2 ? makeKey() : undefined)).status);
      expect(guesses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
      const refused = await request(undefined);
      expect(refused.headers['x-ratelimit-limit']).toBe('5');
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect((await request(inUse.key)).status).toBe(200);
      // Only a lookup can distinguish an unused key from a guess, and the address has no lookups left.
      expect((await request(unused.key)).status).toBe(429);
      await proxy.stop();
    });

    test('count for the forwarded address only if a trusted proxy forwards it', async () => {
      writeKeys(snapshotsDir, [testKey(1)]);
      for (const [trusted, expected] of [
        ['', [401, 401, 429, 429]],
        ['127.0.0.1', [401, 401, 401, 401]],
      ] as const) {
        const proxy = await start({
          ADDRESS_RATE_LIMIT: '2',
          TRUSTED_PROXIES: trusted,
        });
        const statuses: number[] = [];
        for (let i = 0; i < 4; i++) {
          const headers = { 'x-forwarded-for': `198.51.100.${i}` };
          statuses.push((await send(`${proxy.url}/api/v1/stats`, { headers })).status);
        }
        expect(statuses).toEqual(expected);
        await proxy.stop();
      }
    });
  });

  test('a changed limit, and a key that is revoked, reach the proxy without a restart', async () => {
    const key = testKey(1, { limit: 5_000 });
    writeKeys(snapshotsDir, [key]);
    // No limit may be reached by polling.
    const proxy = await start({ ADDRESS_RATE_LIMIT: '1000', ...QUICK_POLLS });
    const request = () => proxy.get('/stats', key.key);
    expect((await request()).headers['x-ratelimit-limit']).toBe('5000');
    writeKeys(snapshotsDir, [{ ...key, limit: 4_000 }]);
    await until(async () => (await request()).headers['x-ratelimit-limit'] === '4000');
    writeKeys(snapshotsDir, [{ ...key, state: 'revoked' }]);
    await until(async () => (await request()).status === 401);
    writeKeys(snapshotsDir, [key]);
    await until(async () => (await request()).status === 200);
    writeKeys(snapshotsDir, []);
    await until(async () => (await request()).status === 401);
    await proxy.stop();
  });
});
