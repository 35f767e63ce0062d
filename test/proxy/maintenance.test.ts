/** Maintenance, in a running proxy. */
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { MAINTENANCE_FILE } from '../../format/layout.ts';
import { makeSampleSnapshots } from '../catalogue/snapshots.ts';
import { makeContractChecker } from '../support/openapi.ts';
import { NEVER, send, startProxy, testKey } from '../support/product.ts';

const key = testKey(1, { limit: 10 });

test('requests during maintenance do not count', async () => {
  const snapshots = await makeSampleSnapshots([key]);
  const file = path.join(snapshots, MAINTENANCE_FILE);
  const proxy = await startProxy(snapshots, {}, NEVER);
  const get = () => proxy.get('/stats', key.key);
  expect((await get()).headers['x-ratelimit-remaining']).toBe('9');
  writeFileSync(file, '');
  await proxy.refresh();
  expect((await get()).status).toBe(503);
  rmSync(file);
  await proxy.refresh();
  expect((await get()).headers['x-ratelimit-remaining']).toBe('8');
  await proxy.stop();
});

test('during maintenance the API answers 503, and says when to come back', async () => {
  const snapshots = await makeSampleSnapshots([key]);
  const file = path.join(snapshots, MAINTENANCE_FILE);
  const proxy = await startProxy(snapshots, {}, NEVER);
  const get = () => proxy.get('/stats', key.key);
  const retryAfter = async () => (await get()).headers['retry-after'];
  writeFileSync(file, '600\n');
  await proxy.refresh();
  const reply = await get();
  expect([reply.status, reply.json]).toEqual([503, { error: 'Under maintenance' }]);
  expect(reply.headers['retry-after']).toBe('600');
  makeContractChecker().check('GET', '/api/v1/stats', 503, reply.headers, reply.text);
  expect((await send(`${proxy.url}/api/v1/stats`, { method: 'OPTIONS' })).status).toBe(204);
  expect((await send(`${proxy.url}/`)).status).toBe(200);
  expect((await send(`${proxy.url}/status`)).text).toContain('The API is under maintenance');
  expect((await send(`${proxy.adminUrl}/healthz`)).status).toBe(200);
  const { status, json } = await proxy.readyz();
  expect([status, json.ready, json.maintenance]).toEqual([
    503,
    false,
    { retry_after_seconds: 600 },
  ]);
  expect(await proxy.metrics()).toMatch(/^api_maintenance 1$/m);

  for (const [content, fault] of [
    ['soon', 'not "soon"'],
    ['0', 'not "0"'],
    ['86401', 'not "86401"'],
    ['x'.repeat(2_000), 'larger than'],
  ] as const) {
    writeFileSync(file, content);
    await proxy.refresh();
    expect((await proxy.readyz()).json.faults.join()).toContain(fault);
    expect(await retryAfter()).toBe('60');
  }
  for (const [content, seconds] of [
    ['', '60'],
    ['1', '1'],
    ['86400', '86400'],
  ] as const) {
    writeFileSync(file, content);
    await proxy.refresh();
    expect((await proxy.readyz()).json.faults).toEqual([]);
    expect(await retryAfter()).toBe(seconds);
  }
  expect(proxy.log().match(/maintenance has begun/g)).toHaveLength(1);

  rmSync(file);
  await proxy.refresh();
  const after = await proxy.readyz();
  expect([after.status, after.json.maintenance]).toEqual([200, null]);
  expect(proxy.log()).toContain('maintenance has ended');
  await proxy.stop();
});

test('maintenance is on from the start, and off if its file is a link to nothing', async () => {
  const snapshots = await makeSampleSnapshots([key]);
  const file = path.join(snapshots, MAINTENANCE_FILE);
  writeFileSync(file, '5');
  const proxy = await startProxy(snapshots, {}, NEVER);
  expect((await proxy.get('/stats', key.key)).status).toBe(503);
  rmSync(file);
  symlinkSync('nowhere', file);
  await proxy.refresh();
  expect((await proxy.get('/stats', key.key)).status).toBe(200);
  await proxy.stop();
});
