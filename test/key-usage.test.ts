/** The day of a key's last use, on its way from the windows of the proxy into the database. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../database/open.ts';
import { createKeysTables } from '../database/schema.ts';
import { hashKey } from '../format/api-key.ts';
import { encodeKeyUsage, parseKeyUsage } from '../format/key-usage.ts';
import { keyUsageFile, PROXY_FOLDER, UNFINISHED_PREFIX } from '../format/layout.ts';
import { makeKeyUsageImport } from '../generator/key-usage-import.ts';
import { makeInstanceFiles } from '../proxy/instance-files.ts';
import { makeKeyUsage } from '../proxy/key-usage.ts';
import { makeRollingWindow } from '../proxy/limits/rolling-window.ts';
import { makeSampleSnapshots } from './catalogue/snapshots.ts';
import { KINDS, makeDatabase } from './databases.ts';
import { freePort } from './ports.ts';
import {
  end,
  makeFolder,
  type RunningProxy,
  send,
  startProgram,
  startProxy,
  testKey,
  until,
  writeKeys,
} from './product.ts';

const NAME = keyUsageFile(8080);
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
    expect([...parseKeyUsage(text, NAME)]).toEqual([...days].toReversed());
    expect(parseKeyUsage(encodeKeyUsage(new Map()), NAME).size).toBe(0);
  });

  test.each([
    ['{"version":1,"keys":[', 'key-usage-8080.json is damaged: it is not JSON.'],
    ['{"version":2,"keys":[]}', 'key-usage-8080.json has version 2; this program reads version 1.'],
    ['null', 'has version undefined'],
    ['{"version":1}', '"keys" is not a list'],
    ['{"version":1,"keys":[{"id":1,"day":"2026-01-01"},null]}', 'entry 2 is not a day of a key'],
    ['{"version":1,"keys":[{"id":1,"day":"\' OR 1=1"}]}', 'entry 1 is not a day of a key'],
    ['{"version":1,"keys":[{"id":"1","day":"2026-01-01"}]}', 'entry 1 is not a day of a key'],
  ])('is refused when it is %s', (text, fault) => {
    expect(() => parseKeyUsage(text, NAME)).toThrow(fault);
  });
});

/** What a proxy with the port of {@link NAME} writes, and its clocks. */
function makeReporter(snapshotsDir: string, ids: readonly number[], name = NAME) {
  const records = ids.map((id) => ({ id, window: makeRollingWindow(10) }));
  const clock = { now: 1_000, wall: NOON };
  const usage = makeKeyUsage(
    makeInstanceFiles(snapshotsDir),
    name,
    () => records,
    () => clock.now,
    () => clock.wall,
  );
  return {
    usage,
    clock,
    /** A request of a key is admitted, and time passes. */
    use(id: number, milliseconds = 0) {
      records.find((record) => record.id === id)?.window.admit(10, clock.now);
      clock.now += milliseconds;
      clock.wall += milliseconds;
    },
  };
}

const contentOf = (snapshotsDir: string, name = NAME) => {
  const file = path.join(snapshotsDir, PROXY_FOLDER, name);
  return [...parseKeyUsage(readFileSync(file, 'utf8'), name)].toSorted(([a], [b]) => a - b);
};

