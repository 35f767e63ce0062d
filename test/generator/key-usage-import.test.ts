/** The import of key usage from the files of proxies into the database. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { type DayUsage, encodeKeyUsage } from '../../format/key-usage.ts';
import { keyUsageFile, PROXY_FOLDER } from '../../format/layout.ts';
import { makeKeyUsageImport } from '../../generator/keys/import-key-usage.ts';
import { createKeysTables } from '../../keys/tables/schema.ts';
import { makeSampleSnapshots } from '../catalogue/snapshots.ts';
import { KINDS, makeDatabase } from '../support/databases.ts';
import { makeFolder, startProxy, testKey } from '../support/product.ts';

const NAME = keyUsageFile(8080);
const NOON = Date.parse('2026-03-01T12:00:00Z');
const USED = { requests: 1, notModified: 0, refused: 0, bytes: 10 };

describe.each(KINDS)('on %s', async (kind) => {
  const databaseUrl = await makeDatabase(kind);
  const days = async () => {
    const database = await openDatabase(databaseUrl);
    const rows = await database.rows('SELECT id, last_used_on FROM api_keys ORDER BY id');
    await database.close();
    return Object.fromEntries(rows);
  };

  test('the import only moves a day forward, and ignores days in the future', async () => {
    const folder = makeFolder();
    const file = path.join(folder, PROXY_FOLDER, NAME);
    const importKeyUsage = makeKeyUsageImport(folder);
    const now = new Date(NOON);
    const database = await openDatabase(databaseUrl);
    await importKeyUsage(database, now);
    mkdirSync(path.dirname(file));
    await createKeysTables(database);
    for (const id of [1, 2, 3, 4]) {
      await database.run(
        `INSERT INTO api_keys (id, purpose, website_url, state, requested_at, last_used_on)
         VALUES (?, '', '', 'approved', '2026-01-01 00:00:00', ?)`,
        [id, id === 2 ? '2026-02-10' : null],
      );
    }
    const take = async (entries: [number, string][]) => {
      writeFileSync(file, encodeKeyUsage({ days: new Map(entries), counts: [] }));
      await importKeyUsage(database, now);
      return days();
    };
    const first: [number, string][] = [
      [1, '2026-03-01'],
      [2, '2026-02-09'],
      [3, '2026-03-05'],
      [99, '2026-03-01'],
    ];
    expect(await take(first)).toEqual({ 1: '2026-03-01', 2: '2026-02-10', 3: null, 4: null });
    const many = Array.from({ length: 600 }, (_, index): [number, string] => [
      index + 1000,
      '2026-03-02',
    ]);
    expect(await take([[1, '2026-02-01'], [2, '2026-03-02'], ...many, [4, '2026-03-02']])).toEqual({
      1: '2026-03-01',
      2: '2026-03-02',
      3: null,
      4: '2026-03-02',
    });
    writeFileSync(file, 'damaged');
    await expect(importKeyUsage(database, now)).rejects.toThrow('damaged');
    await database.close();
  });

  test('a file that cannot be read does not prevent the import of the other files', async () => {
    const dir = makeFolder();
    const importKeyUsage = makeKeyUsageImport(dir);
    const now = new Date(NOON);
    const database = await openDatabase(databaseUrl);
    await database.run('UPDATE api_keys SET last_used_on = NULL');
    const folder = path.join(dir, PROXY_FOLDER);
    mkdirSync(folder);
    const write = (name: string, entries: [number, string][]) =>
      writeFileSync(
        path.join(folder, name),
        encodeKeyUsage({ days: new Map(entries), counts: [] }),
      );
    write(keyUsageFile(8080), [
      [1, '2026-02-20'],
      [2, '2026-02-25'],
    ]);
    write(keyUsageFile(8082), [
      [1, '2026-02-21'],
      [2, '2026-02-24'],
      [3, '2026-02-22'],
    ]);
    await importKeyUsage(database, now);
    const first = { 1: '2026-02-21', 2: '2026-02-25', 3: '2026-02-22', 4: null };
    expect(await days()).toEqual(first);
    // No proxy creates files with these names or of these kinds. A pipe must not block the schedule.
    write('key-usage-08080.json', [[4, '2026-02-25']]);
    write('key-usage-8080.json.1', [[4, '2026-02-25']]);
    const elsewhere = path.join(dir, 'elsewhere.json');
    writeFileSync(elsewhere, encodeKeyUsage({ days: new Map([[4, '2026-02-25']]), counts: [] }));
    symlinkSync(elsewhere, path.join(folder, keyUsageFile(1)));
    mkdirSync(path.join(folder, keyUsageFile(2)));
    execFileSync('mkfifo', [path.join(folder, keyUsageFile(3))]);
    write(keyUsageFile(8082), [[3, '2026-02-26']]);
    await expect(importKeyUsage(database, now)).rejects.toThrow();
    expect(await days()).toEqual({ ...first, 3: '2026-02-26' });
    await database.close();
  });
});

test('the usage that a proxy reports reaches the database', async () => {
  const database = await openDatabase(await makeDatabase('sqlite'));
  await createKeysTables(database);
  const used = testKey(3);
  for (const id of [3, 4]) {
    await database.run(
      `INSERT INTO api_keys (id, purpose, website_url, state, requested_at)
       VALUES (?, '', '', 'approved', '2026-01-01 00:00:00')`,
      [id],
    );
  }
  const snapshotsDir = await makeSampleSnapshots([used, testKey(4)]);
  const proxy = await startProxy(snapshotsDir);
  const from = today();
  const { bytes } = await proxy.get('/stats', used.key);
  await proxy.stop();
  await makeKeyUsageImport(snapshotsDir)(database, new Date());
  const [[, day], other] = await database.rows('SELECT id, last_used_on FROM api_keys ORDER BY id');
  // Both days are possible if the test runs across midnight.
  expect([from, today()]).toContain(day);
  expect(other).toEqual([4, null]);
  const counted = await database.rows('SELECT key_id, requests, bytes FROM key_usage');
  expect(counted).toEqual([[3, 1, bytes.length]]);
  await database.close();
});

const today = () => new Date().toISOString().slice(0, 10);

/** The use of one key on one day, as a run reports it. */
const usageOf = (run: string, day: string, id: number, requests: number): DayUsage => ({
  run: run.repeat(16),
  day,
  keys: new Map([[id, { requests, notModified: 1, refused: 2, bytes: requests * 100 }]]),
});

