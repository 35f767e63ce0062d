/** The day of a key's last use, on its way from the windows of the proxy into the database. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../database/open.ts';
import { createKeysTables } from '../database/schema.ts';
import { hashKey } from '../format/api-key.ts';
import { encodeKeyUsage, parseKeyUsage } from '../format/key-usage.ts';
import { makeKeyUsageImport } from '../generator/key-usage-import.ts';
import { makeKeyUsage } from '../proxy/key-usage.ts';
import { makeRollingWindow } from '../proxy/limits/rolling-window.ts';
import { makeSampleSnapshots } from './catalogue/snapshots.ts';
import { KINDS, makeDatabase } from './databases.ts';
import {
  end,
  makeFolder,
  send,
  startProgram,
  startProxy,
  testKey,
  until,
  writeKeys,
} from './product.ts';

const NAME = 'key-usage.json';
const DAY_MS = 24 * 3600 * 1000;
const NOON = Date.parse('2026-03-01T12:00:00Z');

describe('the file', () => {
  test('holds a day for each key, in the order of their ids', () => {
    const days = new Map([
      [12, '2026-03-01'],
      [7, '2026-02-28'],
    ]);
    const text = encodeKeyUsage(days);
    expect(text).toBe(
      '{"version":1,"keys":[\n{"id":7,"day":"2026-02-28"},\n{"id":12,"day":"2026-03-01"}\n]}\n',
    );
    expect([...parseKeyUsage(text)]).toEqual([...days].toReversed());
    expect(parseKeyUsage(encodeKeyUsage(new Map())).size).toBe(0);
  });

  test.each([
    ['{"version":1,"keys":[', 'key-usage.json is damaged: it is not JSON.'],
    ['{"version":2,"keys":[]}', 'key-usage.json has version 2; this program reads version 1.'],
    ['null', 'has version undefined'],
    ['{"version":1}', '"keys" is no list'],
    ['{"version":1,"keys":[{"id":1,"day":"2026-01-01"},null]}', 'entry 2 is no day of a key'],
    ['{"version":1,"keys":[{"id":1,"day":"\' OR 1=1"}]}', 'entry 1 is no day of a key'],
    ['{"version":1,"keys":[{"id":"1","day":"2026-01-01"}]}', 'entry 1 is no day of a key'],
  ])('is refused when it is %s', (text, fault) => {
    expect(() => parseKeyUsage(text)).toThrow(fault);
  });
});

describe('the proxy', () => {
  test('writes a day where a key was used on another one, and nothing else ever', async () => {
    const folder = makeFolder();
    const records = [1, 2].map((id) => ({ id, window: makeRollingWindow(10) }));
    let time = 1_000;
    const usage = makeKeyUsage(
      folder,
      () => records,
      () => time,
      () => NOON + time - 1_000,
    );
    const content = () => [...parseKeyUsage(readFileSync(path.join(folder, NAME), 'utf8'))];
    expect(await usage.write()).toBe(false);
    expect(existsSync(path.join(folder, NAME))).toBe(false);
    records[0]?.window.admit(10, time);
    expect(await usage.write()).toBe(true);
    expect(content()).toEqual([[1, '2026-03-01']]);
    expect(statSync(path.join(folder, NAME)).mode & 0o777).toBe(0o600);
    time += 60_000;
    records[0]?.window.admit(10, time);
    expect(await usage.write()).toBe(false);
    time += DAY_MS;
    // Looked at later than the key was used.
    records[1]?.window.admit(10, time);
    time += DAY_MS;
    expect(await usage.write()).toBe(true);
    expect(content()).toEqual([
      [1, '2026-03-01'],
      [2, '2026-03-02'],
    ]);
  });

  test('tries again after it could not write', async () => {
    const folder = path.join(makeFolder(), 'absent');
    const record = { id: 1, window: makeRollingWindow(10) };
    record.window.admit(10, 5);
    const usage = makeKeyUsage(
      folder,
      () => [record],
      () => 5,
      () => NOON,
    );
    await expect(usage.write()).rejects.toThrow(`write ${NAME}: `);
    await expect(usage.write()).rejects.toThrow(`write ${NAME}: `);
  });
});

describe.each(KINDS)('on %s', async (kind) => {
  const databaseUrl = await makeDatabase(kind);
  const days = async () => {
    const database = await openDatabase(databaseUrl);
    const rows = await database.rows('SELECT id, last_used_on FROM api_keys ORDER BY id');
    await database.close();
    return Object.fromEntries(rows);
  };

  test('the import moves days on, never back, and believes no future', async () => {
    const folder = makeFolder();
    const file = path.join(folder, NAME);
    const importKeyUsage = makeKeyUsageImport(folder);
    const now = new Date(NOON);
    const database = await openDatabase(databaseUrl);
    await importKeyUsage(database, now);
    await createKeysTables(database);
    for (const id of [1, 2, 3, 4]) {
      await database.run(
        `INSERT INTO api_keys (id, purpose, website_url, state, requested_at, last_used_on)
         VALUES (?, '', '', 'approved', '2026-01-01 00:00:00', ?)`,
        [id, id === 2 ? '2026-02-10' : null],
      );
    }
    const take = async (entries: [number, string][]) => {
      writeFileSync(file, encodeKeyUsage(new Map(entries)));
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
    const many = Array.from({ length: 1_200 }, (_, place): [number, string] => [
      place + 1000,
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

  test('a request to any thread of a running proxy is seen in the database', async () => {
    const snapshotsDir = await makeSampleSnapshots();
    const key = testKey(4);
    const database = await openDatabase(databaseUrl);
    await database.run('UPDATE api_keys SET key_hash = ?, last_used_on = NULL WHERE id = 4', [
      hashKey(key.key),
    ]);
    await database.close();
    writeKeys(snapshotsDir, [key]);
    const proxy = await startProxy(snapshotsDir, { PROXY_THREADS: '2' });
    const headers = { 'x-api-key': key.key };
    await until(async () => (await send(`${proxy.url}/api/v1/stats`, { headers })).status === 200);
    const day = new Date().toISOString().slice(0, 10);
    expect(await proxy.stop()).toBe(0);
    const schedule = startProgram('generator/schedule.ts', [], {
      DATABASE_URL: databaseUrl,
      SNAPSHOTS_DIR: snapshotsDir,
    });
    schedule.stdout?.resume();
    schedule.stderr?.resume();
    await until(async () => (await days())[4] !== null);
    // A test that ran across midnight has seen both.
    expect([day, new Date().toISOString().slice(0, 10)]).toContain((await days())[4]);
    await end(schedule, 'SIGTERM');
  });
});