describe('the proxy', () => {
  test('writes a day where a key was used on another one, and nothing else ever', async () => {
    const dir = makeFolder();
    const { usage, use } = makeReporter(dir, [1, 2]);
    expect(await usage.write()).toBe(false);
    expect(existsSync(path.join(dir, PROXY_FOLDER, NAME))).toBe(false);
    use(1);
    expect(await usage.write()).toBe(true);
    expect(contentOf(dir)).toEqual([[1, '2026-03-01']]);
    use(1, 60_000);
    expect(await usage.write()).toBe(false);
    use(0, DAY_MS);
    // Reported later than the key was used.
    use(2, DAY_MS);
    expect(await usage.write()).toBe(true);
    expect(contentOf(dir)).toEqual([
      [1, '2026-03-01'],
      [2, '2026-03-02'],
    ]);
  });

  test('keeps what an earlier process or another proxy wrote into the same file', async () => {
    const dir = makeFolder();
    const first = makeReporter(dir, [1, 2, 3]);
    first.use(1);
    first.use(2);
    await first.usage.write();
    const second = makeReporter(dir, [1, 2, 3]);
    second.use(0, DAY_MS);
    second.use(2);
    second.use(3);
    await second.usage.write();
    const both = [
      [1, '2026-03-01'],
      [2, '2026-03-02'],
      [3, '2026-03-02'],
    ];
    expect(contentOf(dir)).toEqual(both);
    // The two write at once, and one of them does not see what the other adds.
    const file = path.join(dir, PROXY_FOLDER, NAME);
    writeFileSync(file, encodeKeyUsage(new Map([[2, '2026-03-01']])));
    await first.usage.write();
    await second.usage.write();
    expect(contentOf(dir)).toEqual(both);
    writeFileSync(file, 'damaged by a power cut');
    await second.usage.write();
    expect(contentOf(dir)).toEqual(both);
  });

  test('forgets days that a clock in the future made', async () => {
    const dir = makeFolder();
    const { usage, use, clock } = makeReporter(dir, [1]);
    clock.wall += 400 * DAY_MS;
    use(1);
    await usage.write();
    expect(contentOf(dir)).toEqual([[1, '2027-04-05']]);
    clock.wall -= 400 * DAY_MS;
    await usage.write();
    expect(contentOf(dir)).toEqual([[1, '2026-03-01']]);
  });

  test('removes what a killed process left half written', async () => {
    const dir = makeFolder();
    const { usage, use } = makeReporter(dir, [1]);
    use(1);
    await usage.write();
    const left = path.join(dir, PROXY_FOLDER, `${UNFINISHED_PREFIX}${NAME}-1`);
    const fresh = path.join(dir, PROXY_FOLDER, `${UNFINISHED_PREFIX}${NAME}-2`);
    for (const file of [left, fresh]) writeFileSync(file, '');
    const twoMinutesAgo = new Date(Date.now() - 120_000);
    utimesSync(left, twoMinutesAgo, twoMinutesAgo);
    await usage.write();
    expect([existsSync(left), existsSync(fresh)]).toEqual([false, true]);
  });

  test('says what to do when it cannot write, and tries again', async () => {
    const dir = makeFolder();
    const { usage, use } = makeReporter(dir, [1]);
    use(1);
    const folder = path.join(dir, PROXY_FOLDER);
    writeFileSync(folder, 'in the way');
    const fault = `Cannot write to ${folder}: `;
    await expect(usage.write()).rejects.toThrow(fault);
    await expect(usage.write()).rejects.toThrow(fault);
    rmSync(folder);
    expect(await usage.write()).toBe(true);
  });

  test('waits for the snapshots folder, which is not its to create', async () => {
    const dir = path.join(makeFolder(), 'absent');
    const { usage, use } = makeReporter(dir, [1]);
    use(1);
    expect(await usage.write()).toBe(false);
    expect(existsSync(dir)).toBe(false);
    mkdirSync(dir);
    expect(await usage.write()).toBe(true);
    expect(contentOf(dir)).toEqual([[1, '2026-03-01']]);
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

  test('every proxy’s file is imported, and one that cannot be read does not hold up the others', async () => {
    const dir = makeFolder();
    const importKeyUsage = makeKeyUsageImport(dir);
    const now = new Date(NOON);
    const database = await openDatabase(databaseUrl);
    await database.run('UPDATE api_keys SET last_used_on = NULL');
    const folder = path.join(dir, PROXY_FOLDER);
    mkdirSync(folder);
    const write = (name: string, entries: [number, string][]) =>
      writeFileSync(path.join(folder, name), encodeKeyUsage(new Map(entries)));
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
    // Names and kinds of files that no proxy makes; a pipe must not stop the schedule.
    write('key-usage-08080.json', [[4, '2026-02-25']]);
    write('key-usage-8080.json.1', [[4, '2026-02-25']]);
    const elsewhere = path.join(dir, 'elsewhere.json');
    writeFileSync(elsewhere, encodeKeyUsage(new Map([[4, '2026-02-25']])));
    symlinkSync(elsewhere, path.join(folder, keyUsageFile(1)));
    mkdirSync(path.join(folder, keyUsageFile(2)));
    execFileSync('mkfifo', [path.join(folder, keyUsageFile(3))]);
    write(keyUsageFile(8082), [[3, '2026-02-26']]);
    await expect(importKeyUsage(database, now)).rejects.toThrow();
    expect(await days()).toEqual({ ...first, 3: '2026-02-26' });
    await database.close();
  });

  test('requests to two proxies of one folder are seen in the database', async () => {
    const snapshotsDir = await makeSampleSnapshots();
    const keys = [3, 4].map((id) => testKey(id));
    const database = await openDatabase(databaseUrl);
    for (const { id, key } of keys) {
      await database.run('UPDATE api_keys SET key_hash = ?, last_used_on = NULL WHERE id = ?', [
        hashKey(key),
        id,
      ]);
    }
    await database.close();
    writeKeys(snapshotsDir, keys);
    const proxies: RunningProxy[] = [];
    for (const threads of ['1', '2']) {
      const PORT = String(await freePort());
      proxies.push(await startProxy(snapshotsDir, { PORT, PROXY_THREADS: threads }));
    }
    for (const [place, { key }] of keys.entries()) {
      const url = `${proxies[place]?.url}/api/v1/stats`;
      await until(async () => (await send(url, { headers: { 'x-api-key': key } })).status === 200);
    }
    const day = new Date().toISOString().slice(0, 10);
    expect(await Promise.all(proxies.map((proxy) => proxy.stop()))).toEqual([0, 0]);
    const schedule = startProgram('generator/schedule.ts', [], {
      DATABASE_URL: databaseUrl,
      SNAPSHOTS_DIR: snapshotsDir,
    });
    schedule.stdout?.resume();
    schedule.stderr?.resume();
    await until(async () => {
      const found = await days();
      return found[3] !== null && found[4] !== null;
    });
    // A test that ran across midnight has seen both.
    const found = await days();
    for (const id of [3, 4]) {
      expect([day, new Date().toISOString().slice(0, 10)]).toContain(found[id]);
    }
    await end(schedule, 'SIGTERM');
  });
});
