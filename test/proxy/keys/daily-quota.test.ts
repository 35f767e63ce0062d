/** The daily quota of a key: exact over threads, days, restarts and changes. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROXY_FOLDER } from '../../../format/layout.ts';
import {
  continueDay,
  dayCountOf,
  isUsedUp,
  takeFromDay,
  usedUp,
} from '../../../proxy/keys/daily-quota.ts';
import { currentDay, newUseCounts, sumOfUse } from '../../../proxy/keys/use-counts.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import { QUICK_POLLS } from '../../support/processes.ts';
import {
  type RunningProxy,
  startProxy,
  type TestKey,
  testKey,
  until,
  writeKeys,
} from '../../support/product.ts';
import { freePort } from '../../support/servers/ports.ts';
import { type RedisServer, startRedis } from '../../support/servers/redis.ts';

describe('the count of a day', () => {
  const newCount = (dailyQuota: number | undefined, day = currentDay(), admitted = 0) => {
    const memory = newUseCounts(2);
    continueDay(memory, day, admitted);
    return { memory, dailyQuota, dayCount: dayCountOf(memory) };
  };
  const take = (count: ReturnType<typeof newCount>, times: number) =>
    Array.from({ length: times }, () => takeFromDay(count)).filter(Boolean).length;

  test('admits exactly the quota, and continues that of an earlier run', () => {
    const count = newCount(5);
    expect([isUsedUp(count), take(count, 9), isUsedUp(count)]).toEqual([false, 5, true]);
    const continued = newCount(5, currentDay(), 3);
    expect([take(continued, 9), isUsedUp(continued)]).toEqual([2, true]);
    expect([take(newCount(5, currentDay(), 7), 9)]).toEqual([0]);
  });

  test('begins again with a new day, but not for a thread that still has the day before', () => {
    const yesterday = newCount(5, currentDay() - 1, 5);
    expect([isUsedUp(yesterday), take(yesterday, 9)]).toEqual([false, 5]);
    const ahead = newCount(5, currentDay() + 1, 4);
    expect([take(ahead, 9), isUsedUp(ahead)]).toEqual([1, true]);
    const longAgo = newCount(5, currentDay() - 64, 5);
    expect(take(longAgo, 9)).toBe(5);
  });

  test('includes the requests before the key got its quota, and is separate from other counts', () => {
    const count = newCount(undefined);
    expect([isUsedUp(count), take(count, 7)]).toEqual([false, 7]);
    expect(isUsedUp({ ...count, dailyQuota: 7 })).toBe(true);
    expect(take({ ...count, dailyQuota: 9 }, 9)).toBe(2);
    expect([...sumOfUse(count.memory, 0), ...sumOfUse(count.memory, 1)]).toEqual(Array(8).fill(0));
  });

  test('says when the day ends, with time for each thread to notice', () => {
    const secondsAt = (time: string) => usedUp(60, Date.parse(time)).resetSeconds;
    expect(secondsAt('2026-03-01T00:00:00Z')).toBe(24 * 3600 + 1);
    expect(secondsAt('2026-03-01T23:59:59.999Z')).toBe(1);
  });
});

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** Sends requests at once, each on a connection of its own. @returns how many got each status */
async function send(proxy: RunningProxy, { key }: TestKey, times: number) {
  const replies = await Promise.all(
    Array.from({ length: times }, () => proxy.get('/stats', key, { connection: 'close' })),
  );
  const statusCount = (status: number) => replies.filter((each) => each.status === status).length;
  return { replies, admitted: statusCount(200), refused: statusCount(429) };
}

describe.each([
  ['own limits', () => ({})],
  ['shared limits', () => ({ LIMITS_URL: redis.url })],
])('a proxy with several threads and %s', (kind, environment) => {
  test('admits exactly the quota, also across a restart, and says when the day ends', async () => {
    const snapshotsDir = await makeSampleSnapshots();
    const key = testKey(kind === 'own limits' ? 11 : 12, { dailyQuota: 30 });
    writeKeys(snapshotsDir, [key]);
    const PORT = String(await freePort());
    const start = () =>
      startProxy(snapshotsDir, { ...environment(), ...QUICK_POLLS, PORT, PROXY_THREADS: '3' });
    const first = await start();
    expect(await send(first, key, 20)).toMatchObject({ admitted: 20, refused: 0 });
    expect(await first.stop()).toBe(0);
    expect(readdirSync(path.join(snapshotsDir, PROXY_FOLDER))).toContain(`key-usage-${PORT}.json`);
    const second = await start();
    const { replies, ...counts } = await send(second, key, 40);
    expect(counts).toEqual({ admitted: 10, refused: 30 });
    const refused = replies.find(({ status }) => status === 429);
    expect(refused?.text).toBe('{"error":"Daily quota exceeded"}');
    const wait = Number(refused?.headers['retry-after']);
    const left = 24 * 3600 - ((Date.now() / 1000) % (24 * 3600));
    expect(Math.abs(wait - left)).toBeLessThan(10);
    expect(refused?.headers['x-ratelimit-reset']).toBe(String(wait));
    expect(refused?.headers['x-ratelimit-remaining']).toBe('0');
    expect(await second.metrics()).toMatch(/reason="daily_quota"\} 30$/m);
    // A higher quota counts what was admitted before.
    writeKeys(snapshotsDir, [{ ...key, dailyQuota: 35 }]);
    await until(async () => (await second.get('/stats', key.key)).status === 200);
    expect((await send(second, key, 20)).admitted).toBe(4);
    // A rotated key keeps the count; a key without a quota has none.
    const rotated = testKey(key.id, { dailyQuota: 36 });
    writeKeys(snapshotsDir, [rotated]);
    await until(async () => (await second.get('/stats', rotated.key)).status === 200);
    expect((await send(second, rotated, 5)).admitted).toBe(0);
    const { dailyQuota: _, ...free } = rotated;
    writeKeys(snapshotsDir, [free]);
    await until(async () => (await second.get('/stats', free.key)).status === 200);
    expect((await send(second, free, 5)).admitted).toBe(5);
    expect(await second.stop()).toBe(0);
  });
});