describe.each(KINDS)('the import of counts on %s', (kind) => {
  let database: Database;
  const dir = makeFolder();
  const folder = path.join(dir, PROXY_FOLDER);
  const now = new Date(NOON);
  beforeEach(async () => {
    database = await openDatabase(await makeDatabase(kind));
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    return () => database.close();
  });
  const write = (port: number, counts: readonly DayUsage[]) =>
    writeFileSync(
      path.join(folder, keyUsageFile(port)),
      encodeKeyUsage({ days: new Map(), counts }),
    );
  const rows = () =>
    database.rows(
      'SELECT key_id, day, run, requests, not_modified, refused, bytes FROM key_usage ORDER BY key_id, day, run',
    );
  const row = (run: string, day: string, id: number, requests: number) => [
    ...[id, day, run.repeat(16), requests, 1, 2, requests * 100],
  ];
  async function addKeys(...ids: number[]) {
    for (const id of ids) {
      await database.run(
        `INSERT INTO api_keys (id, purpose, website_url, state, requested_at)
         VALUES (?, '', '', 'approved', '2026-01-01 00:00:00')`,
        [id],
      );
    }
  }

  test('counts nothing twice and loses nothing, in any order, from several importers at once', async () => {
    await createKeysTables(database);
    await addKeys(1, 2);
    const importers = [makeKeyUsageImport(dir), makeKeyUsageImport(dir)];
    const importAll = () => Promise.all(importers.map((each) => each(database, now)));
    write(8080, [usageOf('a', '2026-03-01', 1, 5), usageOf('b', '2026-02-28', 1, 7)]);
    write(8082, [usageOf('c', '2026-03-01', 1, 2), usageOf('c', '2026-03-01', 2, 9)]);
    await importAll();
    await importAll();
    const first = [
      row('b', '2026-02-28', 1, 7),
      row('a', '2026-03-01', 1, 5),
      row('c', '2026-03-01', 1, 2),
      row('c', '2026-03-01', 2, 9),
    ];
    expect(await rows()).toEqual(first);
    // An older report, as of a file that was restored, and a newer one of the same run.
    write(8080, [usageOf('a', '2026-03-01', 1, 3)]);
    await importAll();
    expect(await rows()).toEqual(first);
    write(8080, [usageOf('a', '2026-03-01', 1, 6)]);
    await importAll();
    // The schedule was restarted, and reads the same files again.
    await makeKeyUsageImport(dir)(database, now);
    expect(await rows()).toEqual([first[0], row('a', '2026-03-01', 1, 6), first[2], first[3]]);
  });

  test('ignores keys that do not exist and days that no proxy reports', async () => {
    await createKeysTables(database);
    await addKeys(1);
    write(8080, [
      usageOf('a', '2026-02-21', 1, 1),
      usageOf('a', '2026-02-22', 1, 2),
      usageOf('a', '2026-03-02', 1, 3),
      usageOf('a', '2026-03-03', 1, 4),
      usageOf('a', '2026-03-01', 99, 5),
    ]);
    await makeKeyUsageImport(dir)(database, now);
    expect(await rows()).toEqual([row('a', '2026-02-22', 1, 2), row('a', '2026-03-02', 1, 3)]);
  });

  test('takes many keys at once, and removes old days', async () => {
    await createKeysTables(database);
    const ids = Array.from({ length: 210 }, (_, index) => index + 1);
    await addKeys(...ids);
    const keys = new Map(ids.map((id) => [id, { ...USED, requests: id }]));
    write(8080, [{ run: 'a'.repeat(16), day: '2026-03-01', keys }]);
    const importKeyUsage = makeKeyUsageImport(dir);
    await importKeyUsage(database, now);
    await createKeysTables(database);
    for (const day of ['2025-01-25', '2025-01-26']) {
      await database.run("INSERT INTO key_usage VALUES (1, ?, 'b', 1, 0, 0, 1)", [day]);
    }
    await makeKeyUsageImport(dir)(database, now);
    expect((await rows()).map(([id, day, , requests]) => [id, day, requests])).toEqual([
      // 399 days ago.
      [1, '2025-01-26', 1],
      ...ids.map((id) => [id, '2026-03-01', id]),
    ]);
  });
});
