/**
 * Upgrading and going back, as "Upgrading" in OPERATIONS.md describes both. The folders and tables of the
 * earlier version are fixtures. To go back, this program is the old one: the fixture of a future version,
 * and tables with additions that this program does not know, are what the newer one has left.
 */
import { copyFileSync, cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Database } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { CATALOGUE_TABLES, GAME_TITLES_TABLE } from '../../database/schema.ts';
import { createTables } from '../../database/tables.ts';
import { hashKey } from '../../format/api-key.ts';
import { createKeysTables, KEYS_TABLES } from '../../keys/tables/schema.ts';
import { currentId, generationDir, idsOnDisk } from '../../store/generations/generations.ts';
import { readManifest } from '../../store/generations/manifest-file.ts';
import { verifyGeneration } from '../../store/generations/verify.ts';
import { FIXTURE_KEY, fixtureCatalogue } from '../catalogue/fixture.ts';
import { KINDS, type Kind, makeDatabase } from '../support/databases.ts';
import {
  type Finished,
  generate,
  makeFolder,
  ROOT,
  runProgram,
  startProxy,
} from '../support/product.ts';

const FIXTURES = path.join(ROOT, 'test/fixtures');
const SCHEMA = path.join(FIXTURES, 'schema-1');
const REVOKED_KEY = 'revoked';

function statementsOf(file: string): string[] {
  const lines = readFileSync(path.join(SCHEMA, file), 'utf8').split(';\n');
  return lines.filter((line) => line.trim() !== '');
}

function copyOf(fixture: string): string {
  const dir = path.join(makeFolder(), 'snapshots');
  cpSync(path.join(FIXTURES, fixture), dir, { recursive: true, verbatimSymlinks: true });
  return dir;
}

/** The numbered steps under "Upgrading", up to the first full stop of each. */
function documentedSteps(): string[] {
  const text = readFileSync(path.join(ROOT, 'OPERATIONS.md'), 'utf8');
  const section = text.split('\n## Upgrading\n')[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\d\. (.*?)[.,](?: |$)/gm)].map(([, step]) => step as string);
}

test('the documented steps are those of these tests', () => {
  expect(documentedSteps()).toEqual([
    'Back up accounts and keys with the old program: `cover-catalogue keys export FILE`',
    'Stop the old `cover-catalogue schedule`',
    'Run the new `cover-catalogue generate`',
    'Restart the proxies with the new program',
    'Start the new `cover-catalogue schedule` and `cover-catalogue account`',
  ]);
});

interface Site {
  readonly url: string;
  readonly database: Database;
  keys(...args: string[]): Promise<Finished>;
}

/** A database with a catalogue, and with the tables of keys of the earlier version. */
async function makeSite(kind: Kind): Promise<Site> {
  const url = await makeDatabase(kind);
  const database = await openDatabase(url);
  for (const sql of [...statementsOf(`${kind}.sql`), ...statementsOf('rows.sql')]) {
    await database.run(sql);
  }
  await createTables(database, { ...CATALOGUE_TABLES, ...GAME_TITLES_TABLE });
  const { platforms, games, covers, coverFiles } = fixtureCatalogue();
  const tables = { platforms, games, covers, cover_files: coverFiles };
  for (const [table, rows] of Object.entries(tables)) {
    for (const row of rows) {
      // Without the rows that are left out: in so few rows, one is too many.
      if (row[0] === 99 || row[1] === 99) continue;
      const values = row.map(() => '?').join(', ');
      await database.run(`INSERT INTO ${table} VALUES (${values})`, row);
    }
  }
  const keys = (...args: string[]) => runProgram('keys/cli/main.ts', args, { DATABASE_URL: url });
  return { url, database, keys };
}

/** What a client gets with the key of the fixtures, and with a revoked one. */
async function serve(snapshotsDir: string): Promise<(number | string | undefined)[]> {
  const proxy = await startProxy(snapshotsDir);
  const reply = await proxy.get('/games/snes/chrono-trigger', FIXTURE_KEY);
  const revoked = await proxy.get('/games/snes/chrono-trigger', REVOKED_KEY);
  await proxy.stop();
  return [reply.status, reply.headers['x-snapshot'], revoked.status];
}

