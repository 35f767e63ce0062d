/** The import of key usage from the files of proxies into the database. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { makeKeyUsageImport } from '#keys/export/import-key-usage.ts';
import { createKeysTables, KEYS_TABLES } from '#keys/tables/schema.ts';
import type { Database } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { createTables } from '#lib/database/tables.ts';
import { type DayUsage, dayOf, encodeKeyUsage } from '#lib/format/key-usage-file.ts';
import { keyUsageFile, PROXY_FOLDER } from '#lib/format/layout.ts';
import { KINDS, makeDatabase } from '#test/support/databases.ts';
import { makeFolder } from '#test/support/product.ts';

const NOW = new Date('2026-03-01T12:00:00Z');

/** The use of one key on one day, as a run reports it. */
const usageOf = (
  run: string,
  day: string,
  id: number,
  requests: number,
  lastSecond = 60,
): DayUsage => ({
  run: run.repeat(16),
  day,
  keys: new Map([[id, { requests, refused: 2, lastSecond }]]),
});
/** A minute after the day has begun. */
const useOn = (day: string) => `${day} 00:01:00`;
const rowOf = (run: string, day: string, id: number, requests: number) => [
  ...[id, day, run.repeat(16), requests, 2],
];

describe.each(KINDS)('on %s', (kind) => {
  let [dir, folder] = ['', ''];
  let database: Database;
  let importUsage: (now?: Date) => Promise<unknown>;
  beforeEach(async () => {
    dir = makeFolder();
    folder = path.join(dir, PROXY_FOLDER);
    database = await openDatabase(await makeDatabase(kind));
    const importer = makeKeyUsageImport(dir);
    importUsage = (now = NOW) => importer(database, now);
    // Without tables and files, there is nothing to do.
    await importUsage();
    mkdirSync(folder);
    return () => database.close();
  });
  const write = (name: string | number, counts: DayUsage[]) => {
    const file = typeof name === 'number' ? keyUsageFile(name) : name;
    writeFileSync(path.join(folder, file), encodeKeyUsage(counts));
  };
  /** Writes a file in which each key has one request on a day. */
  const writeUses = (name: string | number, uses: [number, string][]) =>
    write(
      name,
      uses.map(([id, day]) => usageOf('a', day, id, 1)),
    );
  const addKeys = async (...ids: number[]) => {
    await createKeysTables(database);
    for (const id of ids) {
      const values = "'', '', 'approved', '2026-01-01 00:00:00'";
      await database.run(
        `INSERT INTO api_keys (id, purpose, website_url, state, requested_at) VALUES (?, ${values})`,
        [id],
      );
    }
  };
  const uses = async () =>
    Object.fromEntries(await database.rows('SELECT id, last_used_at FROM api_keys ORDER BY id'));
  const counted = () =>
    database.rows(
      'SELECT key_id, day, run, requests, refused FROM key_usage ORDER BY key_id, day, run',
    );

  test('the time of the last use only moves forward, and times in the future do not count', async () => {
    await addKeys(1, 2, 3, 4);
    await database.run("UPDATE api_keys SET last_used_at = '2026-02-23 05:06:07' WHERE id = 2");
    const today = '2026-03-01';
    const tomorrow = '2026-03-02';
    writeUses(8080, [
      [1, today],
      [2, '2026-02-22'],
      [3, '2026-03-05'],
      [99, today],
    ]);
    await importUsage();
    expect(await uses()).toEqual({ 1: useOn(today), 2: '2026-02-23 05:06:07', 3: null, 4: null });
    const refused = { requests: 0, refused: 1 };
    write(8080, [
      usageOf('a', '2026-02-22', 1, 1),
      usageOf('a', tomorrow, 2, 1),
      { run: 'c'.repeat(16), day: tomorrow, keys: new Map([[3, refused]]) },
      usageOf('b', tomorrow, 4, 1),
    ]);
    await importUsage();
    expect(await uses()).toMatchObject({ 2: '2026-02-23 05:06:07', 4: null });
    writeUses(8082, [[1, today]]);
    write(8080, [usageOf('a', tomorrow, 2, 2), usageOf('b', tomorrow, 4, 2)]);
    await importUsage(new Date(`${tomorrow}T00:00:30Z`));
    expect(await uses()).toEqual({
      1: useOn(today),
      2: useOn(tomorrow),
      3: null,
      4: useOn(tomorrow),
    });
    write(8080, [usageOf('a', today, 1, 2, 86_399)]);
    await importUsage(new Date(`${tomorrow}T00:00:00Z`));
    expect((await uses())[1]).toBe('2026-03-01 23:59:59');
    const counts = { requests: 0, refused: 2 };
    write(8080, [{ run: 'd'.repeat(16), day: today, keys: new Map([[3, counts]]) }]);
    await importUsage();
    expect((await uses())[3]).toBe(null);
    expect(await counted()).toContainEqual(rowOf('d', today, 3, 0));
    writeFileSync(path.join(folder, keyUsageFile(8080)), 'damaged');
    await expect(importUsage()).rejects.toThrow('damaged');
  });

  test('a table of version 1.0 is filled as it is, and goes on when its former columns are removed', async () => {
    const { key_usage } = KEYS_TABLES;
    const number = 'BIGINT UNSIGNED NOT NULL';
    const columns = { ...key_usage.columns, not_modified: number, bytes: number };
    await createTables(database, { key_usage: { ...key_usage, columns } });
    await addKeys(1);
    const day = '2026-03-01';
    for (const requests of [1, 2]) {
      write(8080, [usageOf('a', day, 1, requests)]);
      await importUsage();
      expect(await counted()).toEqual([rowOf('a', day, 1, requests)]);
    }
    const former = 'SELECT not_modified, bytes FROM key_usage';
    expect(await database.rows(former)).toEqual([[0, 0]]);
    for (const column of ['not_modified', 'bytes']) {
      await database.run(`ALTER TABLE key_usage DROP COLUMN ${column}`);
    }
    write(8080, [usageOf('a', day, 1, 30)]);
    await importUsage();
    expect(await counted()).toEqual([rowOf('a', day, 1, 30)]);
  });

  test('a file that cannot be read does not prevent the import of the other files', async () => {
    await addKeys(1, 2, 3, 4);
    const [first, later] = ['2026-02-25', '2026-02-26'];
    writeUses(8080, [
      [1, first],
      [2, later],
    ]);
    writeUses(8082, [
      [1, later],
      [2, first],
      [3, first],
    ]);
    await importUsage();
    expect(await uses()).toEqual({ 1: useOn(later), 2: useOn(later), 3: useOn(first), 4: null });
    // No proxy creates files with these names or of these kinds. A pipe must not block the schedule.
    writeUses('key-usage-08080.json', [[4, later]]);
    writeUses('key-usage-8080.json.1', [[4, later]]);
    writeUses('../elsewhere.json', [[4, later]]);
    symlinkSync(path.join(dir, 'elsewhere.json'), path.join(folder, keyUsageFile(1)));
    mkdirSync(path.join(folder, keyUsageFile(2)));
    execFileSync('mkfifo', [path.join(folder, keyUsageFile(3))]);
    writeUses(8082, [[3, later]]);
    await expect(importUsage()).rejects.toThrow();
    expect(await uses()).toEqual({ 1: useOn(later), 2: useOn(later), 3: useOn(later), 4: null });
  });

  test('counts nothing twice and loses nothing, in any order, from several importers at once', async () => {
    await addKeys(1, 2);
    const importers = [makeKeyUsageImport(dir), makeKeyUsageImport(dir)];
    const importAll = () => Promise.all(importers.map((each) => each(database, NOW)));
    write(8080, [usageOf('a', '2026-03-01', 1, 5), usageOf('b', '2026-02-28', 1, 7)]);
    write(8082, [usageOf('c', '2026-03-01', 1, 2), usageOf('c', '2026-03-01', 2, 9)]);
    await importAll();
    await importAll();
    const first = [
      rowOf('b', '2026-02-28', 1, 7),
      rowOf('a', '2026-03-01', 1, 5),
      rowOf('c', '2026-03-01', 1, 2),
      rowOf('c', '2026-03-01', 2, 9),
    ];
    expect(await counted()).toEqual(first);
    // An older report, as of a file that was restored, and a newer one of the same run.
    write(8080, [usageOf('a', '2026-03-01', 1, 3)]);
    await importAll();
    expect(await counted()).toEqual(first);
    write(8080, [usageOf('a', '2026-03-01', 1, 6)]);
    await importAll();
    // The schedule was restarted, and reads the same files again.
    await importUsage();
    expect(await counted()).toEqual(first.with(1, rowOf('a', '2026-03-01', 1, 6)));
  });

  test('counts of keys that do not exist, or of days that no proxy reports, are ignored', async () => {
    await addKeys(1);
    const usedOn = ['2026-02-21', '2026-02-22', '2026-03-02', '2026-03-03'];
    const counts = usedOn.map((day, i) => usageOf('a', day, 1, i));
    write(8080, [...counts, usageOf('a', '2026-03-01', 99, 5)]);
    await importUsage();
    expect(await counted()).toEqual([rowOf('a', usedOn[1], 1, 1), rowOf('a', usedOn[2], 1, 2)]);
  });

  test('a clock that was ten years ahead removes no counts, and its times of use do not stay', async () => {
    await addKeys(1);
    const before = ['2025-01-26', '2026-02-28'];
    for (const day of before) {
      await database.run("INSERT INTO key_usage VALUES (1, ?, 'b', 1, 0)", [day]);
    }
    write(8080, [usageOf('a', '2036-03-01', 1, 1)]);
    // As a schedule that starts with the wrong clock does at once.
    await importUsage(new Date('2036-03-01T12:00:00Z'));
    write(8080, [usageOf('a', '2026-03-01', 1, 1)]);
    await importUsage();
    expect((await counted()).map(([, day]) => day)).toEqual([
      ...before,
      '2026-03-01',
      '2036-03-01',
    ]);
    expect(await uses()).toEqual({ 1: useOn('2026-03-01') });
  });

  test('many keys are counted at once, and of each the last 400 days with counts are kept', async () => {
    const ids = Array.from({ length: 210 }, (_, i) => i + 1);
    await addKeys(...ids);
    const keys = new Map(ids.map((id) => [id, { requests: id, refused: 0 }]));
    write(8080, [{ run: 'a'.repeat(16), day: '2026-03-01', keys }]);
    await importUsage();
    const days = Array.from({ length: 400 }, (_, i) => dayOf(NOW.getTime(), i - 500));
    const rows = days.map((day) => `(1, '${day}', 'b', 1, 0)`);
    await database.run(`INSERT INTO key_usage VALUES ${rows.join(', ')}`);
    await makeKeyUsageImport(dir)(database, NOW);
    expect((await counted()).map(([id, day, , requests]) => [id, day, requests])).toEqual([
      ...days.slice(1).map((day) => [1, day, 1]),
      ...ids.map((id) => [id, '2026-03-01', id]),
    ]);
  });
});
