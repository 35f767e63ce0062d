/**
 * A proxy that is killed between two reports of key usage: what it had reported stays, what it counted
 * within the last minute is lost, and nothing is counted twice, however often the files are imported.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeKeyUsageImport } from '#keys/export/import-key-usage.ts';
import { createKeysTables } from '#keys/tables/schema.ts';
import type { Database } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { IS_FULL, printFigure } from '#test/soak/rounds.ts';
import { makeDatabase } from '#test/support/databases.ts';
import { end, type ProxyProgram, startProxyProgram, testKey } from '#test/support/product.ts';

/** The proxy reports every minute. The short form does not wait for it. */
const REPORT_MS = IS_FULL ? 62_000 : 0;
const key = testKey(1);

async function makeKeys(): Promise<Database> {
  const database = await openDatabase(await makeDatabase('sqlite'));
  await createKeysTables(database);
  await database.run(
    `INSERT INTO api_keys (id, purpose, website_url, state, requested_at)
     VALUES (1, '', '', 'approved', '2026-01-01 00:00:00')`,
  );
  return database;
}

async function use(proxy: ProxyProgram, times: number): Promise<void> {
  for (let i = 0; i < times; i++) expect((await proxy.get('/stats', key.key)).status).toBe(200);
}

test('loses at most what it counted since its last report, and repeats nothing', async () => {
  const snapshotsDir = await makeSampleSnapshots([key]);
  const database = await makeKeys();
  const imported = async () => {
    // As after a restart of the schedule, which imports every file again.
    for (let times = 0; times < 2; times++) {
      await makeKeyUsageImport(snapshotsDir)(database, new Date());
    }
    const [[requests] = []] = await database.rows('SELECT SUM(requests) FROM key_usage');
    return Number(requests ?? 0);
  };

  const stopped = await startProxyProgram(snapshotsDir);
  await use(stopped, 5);
  expect(await stopped.stop()).toBe(0);
  expect(await imported()).toBe(5);

  const killed = await startProxyProgram(snapshotsDir);
  await use(killed, 3);
  await sleep(REPORT_MS);
  const reported = IS_FULL ? 3 : 0;
  await use(killed, 4);
  expect(await imported()).toBe(5 + reported);
  await end(killed.child, 'SIGKILL');
  expect(await imported()).toBe(5 + reported);

  const last = await startProxyProgram(snapshotsDir);
  expect(await imported()).toBe(5 + reported);
  await use(last, 2);
  expect(await last.stop()).toBe(0);
  expect(await imported()).toBe(5 + reported + 2);
  printFigure('key usage', `of 14 requests, ${4 + 3 - reported} were lost`);
  await database.close();
});
