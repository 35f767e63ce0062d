/** The connection to the store: passwords, TLS, and what happens when a server goes away. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, test } from 'vitest';
import { readLimitsUrl } from '#lib/program/environment/limits-url.ts';
import { connectToRedis, type RedisConnection } from '#proxy/admit/limits/redis-connection.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { makeFolder } from '#test/support/product.ts';
import { makeCertificate } from '#test/support/servers/certificate.ts';
import { freePort } from '#test/support/servers/ports.ts';
import { REDIS_PASSWORD, startRedis } from '#test/support/servers/redis.ts';

/** As good as for ever. */
const TIMEOUT_MS = 1e6;
const PASSWORD = encodeURIComponent(REDIS_PASSWORD);

interface Watched extends RedisConnection {
  /** Resolves when the condition holds, which is looked at whenever the connection changes. */
  when(condition: () => boolean): Promise<void>;
}

function connect(url: string): Watched {
  const address = readLimitsUrl(url);
  if (address === undefined) throw new Error(`${url} is no address`);
  const checks = new Set<() => void>();
  const connection = connectToRedis(address, TIMEOUT_MS, () => {
    for (const check of checks) check();
  });
  atEndOfFile(connection.close);
  return {
    ...connection,
    when: (condition) =>
      new Promise((resolve) => {
        const check = () => {
          if (!condition()) return;
          checks.delete(check);
          resolve();
        };
        checks.add(check);
        check();
      }),
  };
}

async function start(options: readonly string[] = []) {
  const redis = await startRedis(options);
  atEndOfFile(redis.stop);
  return redis;
}

/** A server, and a connection to it. */
async function connected() {
  const redis = await start();
  const connection = connect(redis.url);
  await connection.when(connection.isReady);
  return { redis, connection };
}

test('a wrong password is reported, and the connection is tried again', async () => {
  const redis = await start();
  const connection = connect(`redis://:wrong@127.0.0.1:${redis.port}`);
  await connection.when(() => connection.fault()?.includes('WRONGPASS') === true);
  expect(connection.isReady()).toBe(false);
  await redis.client.config('SET', 'requirepass', 'wrong');
  await connection.when(connection.isReady);
  expect(connection.fault()).toBe(undefined);
});

test('commands under way fail when the server dies, and are never sent again', async () => {
  const { redis, connection } = await connected();
  redis.freeze();
  const reply = connection.take(['k1'], [1, 1, 1]);
  const failed = expect(reply).rejects.toThrow();
  await redis.kill();
  await failed;
  await expect(connection.take(['k1'], [1, 1, 1])).rejects.toThrow();
  await redis.restart();
  await connection.when(connection.isReady);
  const info = await redis.client.info('commandstats');
  expect(info).not.toMatch(/cmdstat_eval(sha)?:/);
});

test('a server that is now a replica is left', async () => {
  const { redis, connection } = await connected();
  await redis.client.replicaof('127.0.0.1', '1');
  await expect(connection.take(['k1'], [1, 1, 1])).rejects.toThrow('READONLY');
  connection.reset('READONLY');
  expect(connection.isReady()).toBe(false);
});

test('a window refuses beyond its limit, and a refused claim refuses those behind it', async () => {
  const { redis, connection } = await connected();
  const full = expect.closeTo(60e6, -7);
  const take = (names: string[], ...args: number[]) => connection.take(names, args);
  expect(await take(['k1'], 2, 0, 1)).toEqual([1, 2, 0]);
  // Three requests in one call: the limit is 2.
  expect(await take(['k1', 'k1', 'k1'], ...[2, 1, 1], ...[2, 1, 1], ...[2, 1, 1])).toEqual([
    ...[1, 1, full, 1, 0, full, 0, 0, full],
  ]);
  // The address has nothing left, so the key is not counted; the next request is another one.
  const guarded = await take(['k1', 'k2', 'k3'], ...[2, 0, 0], ...[5, 1, 1], ...[5, 1, 1]);
  expect(guarded).toEqual([0, 0, full, 0, 5, 0, 1, 4, full]);
  // A limit that was lowered counts what was admitted before.
  expect(await take(['k1'], 1, 1, 1)).toEqual([0, 0, full]);
  const [window = ''] = await redis.client.keys('*k1');
  expect(await redis.client.pttl(window)).toBeLessThanOrEqual(61_000);
  // Times of more than a minute ago do not count.
  const old = Array.from({ length: 100 }, (_, i) => 1_000_000 + i);
  await redis.client.lpush(window, ...old.toReversed());
  expect(await take(['k1'], 3, 1, 1)).toEqual([1, 0, full]);
  expect(await redis.client.llen(window)).toBe(3);
});

test('rediss:// uses TLS with a server name that its certificate must have', async () => {
  const folder = makeFolder();
  const file = (name: string) => path.join(folder, name);
  await makeCertificate('localhost', file('certificate.pem'), file('key.pem'));
  const port = String(await freePort());
  const tls = ['--tls-port', port, '--tls-cert-file', file('certificate.pem')];
  await start([...tls, '--tls-key-file', file('key.pem'), '--tls-auth-clients', 'no']);
  const connection = connect(`rediss://:${PASSWORD}@localhost:${port}`);
  await connection.when(() => /self.signed certificate/.test(connection.fault() ?? ''));
  const trusted = getCACertificates('default');
  try {
    setDefaultCACertificates([...trusted, readFileSync(file('certificate.pem'), 'utf8')]);
    await connection.when(connection.isReady);
    const misnamed = connect(`rediss://:${PASSWORD}@127.0.0.1:${port}`);
    await misnamed.when(() => /certificate's altnames/.test(misnamed.fault() ?? ''));
    expect([misnamed.isReady(), connection.fault()]).toEqual([false, undefined]);
    misnamed.close();
  } finally {
    setDefaultCACertificates(trusted);
  }
});
