/**
 * The schedule as a process: it generates on time and exports keys every two seconds. Neither a lost
 * database nor a signal leaves anything half done.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../database/open.ts';
import { hashKey, makeKey } from '../../format/api-key.ts';
import { parseKeys } from '../../format/keys-file.ts';
import { createKeysTables } from '../../keys/tables/schema.ts';
import { currentId, idsOnDisk } from '../../store/generations/generations.ts';
import { loadCatalogue } from '../catalogue/load.ts';
import { sampleCatalogue } from '../catalogue/sample.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { makeSampleSqlite, makeSqlite } from '../catalogue/snapshots.ts';
import { end, makeFolder, runProgram, startProgram, until } from '../support/product.ts';
import { type MariaDb, startMariaDb } from '../support/servers/mariadb.ts';

const NEVER = '0 0 1 1 *';
const newSnapshots = () => path.join(makeFolder(), 'snapshots');

function startSchedule(databaseUrl: string, snapshotsDir: string, cron = NEVER) {
  const child = startProgram('generator/cli/schedule.ts', [], {
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: snapshotsDir,
    GENERATE_CRON: cron,
    LOG_LEVEL: 'debug',
  });
  let log = '';
  child.stdout?.resume();
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    log += text;
  });
  return {
    child,
    log: () => log,
    stop: () => end(child, 'SIGTERM'),
  };
}

async function issueKey(url: string, state: string): Promise<string> {
  const key = makeKey();
  const database = await openDatabase(url);
  await createKeysTables(database);
  await database.run(
    "INSERT INTO api_keys (purpose, website_url, state, limit_per_minute, key_hash, requested_at) VALUES ('a test', '', ?, 60, ?, '2026-01-01 00:00:00')",
    [state, hashKey(key)],
  );
  await database.close();
  return key;
}

const keysFile = (dir: string) => path.join(dir, 'keys.json');
const readKeys = (dir: string) => parseKeys(readFileSync(keysFile(dir), 'utf8'));
const modifiedAt = (dir: string) => statSync(keysFile(dir)).mtimeMs;

test('with GENERATE_CRON=off, the schedule exports the keys and never generates', async () => {
  const url = await makeSampleSqlite();
  const dir = newSnapshots();
  const schedule = startSchedule(url, dir, 'off');
  const key = await issueKey(url, 'approved');
  await until(() => existsSync(keysFile(dir)) && readKeys(dir).length === 1);
  expect(readKeys(dir)).toMatchObject([{ hash: hashKey(key), state: 'approved' }]);
  await pause(500);
  expect(idsOnDisk(dir)).toEqual([]);
  expect(await schedule.stop()).toBe(0);
});

test('a wrong GENERATE_CRON ends the schedule with 2 and an error that names it', async () => {
  const { code, stderr } = await runProgram('generator/cli/schedule.ts', [], {
    DATABASE_URL: 'sqlite:x.db',
    SNAPSHOTS_DIR: newSnapshots(),
    GENERATE_CRON: 'every day',
  });
  expect(code).toBe(2);
  expect(stderr).toContain('GENERATE_CRON');
  expect(stderr).toContain('every day');
});

test('without a current generation it generates at once, and then on schedule', async () => {
  const url = await makeSampleSqlite();
  const dir = newSnapshots();
  const schedule = startSchedule(url, dir, '* * * * * *');
  await until(() => idsOnDisk(dir).length === 1);
  const database = await openDatabase(url);
  await database.run("UPDATE games SET title = 'Changed' WHERE id = 1001");
  await database.close();
  await until(() => idsOnDisk(dir).length === 2);
  expect(await schedule.stop()).toBe(0);
});

test('with a current generation it waits for the first scheduled time', async () => {
  const url = await makeSampleSqlite();
  const dir = newSnapshots();
  const first = startSchedule(url, dir);
  await until(() => currentId(dir) !== undefined);
  await first.stop();
  const second = startSchedule(url, dir);
  await until(() => second.log().includes('"scheduled"'));
  await pause(1_000);
  expect(second.log()).not.toContain('reading');
  await second.stop();
});

test('SIGTERM ends a run under way, which leaves no files', async () => {
  const url = await makeSqlite(seededCatalogue({ games: 20_000, seed: 3 }));
  const dir = newSnapshots();
  const schedule = startSchedule(url, dir);
  await until(() => schedule.log().includes('reading games'));
  const [, run] = /"run":(\d+)/.exec(schedule.log()) ?? [];
  expect(await schedule.stop()).toBe(0);
  expect(() => process.kill(Number(run), 0)).toThrow('ESRCH');
  expect(currentId(dir)).toBe(undefined);
  expect(idsOnDisk(dir)).toEqual([]);
});

test('a failed or refused run is logged, and the schedule continues', async () => {
  const url = await makeSampleSqlite();
  const database = await openDatabase(url);
  await database.run('ALTER TABLE covers RENAME TO elsewhere');
  const dir = newSnapshots();
  const schedule = startSchedule(url, dir, '* * * * * *');
  await until(() => schedule.log().includes('the table covers'));
  await database.run('ALTER TABLE elsewhere RENAME TO covers');
  await database.close();
  await until(() => currentId(dir) !== undefined);
  expect(await schedule.stop()).toBe(0);
});

test('the log warns about rows that were left out', async () => {
  const url = await makeSqlite(seededCatalogue({ games: 300, seed: 3 }));
  const database = await openDatabase(url);
  await database.run(
    "INSERT INTO covers (id, game_id, status) VALUES (999999, 88888888, 'approved')",
  );
  await database.close();
  const dir = newSnapshots();
  const schedule = startSchedule(url, dir);
  await until(() => currentId(dir) !== undefined);
  await until(() => schedule.log().includes('"generated"'));
  const warnings = schedule
    .log()
    .split('\n')
    .filter((line) => line.includes('"level":40'));
  expect(warnings.join('\n')).toContain('the game does not exist');
  await schedule.stop();
});

test('a key with an invalid hash does not prevent the export of the other keys', async () => {
  const url = await makeSampleSqlite();
  const key = await issueKey(url, 'approved');
  const database = await openDatabase(url);
  await database.run(
    "INSERT INTO api_keys (purpose, website_url, state, limit_per_minute, key_hash, requested_at) VALUES ('', '', 'approved', 60, 'no hash', '2026-01-01 00:00:00')",
  );
  await database.close();
  const dir = newSnapshots();
  const schedule = startSchedule(url, dir);
  await until(() => currentId(dir) !== undefined);
  expect(readKeys(dir).map(({ hash }) => hash)).toEqual([hashKey(key)]);
  await schedule.stop();
});

test('after a failed write of the keys file, the log does not claim that the database is back', async () => {
  const url = await makeSampleSqlite();
  const key = await issueKey(url, 'approved');
  const dir = newSnapshots();
  const schedule = startSchedule(url, dir);
  await until(() => schedule.log().includes('"generated"'));
  rmSync(keysFile(dir));
  mkdirSync(path.join(keysFile(dir), 'x'), { recursive: true });
  await until(() => schedule.log().includes('the keys file is not updated: write keys.json'));
  rmSync(keysFile(dir), { recursive: true });
  await until(() => statSync(keysFile(dir), { throwIfNoEntry: false }) !== undefined);
  expect(readKeys(dir).map(({ hash }) => hash)).toEqual([hashKey(key)]);
  await until(() => schedule.log().includes('exported the keys'));
  expect(await schedule.stop()).toBe(0);
  expect(schedule.log()).not.toContain('the database is back');
  expect(schedule.log()).toContain('the keys can be written again');
});

describe('the keys file', () => {
  let server: MariaDb;
  let url: string;

  beforeAll(async () => {
    server = await startMariaDb();
    url = await server.createDatabase('catalogue');
    const database = await openDatabase(url);
    await loadCatalogue(database, sampleCatalogue());
    await database.close();
  });
  afterAll(async () => {
    await server.stop();
  });

  test('contains a change after about two seconds, and only its owner may read it', async () => {
    const dir = newSnapshots();
    const schedule = startSchedule(url, dir);
    await until(() => currentId(dir) !== undefined);
    const hashes: string[] = [];
    for (const state of ['approved', 'rejected', 'revoked', 'pending']) {
      const hash = hashKey(await issueKey(url, state));
      if (state !== 'pending') hashes.push(hash);
      if (state === 'pending') continue;
      const changed = performance.now();
      await until(() => readKeys(dir).some((key) => key.hash === hash && key.state === state));
      expect(performance.now() - changed).toBeLessThan(5_000);
    }
    expect(readKeys(dir).map(({ hash }) => hash)).toEqual(hashes);
    expect(statSync(keysFile(dir)).mode & 0o777).toBe(0o600);
    await schedule.stop();
  });

  test('gets a new modification time even if no key changed, but not while the database is down', async () => {
    const dir = newSnapshots();
    const schedule = startSchedule(url, dir);
    await until(() => currentId(dir) !== undefined);
    const { ino } = statSync(keysFile(dir));
    const before = modifiedAt(dir);
    await until(() => modifiedAt(dir) > before);
    expect(statSync(keysFile(dir)).ino).toBe(ino);

    await server.kill();
    await until(() => schedule.log().includes('the keys file is not updated'));
    const content = readFileSync(keysFile(dir), 'utf8');
    const lost = modifiedAt(dir);
    await pause(5_000);
    expect(modifiedAt(dir)).toBe(lost);
    expect(readFileSync(keysFile(dir), 'utf8')).toBe(content);
    // It is logged when the outage begins, not at every attempt.
    expect(schedule.log().split('the keys file is not updated').length - 1).toBeLessThanOrEqual(2);
    expect(schedule.child.exitCode).toBe(null);

    await server.restart();
    await until(() => modifiedAt(dir) > lost);
    await until(() => schedule.log().includes('the database is back'));
    expect(schedule.log()).not.toContain('the keys can be written again');
    expect(await schedule.stop()).toBe(0);
  });

  test('SIGTERM ends the schedule even if the database does not answer', async () => {
    const dir = newSnapshots();
    const schedule = startSchedule(url, dir);
    await until(() => currentId(dir) !== undefined);
    await until(() => schedule.log().includes('"generated"'));
    server.freeze();
    try {
      await pause(3_000);
      const began = performance.now();
      expect(await schedule.stop()).toBe(0);
      expect(performance.now() - began).toBeLessThan(10_000);
    } finally {
      server.thaw();
    }
  });
});
