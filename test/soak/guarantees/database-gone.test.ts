/**
 * The API without its database: the proxy answers every read, the last known keys stay valid, another
 * proxy can start, and readiness and metrics report the age of data and keys.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { expect, test } from 'vitest';
import { fillDatabase } from '#demo/catalogue/load.ts';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { makeKey } from '#lib/format/api-key.ts';
import { startSchedule } from '#test/generator/schedule/start-schedule.ts';
import { IS_FULL, printFigure } from '#test/soak/rounds.ts';
import { until } from '#test/soak/support/until.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { type ProxyProgram, runKeys, startProxyProgram } from '#test/support/product.ts';
import { readBodies } from '#test/support/read-all.ts';
import { startDatabaseServer } from '#test/support/servers/database-server.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

const GONE_MS = IS_FULL ? 60_000 : 5_000;
const CLIENTS = 6;

/** How old the data and the keys are, in seconds. The metrics are read later, and must agree. */
async function readAges(proxy: ProxyProgram): Promise<{ data: number; keys: number }> {
  const { json, status } = await proxy.readyz();
  const text = await proxy.metrics();
  expect([status, json.ready]).toEqual([200, true]);
  const ages = { data: json.snapshot_age_seconds, keys: json.keys_age_seconds };
  for (const [name, age] of Object.entries({ snapshot: ages.data, api_keys: ages.keys })) {
    const [, later] = new RegExp(`^${name}_age_seconds (\\d+)$`, 'm').exec(text) ?? [];
    // The machine may have paused between the two.
    expect([age, age + 1, age + 2]).toContain(Number(later));
  }
  return ages;
}

test('without the database no read fails, keys stay valid, and the ages grow until it is back', async () => {
  const server = await startDatabaseServer();
  atEndOfFile(server.stop);
  const DATABASE_URL = await server.createDatabase('gone');
  await fillDatabase(DATABASE_URL, sampleCatalogue());
  const snapshotsDir = newSnapshots();
  const keys = async (...words: string[]) => {
    const { code, stdout, stderr } = await runKeys(DATABASE_URL, words);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  const approved = await keys('issue', '--limit', '1000000');
  const limited = await keys('issue', '--limit', '3');
  const revoked = await keys('issue');
  await keys('revoke', '3', '--reason', 'a test');
  const cron = { GENERATE_CRON: '*/3 * * * * *' };
  const schedule = startSchedule(DATABASE_URL, snapshotsDir, cron);
  const proxy = await startProxyProgram(snapshotsDir);
  const request = (key: string, from = proxy) => from.get('/stats', key);
  await until(async () => (await request(approved)).status === 200);
  const { headers } = await request(approved);

  const { bodies } = await readBodies(proxy, approved);
  const targets = [...bodies.keys()];

  await server.kill();
  const gone = performance.now();
  const secondsGone = () => (performance.now() - gone) / 1000;
  const pool = new Pool(proxy.url, { connections: CLIENTS });
  let reads = 0;
  // Every second request has another number of them, so that most are not served from the cache.
  const separators = (i: number) => '&'.repeat(1 + (i % 400));
  const client = async (number: number) => {
    for (let i = number * 17; secondsGone() * 1000 < GONE_MS; i++, reads++) {
      const target = targets[i % targets.length] ?? '';
      const reply = await pool.request({
        method: 'GET',
        path: `/api/v1${target}${i % 2 ? '' : `${target.includes('?') ? '' : '?'}${separators(i)}`}`,
        headers: { 'x-api-key': approved },
      });
      const text = await reply.body.text();
      if (reply.statusCode !== 200 || text !== bodies.get(target)) {
        throw new Error(`${target} was answered with ${reply.statusCode}: ${text}`);
      }
      if (i % 50 === 0) await pause(1);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
  await pool.close();
  const after = await readAges(proxy);
  const least = Math.floor(GONE_MS / 1000) - 1;
  expect(Math.min(after.data, after.keys)).toBeGreaterThanOrEqual(least);
  expect(after.keys).toBeLessThan(secondsGone() + 10);
  expect(reads).toBeGreaterThan(100);
  expect(schedule.log()).toContain('the keys file is not updated');

  const expectKeysAsKnown = async (from: ProxyProgram) => {
    expect((await request(approved, from)).status).toBe(200);
    expect((await request(revoked, from)).status).toBe(401);
    expect((await request(makeKey(), from)).status).toBe(401);
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await request(limited, from)).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  };
  await expectKeysAsKnown(proxy);
  // A proxy that is started during the outage.
  const second = await startProxyProgram(snapshotsDir);
  await expectKeysAsKnown(second);
  expect((await request(approved, second)).headers['x-snapshot']).toBe(headers['x-snapshot']);
  expect((await readAges(second)).keys).toBeGreaterThanOrEqual(least);
  await second.kill();

  await server.restart();
  await until(async () => {
    const { json } = await proxy.readyz();
    return json.snapshot_age_seconds < least && json.keys_age_seconds < least;
  });
  await keys('revoke', '1', '--reason', 'a test');
  await until(async () => (await request(approved)).status === 401);
  expect(await schedule.stop()).toBe(0);
  await proxy.kill();
  printFigure(
    'Database gone',
    `${Math.round(GONE_MS / 1000)} s without it: ${reads} reads, 0 failed; the data ${after.data} s old, the keys ${after.keys} s`,
  );
});
