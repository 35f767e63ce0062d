/** Several serving threads on one port share keys, limits and counts, and stop together. */
import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import { type RunningProxy, startProxy, testKey, until, writeKeys } from '../../support/product.ts';

const THREADS = 3;
let snapshotsDir: string;

beforeAll(async () => {
  snapshotsDir = await makeSampleSnapshots();
});

const start = () => startProxy(snapshotsDir, { PROXY_THREADS: String(THREADS) });

/** Sends each request on a new connection, so that every thread gets some. */
function sendRequests(proxy: RunningProxy, key: string, times: number): Promise<number[]> {
  return Promise.all(
    Array.from({ length: times }, async () => {
      const headers = { connection: 'close' };
      return (await proxy.get('/games/snes/chrono-trigger', key, headers)).status;
    }),
  );
}

test('all threads listen, and the metrics count the responses of all', async () => {
  const key = testKey(1);
  writeKeys(snapshotsDir, [key]);
  const proxy = await start();
  const port = proxy.port.toString(16).toUpperCase().padStart(4, '0');
  const listening = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .filter((line) => line.includes(`:${port} 00000000:0000 0A`));
  expect(listening).toHaveLength(THREADS);
  expect(new Set(await sendRequests(proxy, key.key, 200))).toEqual(new Set([200]));
  const text = await proxy.metrics();
  expect(text).toContain('api_requests_total{route="game",status="200"} 200');
  expect(text).toMatch(/^snapshot_swaps_total 1$/m);
  await proxy.stop();
});

test('requests counted by any thread are kept when a limit is raised', async () => {
  const key = testKey(1, { limit: 20 });
  writeKeys(snapshotsDir, [key]);
  const proxy = await start();
  const before = await sendRequests(proxy, key.key, 60);
  expect(before.filter((status) => status === 200)).toHaveLength(20);
  writeKeys(snapshotsDir, [{ ...key, limit: 100 }]);
  // Waits until all threads use the new limit, with requests that are counted too.
  await until(async () => {
    const limits = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const { headers } = await proxy.get('/none', key.key, { connection: 'close' });
        return headers['x-ratelimit-limit'];
      }),
    );
    return limits.every((limit) => limit === '100');
  });
  await sendRequests(proxy, key.key, 200);
  const text = await proxy.metrics();
  const admitted = [
    ...text.matchAll(/^api_requests_total\{route="(?:game|none)",status="(200|404)"\} (\d+)$/gm),
  ]
    .map(([, , count]) => Number(count))
    .reduce((sum, count) => sum + count, 0);
  expect(admitted).toBe(100);
  await proxy.stop();
});

test('SIGTERM ends all threads with exit code 0 and loses no request under way', async () => {
  const key = testKey(1);
  writeKeys(snapshotsDir, [key]);
  const proxy = await start();
  const statuses: number[] = [];
  let isOver = false;
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      try {
        statuses.push(...(await sendRequests(proxy, key.key, 1)));
      } catch {
        // The connection was refused, because the proxy no longer listens.
        isOver = true;
      }
    }
  });
  await until(() => statuses.length > 100);
  const ended = proxy.stop();
  await Promise.all(clients);
  expect(await ended).toBe(0);
  expect(new Set(statuses)).toEqual(new Set([200]));
});
