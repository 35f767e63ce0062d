/** Maintenance, in a running proxy. */
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { MAINTENANCE_FILE } from '#lib/format/layout.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { checkContract } from '#test/support/openapi.ts';
import { NEVER, send, startProxy, testKey } from '#test/support/product.ts';

const key = testKey(1, { limit: 100 });

test('during maintenance the API answers 503 without counting, and says when to come back', async () => {
  const snapshots = await makeSampleSnapshots([key]);
  const file = path.join(snapshots, MAINTENANCE_FILE);
  const proxy = await startProxy(snapshots, {}, NEVER);
  const get = () => proxy.get('/stats', key.key);
  expect((await get()).headers['x-ratelimit-remaining']).toBe('99');
  for (const [content, seconds, fault] of [
    ['600\n', '600', ''],
    ['soon', '60', 'not "soon"'],
    ['0', '60', 'not "0"'],
    ['86401', '60', 'not "86401"'],
    ['x'.repeat(2_000), '60', 'larger than'],
    ['', '60', ''],
    ['1', '1', ''],
    ['86400', '86400', ''],
  ] as const) {
    writeFileSync(file, content);
    await proxy.refresh();
    const reply = await get();
    expect([reply.status, reply.json]).toEqual([503, { error: 'Under maintenance' }]);
    expect(reply.headers['retry-after']).toBe(seconds);
    checkContract('GET', '/api/v1/stats', reply);
    const { status, json } = await proxy.readyz();
    expect([status, json.ready]).toEqual([503, false]);
    expect(json.maintenance).toEqual({ retry_after_seconds: Number(seconds) });
    expect(json.faults).toEqual(fault === '' ? [] : [expect.stringContaining(fault)]);
  }
  expect((await send(`${proxy.url}/api/v1/stats`, { method: 'OPTIONS' })).status).toBe(204);
  expect((await send(`${proxy.url}/`)).status).toBe(200);
  expect((await send(`${proxy.adminUrl}/healthz`)).status).toBe(200);
  expect(await proxy.metrics()).toMatch(/^api_maintenance 1$/m);
  expect(proxy.log().match(/maintenance has begun/g)).toHaveLength(1);

  rmSync(file);
  await proxy.refresh();
  const after = await proxy.readyz();
  expect([after.status, after.json.maintenance]).toEqual([200, null]);
  expect((await get()).headers['x-ratelimit-remaining']).toBe('98');
  expect(proxy.log()).toContain('maintenance has ended');
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
});
