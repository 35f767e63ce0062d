/** Blocked addresses and maintenance, in a running proxy whose files change. */
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import { makeContractChecker } from '../../support/openapi.ts';
import { QUICK_POLLS } from '../../support/processes.ts';
import {
  makeFolder,
  type Reply,
  type RunningProxy,
  runProgram,
  send,
  startProxy,
  testKey,
  until,
} from '../../support/product.ts';

const contract = makeContractChecker();
const key = testKey(1);
const CLIENT = '203.0.113.7';

/** Sends a request as a client behind a trusted proxy. */
function sendAs(
  proxy: RunningProxy,
  address: string,
  target = '/api/v1/stats',
  method = 'GET',
): Promise<Reply> {
  const headers = { 'x-api-key': key.key, 'x-forwarded-for': address, connection: 'close' };
  return send(proxy.url + target, { headers, method });
}

const statusFor = async (proxy: RunningProxy, address: string) =>
  (await sendAs(proxy, address)).status;

/** Replaces a file as a whole, because the proxy may read it at any moment. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

/** Waits until every thread answers requests of an address with a status. */
const untilStatus = (proxy: RunningProxy, address: string, status: number) =>
  until(async () => {
    const found = await Promise.all(Array.from({ length: 12 }, () => statusFor(proxy, address)));
    return found.every((each) => each === status);
  });

describe('blocked addresses', () => {
  async function start(text: string, environment: Readonly<Record<string, string>> = {}) {
    const file = path.join(makeFolder(), 'blocked.txt');
    writeFileSync(file, text);
    const snapshots = await makeSampleSnapshots([key]);
    const proxy = await startProxy(snapshots, {
      BLOCKED_ADDRESSES: file,
      TRUSTED_PROXIES: '127.0.0.1',
      ...QUICK_POLLS,
      ...environment,
    });
    return { file, proxy };
  }

  test('get 403 for every path and method, and their requests do not count', async () => {
    const { proxy } = await start(`${CLIENT}\n2001:db8:77::/48\n`, { ADDRESS_RATE_LIMIT: '2' });
    const targets = ['/api/v1/stats', '/api/v1/nothing', '/', '/docs', '/account', '/nothing'];
    for (const target of targets) {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE']) {
        const reply = await sendAs(proxy, CLIENT, target, method);
        expect([target, method, reply.status]).toEqual([target, method, 403]);
        if (method !== 'HEAD') expect(reply.json).toEqual({ error: 'This address is blocked' });
      }
    }
    const reply = await sendAs(proxy, CLIENT);
    contract.check('GET', '/api/v1/stats', 403, reply.headers, reply.text);
    expect(await statusFor(proxy, '2001:db8:77:1::1')).toBe(403);
    expect(await statusFor(proxy, `::ffff:${CLIENT}`)).toBe(403);
    expect(await statusFor(proxy, '203.0.113.8')).toBe(200);
    const own = await send(`${proxy.url}/api/v1/stats`, { headers: { 'x-forwarded-for': CLIENT } });
    expect(own.status).toBe(403);
    const metrics = await proxy.metrics();
    expect(metrics).toMatch(/^api_refusals_total\{reason="blocked_address"\} \d+$/m);
    expect(metrics).toMatch(/^api_refusals_total\{reason="address_limit"\} 0$/m);
    await proxy.kill();
  });

  test('are read again by all threads; a wrong or missing file leaves them as they are', async () => {
    const { proxy, file } = await start('192.0.2.1\n', { PROXY_THREADS: '2' });
    expect(await statusFor(proxy, CLIENT)).toBe(200);
    replace(file, `192.0.2.1\n${CLIENT}\n`);
    await untilStatus(proxy, CLIENT, 403);

    replace(file, '192.0.2.1\n203.0.113.\n');
    const faults = async () => (await proxy.readyz()).json.faults.join();
    await until(async () => (await faults()).includes('blocked.txt'));
    expect(await faults()).toContain('line 2: "203.0.113."');
    expect(proxy.log()).toContain('the same addresses stay blocked');
    await untilStatus(proxy, CLIENT, 403);
    rmSync(file);
    await until(async () => (await faults()).includes('ENOENT'));
    await untilStatus(proxy, CLIENT, 403);

    replace(file, '# nobody\n');
    await untilStatus(proxy, CLIENT, 200);
    expect(await faults()).toBe('');
    expect((await proxy.readyz()).status).toBe(200);
    await proxy.kill();
  });

  test('an untrusted X-Forwarded-For neither blocks nor hides a client', async () => {
    const { proxy } = await start('127.0.0.1\n', { TRUSTED_PROXIES: '' });
    expect(await statusFor(proxy, CLIENT)).toBe(403);
    await proxy.kill();
  });

  test('a wrong file is a fault of the configuration at the start', async () => {
    const file = path.join(makeFolder(), 'blocked.txt');
    writeFileSync(file, 'localhost\n');
    const environment = { SNAPSHOTS_DIR: makeFolder(), BLOCKED_ADDRESSES: file };
    const { code, stderr } = await runProgram('proxy/main.ts', [], environment);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^BLOCKED_ADDRESSES is \/.+: .*line 1: "localhost"\.$/m);
  });
});