test.each(KINDS)(
  'an upgrade keeps keys, history and sessions on %s, and the old program can continue',
  async (kind) => {
    const { url, database, keys } = await makeSite(kind);
    const snapshotsDir = copyOf('version-2');
    const old = currentId(snapshotsDir);
    await generate(url, snapshotsDir);
    expect(idsOnDisk(snapshotsDir)).toEqual([old, currentId(snapshotsDir)]);
    expect(await serve(snapshotsDir)).toEqual([200, currentId(snapshotsDir), 401]);

    const before = await rowsOf(database, ['api_keys', 'key_events', 'sessions']);
    const listed = await keys('list', '--json');
    expect([listed.code, listed.stderr]).toEqual([0, '']);
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { id: 1, state: 'approved', limit_per_minute: 1000, last_used_on: '2026-10-31' },
      { id: 2, state: 'revoked' },
      { id: 3, state: 'pending' },
    ]);
    const found = await database.columns();
    for (const [table, { columns }] of Object.entries(KEYS_TABLES)) {
      expect([...(found.get(table) ?? [])]).toEqual(expect.arrayContaining(Object.keys(columns)));
    }
    expect(await rowsOf(database, ['api_keys', 'key_events', 'sessions'])).toEqual(before);

    // Back: the statements of the old program still work, and the new one understands their rows.
    for (const sql of statementsOf('statements.sql')) await database.run(sql);
    await expect(database.run('DELETE FROM key_events')).rejects.toThrow('cannot be rewritten');
    const history = JSON.parse((await keys('history', '3', '--json')).stdout);
    expect(history).toMatchObject([{ action: 'approved', limit_per_minute: 120 }]);
    expect(JSON.parse((await keys('list', '--state', 'approved', '--json')).stdout)).toMatchObject([
      { id: 1, last_used_on: '2026-11-05' },
      { id: 3 },
      { id: 5, purpose: 'by an operator' },
    ]);
    expect((await keys('suspend', '1', '--reason', 'floods')).code).toBe(0);
    for (const sql of statementsOf('queries.sql')) {
      // What the old program exports to its proxies: a suspended key is not among them.
      expect(await database.rows(sql)).toEqual([
        [2, hashKey(REVOKED_KEY), 'revoked', 120],
        [5, 'dd'.padEnd(64, '0'), 'approved', 60],
      ]);
    }
    const manifest = path.join(generationDir(snapshotsDir, old ?? ''), 'manifest.json');
    expect(JSON.parse(readFileSync(manifest, 'utf8')).format_version).toBe(2);
    await database.close();
  },
);

test('after a newer version, this program publishes, serves and manages keys again', async () => {
  const { url, database, keys } = await makeSite('sqlite');
  await createKeysTables(database);
  await database.run('ALTER TABLE api_keys ADD COLUMN of_the_future VARCHAR(20) NULL');
  await database.run("UPDATE api_keys SET of_the_future = 'kept' WHERE id = 1");
  await database.run('CREATE TABLE table_of_the_future (id INT)');
  const snapshotsDir = copyOf('future-version');
  const newer = currentId(snapshotsDir) ?? '';
  await generate(url, snapshotsDir);
  const id = currentId(snapshotsDir) ?? '';
  await verifyGeneration(generationDir(snapshotsDir, id));
  expect(idsOnDisk(snapshotsDir)).toEqual([newer, id]);
  expect(await serve(snapshotsDir)).toEqual([200, id, 401]);
  expect((await keys('approve', '3')).code).toBe(0);
  const rows = await database.rows('SELECT id, of_the_future FROM api_keys ORDER BY id');
  expect(rows).toEqual([
    [1, 'kept'],
    [2, null],
    [3, null],
  ]);
  // The generation of the newer version is as it was, for the next upgrade.
  expect(() => readManifest(generationDir(snapshotsDir, newer))).toThrow('format version 4');
});

test('a backup of the earlier version is restored by this one', async () => {
  const url = await makeDatabase('sqlite');
  const file = path.join(makeFolder(), 'keys.jsonl');
  copyFileSync(path.join(SCHEMA, 'keys.jsonl'), file);
  const done = await runProgram('keys/cli/main.ts', ['import', file], { DATABASE_URL: url });
  expect([done.code, done.stdout]).toEqual([0, '']);
  const database = await openDatabase(url);
  expect(await database.rows('SELECT id, state FROM api_keys ORDER BY id')).toEqual([
    [1, 'approved'],
    [2, 'revoked'],
    [3, 'pending'],
  ]);
  expect(await database.rows('SELECT COUNT(*) FROM key_events')).toEqual([[3]]);
  await database.close();
});

/** The rows of some tables, with the columns that the earlier version has. */
async function rowsOf(database: Database, tables: readonly string[]): Promise<unknown> {
  const columns = {
    api_keys: 'id, account_id, purpose, state, reason, limit_per_minute, key_hash, last_used_on',
    key_events: 'id, key_id, at, actor_id, action, reason, limit_per_minute',
    sessions: 'token_hash, account_id, created_at, expires_at, csrf_secret',
  } as Readonly<Record<string, string>>;
  const found: unknown[] = [];
  for (const table of tables) {
    found.push(await database.rows(`SELECT ${columns[table]} FROM ${table} ORDER BY 1`));
  }
  return found;
}
