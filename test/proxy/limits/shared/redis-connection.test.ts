/** The connection to the store: passwords, TLS, Sentinel, and what happens when a server goes away. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { parseLimitsUrl } from '../../../../program/environment/limits-url.ts';
import { connectToRedis } from '../../../../proxy/limits/shared/redis-connection.ts';
import { makeSampleSnapshots } from '../../../catalogue/snapshots.ts';
import { startTied } from '../../../support/processes.ts';
import { makeFolder, startProxy, testKey, until, writeKeys } from '../../../support/product.ts';
import { freePort } from '../../../support/servers/ports.ts';
import { REDIS_PASSWORD, startRedis } from '../../../support/servers/redis.ts';

function connect(url: string) {
  const address = parseLimitsUrl(url);
  if (address === undefined) throw new Error(`${url} is empty`);
  return connectToRedis(address);
}

test('a wrong password is reported, and the connection is tried again', async () => {
  const redis = await startRedis();
  const connection = connect(`redis://:wrong@127.0.0.1:${redis.port}`);
  await until(() => connection.fault()?.includes('WRONGPASS') === true);
  expect(connection.server()).toBe(undefined);
  await redis.client.config('SET', 'requirepass', 'wrong');
  await until(() => connection.server() !== undefined);
  connection.close();
  await redis.stop();
});

test('commands under way fail when the server dies, and are never sent again', async () => {
  const redis = await startRedis();
  const connection = connect(redis.url);
  await until(() => connection.server() !== undefined);
  const before = connection.server();
  redis.freeze();
  const reply = connection.run('leave', ['members'], ['me']);
  const failed = expect(reply).rejects.toThrow();
  await redis.kill();
  await failed;
  await expect(connection.run('leave', ['members'], ['me'])).rejects.toThrow();
  await redis.restart();
  await until(() => connection.server() !== undefined);
  expect(connection.server()).not.toBe(before);
  const info = await redis.client.info('commandstats');
  expect(info).not.toMatch(/cmdstat_eval(sha)?:/);
  connection.close();
  await redis.stop();
});

test('a policy that evicts windows is reported', async () => {
  const redis = await startRedis(['--maxmemory', '10mb', '--maxmemory-policy', 'allkeys-lru']);
  const connection = connect(redis.url);
  await until(() => connection.server() !== undefined);
  expect(connection.fault()).toContain('maxmemory-policy is allkeys-lru');
  connection.close();
  await redis.stop();
});

test('rediss:// uses TLS with a server name that its certificate must have', async () => {
  const folder = makeFolder();
  const file = (name: string) => path.join(folder, name);
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-keyout', file('key.pem'), '-out', file('certificate.pem'), ...subject],
  ]);
  const port = String(await freePort());
  const tls = ['--tls-port', port, '--tls-cert-file', file('certificate.pem')];
  const redis = await startRedis([
    ...[...tls, '--tls-key-file', file('key.pem'), '--tls-auth-clients', 'no'],
  ]);
  const dir = await makeSampleSnapshots([testKey(1)]);
  const proxy = await startProxy(dir, {
    LIMITS_URL: `rediss://:${encodeURIComponent(REDIS_PASSWORD)}@localhost:${port}`,
    NODE_EXTRA_CA_CERTS: file('certificate.pem'),
  });
  await until(async () => (await proxy.readyz()).json.limits.mode === 'shared');
  await proxy.stop();
  const untrusted = await startProxy(dir, {
    LIMITS_URL: `rediss://:${encodeURIComponent(REDIS_PASSWORD)}@localhost:${port}`,
  });
  const { limits } = (await untrusted.readyz()).json;
  expect(limits).toMatchObject({ mode: 'local' });
  expect(limits.error).toMatch(/self.signed certificate/);
  await untrusted.stop();
  await redis.stop();
});

test('with Sentinel, the proxies follow a failover and keep what was admitted', async () => {
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