test('during maintenance the API answers 503 on all threads, and requests do not count', async () => {
  const small = testKey(2, { limit: 10 });
  const snapshots = await makeSampleSnapshots([key, small]);
  const file = path.join(snapshots, 'maintenance');
  const proxy = await startProxy(snapshots, { PROXY_THREADS: '2', ...QUICK_POLLS });
  const leftOf = async () =>
    (await proxy.get('/stats', small.key)).headers['x-ratelimit-remaining'];
  expect(await leftOf()).toBe('9');
  replace(file, '600\n');
  await untilStatus(proxy, CLIENT, 503);
  for (let i = 0; i < 20; i++) await leftOf();
  const reply = await sendAs(proxy, CLIENT);
  expect(reply.json).toEqual({ error: 'Under maintenance' });
  expect(reply.headers['retry-after']).toBe('600');
  contract.check('GET', '/api/v1/stats', 503, reply.headers, reply.text);
  expect((await sendAs(proxy, CLIENT, '/api/v1/stats', 'OPTIONS')).status).toBe(204);
  expect((await sendAs(proxy, CLIENT, '/')).status).toBe(200);
  const statusPage = await sendAs(proxy, CLIENT, '/status');
  expect(statusPage.text).toContain('The API is under maintenance');
  expect((await send(`${proxy.adminUrl}/healthz`)).status).toBe(200);
  const { status, json } = await proxy.readyz();
  expect([status, json.ready, json.maintenance]).toEqual([
    503,
    false,
    { retry_after_seconds: 600 },
  ]);
  expect(await proxy.metrics()).toMatch(/^api_maintenance 1$/m);

  const retryAfter = async () => (await sendAs(proxy, CLIENT)).headers['retry-after'];
  for (const [content, fault] of [
    ['soon', 'not "soon"'],
    ['86401', 'not "86401"'],
    ['x'.repeat(2_000), 'larger than'],
  ] as const) {
    replace(file, content);
    await until(async () => (await proxy.readyz()).json.faults.join().includes(fault));
    expect(await retryAfter()).toBe('60');
  }
  replace(file, '');
  await until(async () => (await proxy.readyz()).json.faults.length === 0);
  expect(await retryAfter()).toBe('60');
  expect(proxy.log().match(/maintenance has begun/g)).toHaveLength(1);

  rmSync(file);
  await until(async () => (await proxy.readyz()).status === 200);
  expect(await leftOf()).toBe('8');
  expect((await proxy.readyz()).json.maintenance).toBe(null);
  expect(proxy.log()).toContain('maintenance has ended');
  await proxy.kill();
});

test('maintenance is on from the start, also if its file is a link to nothing', async () => {
  const snapshots = await makeSampleSnapshots([key]);
  writeFileSync(path.join(snapshots, 'maintenance'), '5');
  const proxy = await startProxy(snapshots, QUICK_POLLS);
  expect(await statusFor(proxy, CLIENT)).toBe(503);
  rmSync(path.join(snapshots, 'maintenance'));
  symlinkSync('nowhere', path.join(snapshots, 'maintenance'));
  await untilStatus(proxy, CLIENT, 200);
  await proxy.kill();
});
