/** Maintenance, in a running proxy. */
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeSampleSnapshots } from '../catalogue/snapshots.ts';
import { makeContractChecker } from '../support/openapi.ts';
import { QUICK_POLLS } from '../support/processes.ts';
import {
  type Reply,
  type RunningProxy,
  send,
  startProxy,
  testKey,
  until,
} from '../support/product.ts';

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
  await proxy.stop();
});

test('maintenance is on from the start, also if its file is a link to nothing', async () => {
  const snapshots = await makeSampleSnapshots([key]);
  writeFileSync(path.join(snapshots, 'maintenance'), '5');
  const proxy = await startProxy(snapshots, QUICK_POLLS);
  expect(await statusFor(proxy, CLIENT)).toBe(503);
  rmSync(path.join(snapshots, 'maintenance'));
  symlinkSync('nowhere', path.join(snapshots, 'maintenance'));
  await untilStatus(proxy, CLIENT, 200);
  await proxy.stop();
});
