/**
 * A restart of the real proxy keeps the counted requests of keys and addresses; a crash loses them.
 */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeKey } from '../../../format/api-key.ts';
import { limitWindowsFile, PROXY_FOLDER } from '../../../format/layout.ts';
import { makeInstanceFiles } from '../../../proxy/state/instance-files.ts';
import { bootId, makeLimitHandover } from '../../../proxy/state/limit-handover.ts';
import { now } from '../../../proxy/workers/serving.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import {
  end,
  type RunningProxy,
  send,
  startProxy,
  testKey,
  until,
  writeKeys,
} from '../../support/product.ts';
import { freePort } from '../../support/servers/ports.ts';

describe('a restarted proxy', () => {
  let dir: string;
  let PORT: string;
  const file = () => path.join(dir, PROXY_FOLDER, limitWindowsFile(Number(PORT)));

  beforeAll(async () => {
    dir = await makeSampleSnapshots();
  });

  // Each test has its own port, so that it does not get the windows of another test.
  beforeEach(async () => {
    PORT = String(await freePort());
  });

  const start = (environment: Readonly<Record<string, string>> = {}) =>
    startProxy(dir, { PORT, ...environment });

  const request = async ({ url }: RunningProxy, key: string | undefined) => {
    const headers = { connection: 'close', ...(key === undefined ? {} : { 'x-api-key': key }) };
    const reply = await send(`${url}/api/v1/stats`, { headers });
    const number = (name: string) => Number(reply.headers[`x-ratelimit-${name}`]);
    return { status: reply.status, remaining: number('remaining'), reset: number('reset') };
  };

  const askOften = async (proxy: RunningProxy, key: string | undefined, times: number) => {
    const statuses: number[] = [];
    for (let i = 0; i < times; i++) statuses.push((await request(proxy, key)).status);
    return statuses;
  };

  test.each([1, 3])(
    'with %i serving threads continues the windows of keys and addresses',
    async (threads) => {
      const environment = { PROXY_THREADS: String(threads), ADDRESS_RATE_LIMIT: '6' };
      const used = testKey(1, { limit: 10 });
      const unused = testKey(2, { limit: 10 });
      writeKeys(dir, [used, unused]);
      const first = await start(environment);
      await until(async () => (await request(first, used.key)).status === 200);
      const before = await request(first, used.key);
      const at = performance.now();
      expect(before.remaining).toBe(8);
      expect(await askOften(first, used.key, 3)).toEqual([200, 200, 200]);
      expect(await askOften(first, undefined, 4)).toEqual([401, 401, 401, 401]);
      expect(await first.stop()).toBe(0);

      expect(statSync(file()).mode & 0o777).toBe(0o600);
      const bytes = readFileSync(file());
      for (const secret of [used.key, '127.0.0.1']) expect(bytes.includes(secret)).toBe(false);

      const second = await start(environment);
      expect(existsSync(file())).toBe(false);
      const after = await request(second, used.key);
      expect([after.status, after.remaining]).toEqual([200, 4]);
      expect(await askOften(second, used.key, 6)).toEqual([200, 200, 200, 200, 429, 429]);
      // The wait is the one of the first process, not a minute from the start of the second.
      const elapsed = (performance.now() - at) / 1000;
      const refused = await second.get('/stats', used.key);
      const retry = Number(refused.headers['retry-after']);
      expect(retry).toBeLessThanOrEqual(Math.ceil(60 - elapsed) + 1);
      expect(retry).toBeGreaterThanOrEqual(60 - Math.ceil(elapsed) - 5);
      expect(await askOften(second, undefined, 4)).toEqual([401, 401, 429, 429]);
      expect((await request(second, unused.key)).status).toBe(429);
      expect(await second.stop()).toBe(0);
    },
  );

  test('gives a key its whole limit after a crash, a rotation, or damage to the file', async () => {
    const key = testKey(1, { limit: 5 });
    writeKeys(dir, [key]);
    const killed = await start();
    await until(async () => (await request(killed, key.key)).status === 200);
    await askOften(killed, key.key, 4);
    await end(killed.child, 'SIGKILL');
    const restarted = await start();
    expect(await askOften(restarted, key.key, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    await restarted.stop();

    // A rotated key has the same id and another hash.
    const rotated = testKey(1, { limit: 5 });
    const kept = readFileSync(file());
    writeKeys(dir, [rotated]);
    const afterRotation = await start();
    expect(await askOften(afterRotation, rotated.key, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    await afterRotation.kill();

    // Reads the undamaged file of the second process, and then damaged copies.
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => lines.push(line) });
    const clock = () => ({ now: now(), wall: Date.now(), boot: bootId() });
    const handover = makeLimitHandover(makeInstanceFiles(dir), Number(PORT), clock, log);
    writeFileSync(file(), kept);
    expect((await handover.read())?.keys[0]?.times).toHaveLength(5);
    for (const damage of [kept.subarray(0, 100), Buffer.alloc(0), Buffer.alloc(65 * 2 ** 20)]) {
      writeFileSync(file(), damage);
      lines.length = 0;
      expect(await handover.read()).toBe(undefined);
      expect(lines.join()).toContain('the limits start from zero');
    }
    await handover.clear();
    expect(existsSync(file())).toBe(false);
    lines.length = 0;
    expect([await handover.read(), lines]).toEqual([undefined, []]);
  });

  test('keeps the counted requests of a key whose limit was lowered in between', async () => {
    const key = testKey(1, { limit: 10 });
    writeKeys(dir, [key]);
    const first = await start();
    await until(async () => (await request(first, key.key)).status === 200);
    await askOften(first, key.key, 7);
    await first.stop();
    writeKeys(dir, [{ ...key, limit: 3 }]);
    const second = await start();
    expect(await request(second, key.key)).toMatchObject({ status: 429, remaining: 0 });
    writeKeys(dir, [{ ...key, limit: 9 }]);
    await until(async () => (await request(second, key.key)).status === 200);
    expect((await request(second, key.key)).status).toBe(429);
    await second.kill();
  });

  test('gets only the windows of its own port, and none without a fixed port', async () => {
    const key = testKey(1, { limit: 5 });
    writeKeys(dir, [key]);
    const other = String(await freePort());
    const startBoth = () => Promise.all([start(), startProxy(dir, { PORT: other })]);
    const proxies = await startBoth();
    for (const [index, proxy] of proxies.entries()) {
      await until(async () => (await request(proxy, key.key)).status === 200);
      await askOften(proxy, key.key, index);
    }
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    const onAnyPort = await startProxy(dir);
    expect((await request(onAnyPort, key.key)).remaining).toBe(4);
    await onAnyPort.stop();
    expect(existsSync(path.join(dir, PROXY_FOLDER, limitWindowsFile(0)))).toBe(false);
    const again = await startBoth();
    const left = await Promise.all(again.map((proxy) => request(proxy, key.key)));
    expect(left.map(({ remaining }) => remaining)).toEqual([3, 2]);
    await Promise.all(again.map((proxy) => proxy.kill()));
  });
});

test('a key keeps its window if the keys can be read only later', async () => {
  const dir = await makeSampleSnapshots();
  const PORT = String(await freePort());
  const key = testKey(1, { limit: 5 });
  writeKeys(dir, [key]);
  const request = async (proxy: RunningProxy, sent: string) =>
    (await proxy.get('/stats', sent)).headers['x-ratelimit-remaining'];
  const first = await startProxy(dir, { PORT });
  await until(async () => (await request(first, key.key)) === '3');
  await first.stop();
  writeFileSync(path.join(dir, 'keys.json'), 'damaged');
  const second = await startProxy(dir, { PORT });
  await until(() => second.log().includes('keys.json is damaged'));
  expect((await second.get('/stats', makeKey())).status).toBe(503);
  writeKeys(dir, [key]);
  await until(async () => (await second.readyz()).status === 200);
  expect(await request(second, key.key)).toBe('2');
  await second.kill();
});

test('a proxy that never reads the keys hands its windows over unchanged', async () => {
  const dir = await makeSampleSnapshots();
  const PORT = String(await freePort());
  const key = testKey(1, { limit: 5 });
  writeKeys(dir, [key]);
  const request = (proxy: RunningProxy) => proxy.get('/stats', key.key);
  const first = await startProxy(dir, { PORT });
  for (let i = 0; i < 5; i++) expect((await request(first)).status).toBe(200);
  await first.stop();
  rmSync(path.join(dir, 'keys.json'));
  const second = await startProxy(dir, { PORT });
  expect((await request(second)).status).toBe(503);
  await second.stop();
  writeKeys(dir, [key]);
  const third = await startProxy(dir, { PORT });
  expect((await request(third)).status).toBe(429);
  await third.kill();
});
