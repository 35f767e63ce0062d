/** The check of grants on MariaDB: exactly what is needed, too little, and too much. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../../../database/database.ts';
import { openDatabase } from '../../../../../database/open.ts';
import { CATALOGUE_TABLES } from '../../../../../database/schema.ts';
import { grants } from '../../../../../doctor/checks/database/grants.ts';
import { keys } from '../../../../../doctor/checks/database/keys.ts';
import type { Finding } from '../../../../../doctor/findings/check.ts';
import {
  KEYS_RIGHTS,
  OWN_ACCOUNTS_RIGHTS,
  SCHEDULE_RIGHTS,
} from '../../../../../keys/tables/rights.ts';
import { ACCOUNTS_TABLE, KEYS_TABLES } from '../../../../../keys/tables/schema.ts';
import { loadCatalogue } from '../../../../catalogue/load.ts';
import { sampleCatalogue } from '../../../../catalogue/sample.ts';
import { examine, faultsIn } from '../../../../doctor/installation.ts';
import { makeDatabase } from '../../../../support/databases.ts';
import { ROOT } from '../../../../support/product.ts';

const PASSWORD = 'S3cret-of-this-test';
let admin: Database;
let schema: string;
let user: string;
let userUrl: string;

beforeAll(async () => {
  const url = await makeDatabase('mysql');
  admin = await openDatabase(url);
  await loadCatalogue(admin, sampleCatalogue());
  schema = new URL(url).pathname.slice(1);
  user = `u${schema.slice(-12)}`;
  await admin.run(`CREATE USER ${user} IDENTIFIED BY '${PASSWORD}'`);
  userUrl = url.replace(/\/\/.*@/, `//${user}:${PASSWORD}@`);
});
afterAll(async () => {
  await admin.run(`DROP USER ${user}`);
  await admin.close();
});

async function grant(...statements: string[]): Promise<void> {
  await admin.run(`REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${user}`);
  for (const statement of statements) {
    await admin.run(`GRANT ${statement.replace(' ON ', ` ON ${schema}.`)} TO ${user}`);
  }
}

async function findings(program: 'schedule' | 'account', all?: 'all'): Promise<readonly Finding[]> {
  const found = await examine(grants, { DATABASE_URL: userUrl }, { programs: [program] });
  return all === 'all' ? found : faultsIn(found);
}

/** The GRANT statements of the documents, without the names of the database and the user. */
function documented(): string[] {
  const text = ['README.md', 'OPERATIONS.md']
    .map((file) => readFileSync(path.join(ROOT, file), 'utf8'))
    .join('\n');
  return [...text.matchAll(/^ {4}GRANT (.*) ON catalogue_api\.(\S+) TO catalogue_api;$/gm)].map(
    ([, rights, table]) => `${rights} ON ${table}`,
  );
}

test('the documents grant the rights in the code, for every table of keys and for own accounts', () => {
  const expected = Object.entries(KEYS_RIGHTS).map(
    ([table, { use, setup }]) => `${[...use, ...setup].join(', ')} ON ${table}`,
  );
  expected.push(`${OWN_ACCOUNTS_RIGHTS.join(', ')} ON accounts`);
  expect(documented()).toContain('SELECT, SHOW VIEW ON *');
  const statements = documented().filter((text) => !text.startsWith('SELECT'));
  expect(statements).toEqual(expected);
  expect(Object.keys(KEYS_RIGHTS)).toEqual(Object.keys(KEYS_TABLES));
});

// Commands of keys use the DATABASE_URL of schedule, so the rights of account are none too many there.
test.each(['account', 'schedule'] as const)(
  'the documented rights are exactly those that %s needs',
  async (program) => {
    await grant(...documented());
    expect(await findings(program, 'all')).toEqual([
      { level: 'ok', text: `'${user}'@'%' has exactly the rights that it needs.` },
    ]);
  },
);

