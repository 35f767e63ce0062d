/** With Sentinel, the proxies follow a failover of the store, which keeps what it was sent. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { until } from '#test/soak/support/until.ts';
import { startTied } from '#test/support/processes.ts';
import { makeFolder, startProxy, testKey, writeKeys } from '#test/support/product.ts';
import { freePort } from '#test/support/servers/ports.ts';
import { REDIS_PASSWORD, startRedis } from '#test/support/servers/redis.ts';

test('the proxies follow a failover', async () => {
  const primary = await startRedis();
  const replica = await startRedis(['--replicaof', '127.0.0.1', String(primary.port)]);
  const folder = makeFolder();
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  writeFileSync(
    path.join(folder, 'sentinel.conf'),
    [
      ...[`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`],
      `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
      `sentinel auth-pass main ${REDIS_PASSWORD}`,
      ...['sentinel down-after-milliseconds main 500', 'sentinel failover-timeout main 3000'],
    ].join('\n'),
  );
  const sentinel = await startTied(
    ['redis-server', path.join(folder, 'sentinel.conf'), '--sentinel'],
    { signal: 'KILL' },
  );
  await until(async () => /master_link_status:up/.test(await replica.client.info('replication')));
  const key = testKey(1, { limit: 30 });
  const dir = await makeSampleSnapshots();
  writeKeys(dir, [key]);
  const password = encodeURIComponent(REDIS_PASSWORD);
  const LIMITS_URL = `redis+sentinel://:${password}@127.0.0.1:${port}/main`;
  const proxies = await Promise.all([
    startProxy(dir, { LIMITS_URL }),
    startProxy(dir, { LIMITS_URL }),
  ]);
  const areIn = async (mode: string) => {
    const states = await Promise.all(proxies.map((proxy) => proxy.readyz()));
    return states.every(({ json }) => json.limits.mode === mode);
  };
  await until(() => areIn('shared'));
  for (let i = 0; i < 20; i++) {
    expect((await proxies[i % 2].get('/stats', key.key)).status).toBe(200);
  }
  // Sentinel must know the replica before the primary dies.
  const client = new Redis({ port });
  await until(async () => String(await client.call('SENTINEL', 'REPLICAS', 'main')) !== '');
  client.disconnect();
  await primary.kill();
  await until(() => areIn('local'));
  await until(() => areIn('shared'));
  const statuses: number[] = [];
  for (let i = 0; i < 14; i++) statuses.push((await proxies[i % 2].get('/stats', key.key)).status);
  expect(statuses).toEqual([...Array(10).fill(200), ...Array(4).fill(429)]);
  await Promise.all(proxies.map((proxy) => proxy.stop()));
  await sentinel.stop();
  await replica.stop();
  await primary.stop();
});
