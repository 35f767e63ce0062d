/** The connection to the store: passwords, TLS, Sentinel, and what happens when a server goes away. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, test } from 'vitest';
import { parseLimitsUrl } from '../../../../../program/environment/limits-url.ts';
import type { StoreConnection } from '../../../../../proxy/limits/shared/connection.ts';
import { connectToRedis } from '../../../../../proxy/limits/shared/redis-connection.ts';
import { atEndOfFile } from '../../../../support/end-of-file.ts';
import { startTiedUntil } from '../../../../support/processes.ts';
import { makeFolder } from '../../../../support/product.ts';
import { freePort } from '../../../../support/servers/ports.ts';
import { REDIS_PASSWORD, startRedis } from '../../../../support/servers/redis.ts';

const PASSWORD = encodeURIComponent(REDIS_PASSWORD);

interface Watched extends StoreConnection {
  /** Resolves when the condition holds, which is looked at whenever the connection changes. */
  when(condition: () => boolean): Promise<void>;
}

function connect(url: string): Watched {
  const address = parseLimitsUrl(url);
  if (address === undefined) throw new Error(`${url} is empty`);
  const checks = new Set<() => void>();
  const connection = connectToRedis(address, () => {
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

const isConnected = (connection: StoreConnection) => () => connection.server() !== undefined;

test('a wrong password is reported, and the connection is tried again', async () => {
  const redis = await startRedis();
  const connection = connect(`redis://:wrong@127.0.0.1:${redis.port}`);
  await connection.when(() => connection.fault()?.includes('WRONGPASS') === true);
  expect(connection.server()).toBe(undefined);
  await redis.client.config('SET', 'requirepass', 'wrong');
  await connection.when(isConnected(connection));
  expect(connection.fault()).toBe(undefined);
  connection.close();
  await redis.stop();
});

test('commands under way fail when the server dies, and are never sent again', async () => {
  const redis = await startRedis();
  const connection = connect(redis.url);
  await connection.when(isConnected(connection));
  const before = connection.server();
  redis.freeze();
  const reply = connection.run('leave', ['members'], ['me']);
  const failed = expect(reply).rejects.toThrow();
  await redis.kill();
  await failed;
  await expect(connection.run('leave', ['members'], ['me'])).rejects.toThrow();
  await redis.restart();
  await connection.when(isConnected(connection));
  expect(connection.server()).not.toBe(before);
  const info = await redis.client.info('commandstats');
  expect(info).not.toMatch(/cmdstat_eval(sha)?:/);
  connection.close();
  await redis.stop();
});

test('a policy that evicts windows is reported, and a server that is now a replica is left', async () => {
  const redis = await startRedis(['--maxmemory', '10mb', '--maxmemory-policy', 'allkeys-lru']);
  const connection = connect(redis.url);
  await connection.when(isConnected(connection));
  expect(connection.fault()).toContain('maxmemory-policy is allkeys-lru');
  await redis.client.replicaof('127.0.0.1', '1');
  const left = connection.when(() => connection.server() === undefined);
  await expect(connection.run('leave', ['members'], ['me'])).rejects.toThrow('READONLY');
  await left;
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
  const connection = connect(`rediss://:${PASSWORD}@localhost:${port}`);
  await connection.when(() => /self.signed certificate/.test(connection.fault() ?? ''));
  const trusted = getCACertificates('default');
  try {
    setDefaultCACertificates([...trusted, readFileSync(file('certificate.pem'), 'utf8')]);
    await connection.when(isConnected(connection));
    const misnamed = connect(`rediss://:${PASSWORD}@127.0.0.1:${port}`);
    await misnamed.when(() => /certificate's altnames/.test(misnamed.fault() ?? ''));
    expect([misnamed.server(), connection.fault()]).toEqual([undefined, undefined]);
    misnamed.close();
  } finally {
    setDefaultCACertificates(trusted);
  }
  connection.close();
  await redis.stop();
});

test('with Sentinel, the connection leads to the primary', async () => {
  const primary = await startRedis();
  const folder = makeFolder();
  const port = await freePort();
  const configuration = path.join(folder, 'sentinel.conf');
  const lines = [
    ...[`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`],
    `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
    `sentinel auth-pass main ${REDIS_PASSWORD}`,
  ];
  writeFileSync(configuration, lines.join('\n'));
  const sentinel = await startTiedUntil(
    '+monitor master main',
    ['redis-server', configuration, '--sentinel'],
    { signal: 'KILL' },
  );
  const connection = connect(`redis+sentinel://:${PASSWORD}@127.0.0.1:${port}/main`);
  await connection.when(isConnected(connection));
  const info = await primary.client.info('server');
  expect(info).toContain(`run_id:${connection.server()}`);
  connection.close();
  await sentinel.stop();
  await primary.stop();
});