test.each([
  ['schedule', 'cover_files'],
  ['schedule', 'api_keys'],
  ['account', 'accounts'],
  ['account', 'sessions'],
] as const)('for %s, %s that may not be read is an error', async (program, unread) => {
  const tables = [...Object.keys({ ...CATALOGUE_TABLES, ...ACCOUNTS_TABLE, ...KEYS_RIGHTS })];
  const read = tables.filter((table) => table !== unread).map((table) => `SELECT ON ${table}`);
  const write = Object.entries(KEYS_RIGHTS)
    .filter(([table]) => table !== unread)
    .map(([table, { use, setup }]) => `${[...use, ...setup].join(', ')} ON ${table}`);
  await grant(...read, ...write);
  expect(await findings(program)).toEqual([
    {
      level: 'error',
      text: `'${user}'@'%' lacks SELECT on ${unread}.`,
      fix: `Run as an administrator: GRANT SELECT ON ${schema}.${unread} TO '${user}'@'%';`,
    },
  ]);
  if (unread !== 'accounts') return;
  const found = await examine(keys, { DATABASE_URL: userUrl }, { programs: [program] });
  expect(found).toContainEqual({
    level: 'error',
    text: expect.stringMatching(/"accounts" .* does not exist or may not be read/),
    fix: expect.stringContaining('GRANT SELECT'),
  });
});

test('rights to write to accounts are too many if accounts is a view', async () => {
  const url = await makeDatabase('mysql');
  const database = new URL(url).pathname.slice(1);
  const owner = await openDatabase(url);
  await loadCatalogue(owner, sampleCatalogue());
  await owner.run('RENAME TABLE accounts TO users_of_the_site');
  await owner.run('CREATE VIEW accounts AS SELECT * FROM users_of_the_site');
  await grant();
  await admin.run(`GRANT SELECT, SHOW VIEW ON ${database}.* TO ${user}`);
  for (const statement of documented().filter((text) => !text.startsWith('SELECT'))) {
    await admin.run(`GRANT ${statement.replace(' ON ', ` ON ${database}.`)} TO ${user}`);
  }
  for (const program of ['account', 'schedule'] as const) {
    const found = await examine(
      grants,
      { DATABASE_URL: userUrl.replace(schema, database) },
      { programs: [program] },
    );
    expect(faultsIn(found)).toEqual([
      {
        level: 'warning',
        text: expect.stringMatching(/rights on \S+\.`accounts` that it does not need: INSERT, /),
        fix: expect.stringMatching(/REVOKE INSERT, .* ON \S+\.`accounts` FROM /),
      },
    ]);
  }
  await owner.close();
});

test('too few rights are an error, with the statement that grants them', async () => {
  await grant('SELECT ON *', 'INSERT ON api_keys');
  const missing = await findings('schedule');
  expect(missing).toContainEqual({
    level: 'error',
    text: `'${user}'@'%' lacks UPDATE on api_keys.`,
    fix: `Run as an administrator: GRANT UPDATE ON ${schema}.api_keys TO '${user}'@'%';`,
  });
  for (const { level, fix = '' } of missing) {
    if (level === 'error') await admin.run(fix.replace(/^[^:]*: /, '').replace(/;$/, ''));
  }
  const levels = (await findings('schedule')).map(({ level }) => level);
  expect(levels).not.toContain('error');
});

test('more rights than needed are a warning, with the statement that revokes them', async () => {
  const onUsage = 'INSERT, UPDATE, DELETE ON key_usage';
  await grant('SELECT ON *', 'SELECT, UPDATE ON api_keys', onUsage, 'UPDATE, DELETE ON games');
  const [excess, ...others] = await findings('schedule');
  expect([excess, others]).toEqual([
    {
      level: 'warning',
      text: expect.stringMatching(
        /rights on \S+\.`games` that it does not need: (?:UPDATE, DELETE|DELETE, UPDATE)\. .*could change the catalogue/,
      ),
      fix: expect.stringMatching(/REVOKE (?:UPDATE, DELETE|DELETE, UPDATE) ON \S+\.`games` FROM /),
    },
    [],
  ]);
  const revoke = /REVOKE [^;]*/.exec(excess?.fix ?? '')?.[0] ?? '';
  await admin.run(revoke);
  expect(await findings('schedule')).toEqual([]);
  await admin.run(`GRANT ALL ON *.* TO ${user} WITH GRANT OPTION`);
  const all = await findings('schedule');
  expect(all).toMatchObject([
    {
      level: 'warning',
      text: expect.stringMatching(
        /rights on \*\.\* .*: ALL PRIVILEGES, GRANT OPTION\. .*could change/,
      ),
    },
  ]);
});

test('rights to change tables of another database are a warning, and rights to read them are not', async () => {
  const other = new URL(await makeDatabase('mysql')).pathname.slice(1);
  await grant(...documented());
  await admin.run(`CREATE TABLE ${other}.games (id INT)`);
  await admin.run(`GRANT SELECT ON ${other}.* TO ${user}`);
  expect(await findings('schedule')).toEqual([]);
  await admin.run(`GRANT DELETE ON ${other}.games TO ${user}`);
  await admin.run(`GRANT UPDATE ON ${other}.* TO ${user}`);
  const found = await findings('schedule');
  const texts = found.map(({ level, text }) => `${level}: ${text}`).toSorted();
  expect(texts).toEqual([
    expect.stringMatching(
      /^warning: .* rights on `\w+`\.\* that it does not need: UPDATE\. If your views/,
    ),
    expect.stringMatching(/^warning: .* rights on `\w+`\.`games` that it does not need: DELETE\. /),
  ]);
  for (const { fix = '' } of found) await admin.run(/REVOKE [^;]*/.exec(fix)?.[0] ?? '');
  expect(await findings('schedule')).toEqual([]);
});

test('rights that come from a role count', async () => {
  const role = `r${schema.slice(-12)}`;
  await grant();
  await admin.run(`CREATE ROLE ${role}`);
  await admin.run(`GRANT SELECT ON ${schema}.* TO ${role}`);
  for (const [table, { use }] of Object.entries(SCHEDULE_RIGHTS)) {
    await admin.run(`GRANT ${use.join(', ')} ON ${schema}.${table} TO ${role}`);
  }
  await admin.run(`GRANT ${role} TO ${user}`);
  await admin.run(`SET DEFAULT ROLE ${role} FOR ${user}`);
  expect(await findings('schedule')).toEqual([]);
  await admin.run(`DROP ROLE ${role}`);
});

test('a view whose definition is hidden is a warning if its rows have updated_at', async () => {
  const url = await makeDatabase('mysql');
  const database = new URL(url).pathname.slice(1);
  const owner = await openDatabase(url);
  await loadCatalogue(owner, sampleCatalogue());
  await owner.run('RENAME TABLE covers TO covers_of_the_site');
  await owner.run('CREATE VIEW covers AS SELECT * FROM covers_of_the_site');
  await grant();
  await admin.run(`GRANT SELECT ON ${database}.* TO ${user}`);
  const found = () =>
    examine(
      grants,
      { DATABASE_URL: userUrl.replace(schema, database) },
      { programs: ['schedule'] },
    );
  const onViews = async () => (await found()).filter(({ text }) => text.includes('the view'));
  expect(await onViews()).toEqual([]);

  for (const table of ['games', 'covers_of_the_site', 'cover_files']) {
    await owner.run(`ALTER TABLE ${table} ADD COLUMN updated_at DATETIME NULL`);
  }
  await owner.run('CREATE OR REPLACE VIEW covers AS SELECT * FROM covers_of_the_site');
  const [warning, ...others] = await onViews();
  const show = `GRANT SHOW VIEW ON ${database}.* TO '${user}'@'%';`;
  expect([warning, others]).toEqual([
    {
      level: 'warning',
      text: `'${user}'@'%' may not see how the view covers is defined. A new definition would go unnoticed, so each run reads all rows.`,
      fix: `Run as an administrator: ${show}`,
    },
    [],
  ]);
  await admin.run(show.replace(';', ''));
  expect(await onViews()).toEqual([]);
  await owner.close();
});
