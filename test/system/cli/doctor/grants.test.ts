/** The check of rights on MariaDB, and the rights that the documents grant. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Program } from '#cli/doctor/check.ts';
import { database, sample } from '#cli/doctor/checks/database.ts';
import { grants } from '#cli/doctor/checks/grants.ts';
import { loadCatalogue } from '#demo/catalogue/load.ts';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { KEYS_RIGHTS } from '#keys/tables/rights.ts';
import { createKeysTables, KEYS_TABLES } from '#keys/tables/schema.ts';
import { openDatabase } from '#lib/database/open.ts';
import { examine, faultsIn } from '#test/cli/doctor/examine.ts';
import { makeDatabase, makeDatabaseUser } from '#test/support/databases.ts';
import { ROOT, runKeys } from '#test/support/product.ts';
import { KEYS_GRANTS } from '#test/support/rights.ts';

const url = await makeDatabase('mysql');
const admin = await openDatabase(url);
await loadCatalogue(admin, sampleCatalogue());
await createKeysTables(admin);
const schema = new URL(url).pathname.slice(1);
const user = await makeDatabaseUser(url);
const name = `'${user.name}'@'%'`;
afterAll(() => admin.close());

async function grant(...rights: string[]): Promise<void> {
  await user.revokeAll();
  await user.grant(...rights);
}

const findings = (program: Program) => examine(grants, { DATABASE_URL: user.url }, [program]);

/** The GRANT statements of a document, without the names of the database and the user. */
function grantsIn(file: string): string[] {
  const text = readFileSync(path.join(ROOT, 'operations', file), 'utf8');
  const statement = /^(?: {4})?GRANT (.*) ON catalogue_api\.(\S+) TO catalogue_api;$/gm;
  return [...text.matchAll(statement)].map(([, rights, table]) => `${rights} ON ${table}`);
}
const documented = () => [...new Set([...grantsIn('from-your-site.md'), ...grantsIn('keys.md')])];

test('the documents grant the rights in the code, for every table of keys and for own accounts', () => {
  expect(grantsIn('from-your-site.md')).toEqual(['SELECT, SHOW VIEW ON *', ...KEYS_GRANTS]);
  // `keys account` creates its own table of accounts: `add` inserts, `role` updates, `remove` deletes.
  expect(grantsIn('keys.md')).toEqual(['INSERT, UPDATE, DELETE, CREATE ON accounts']);
  expect(Object.keys(KEYS_RIGHTS)).toEqual(Object.keys(KEYS_TABLES));
});

test.each(['account', 'schedule'] as const)(
  'the documented rights are enough for %s',
  async (program) => {
    await grant(...documented());
    expect(await findings(program)).toEqual([
      {
        level: 'ok',
        text: `${name} has the rights that it needs, and none to change the catalogue.`,
      },
    ]);
    const [server] = await examine(database, { DATABASE_URL: user.url }, [program]);
    const [[version]] = (await admin.rows('SELECT VERSION()')) as [[string]];
    expect(server?.text).toContain(`version ${version}`);
  },
);

test('a missing right is an error, with the statement that grants it', async () => {
  await grant('SELECT ON *', 'INSERT ON api_keys', 'INSERT, UPDATE, DELETE ON key_usage');
  const expected = {
    level: 'error',
    text: `${name} lacks UPDATE on api_keys.`,
    fix: `Run as an administrator: GRANT UPDATE ON ${schema}.api_keys TO ${name};`,
  };
  expect(await findings('schedule')).toEqual([expected]);
  expect(await findings('account')).toContainEqual(expected);
  const missing = faultsIn(await findings('account'));
  for (const { fix = '' } of missing) await admin.run(fix.replace(/^[^:]*: |;$/g, ''));
  expect(faultsIn(await findings('account'))).toEqual([]);
});

test('what is missing to create the tables of keys is told before they exist', async () => {
  const empty = await makeDatabase('mysql');
  const itsAdmin = await openDatabase(empty);
  await loadCatalogue(itsAdmin, sampleCatalogue());
  for (const table of Object.keys(KEYS_TABLES)) await itsAdmin.run(`DROP TABLE ${table}`);
  // MySQL has a binary log.
  await itsAdmin.run('SET GLOBAL log_bin_trust_function_creators = 1');
  const other = await makeDatabaseUser(empty);
  const faults = async () => faultsIn(await examine(grants, { DATABASE_URL: other.url }));
  await other.grant('SELECT, SHOW VIEW ON *');
  const missing = await faults();
  expect(missing).toContainEqual({
    level: 'error',
    text: `'${other.name}'@'%' lacks CREATE, INSERT, DELETE on old_keys.`,
    fix: expect.stringContaining('GRANT CREATE, INSERT, DELETE ON '),
  });
  const only = await examine(grants, { DATABASE_URL: other.url }, ['schedule']);
  expect(faultsIn(only)).toEqual([]);
  const before = await itsAdmin.columns();
  for (const { fix = '' } of missing) await itsAdmin.run(fix.replace(/^[^:]*: |;$/g, ''));
  expect(await faults()).toEqual([]);
  expect(await itsAdmin.columns()).toEqual(before);
  expect(await runKeys(other.url, ['issue'])).toMatchObject({ code: 0 });
  await itsAdmin.close();
});

test('own accounts that cannot be changed, and a history that could be changed, are warnings', async () => {
  await grant(...documented().filter((text) => !text.endsWith(' ON accounts')));
  expect(faultsIn(await findings('account'))).toEqual([
    {
      level: 'warning',
      text: expect.stringMatching(
        /lacks INSERT, UPDATE, DELETE on accounts: "cover-catalogue keys/,
      ),
      fix: expect.stringContaining(`GRANT INSERT, UPDATE, DELETE ON ${schema}.accounts`),
    },
  ]);
  await admin.run('DROP TRIGGER key_events_update');
  const withoutTrigger = documented().map((text) => text.replace(', TRIGGER', ', UPDATE'));
  await grant(...withoutTrigger);
  expect(faultsIn(await findings('account'))).toMatchObject([
    { level: 'warning', text: expect.stringContaining('may change the history of keys') },
  ]);
  await grant(...documented());
  await createKeysTables(admin);
});

test('a table that may not be read is an error', async () => {
  const others = ['platforms', 'games', 'covers'].map((table) => `SELECT ON ${table}`);
  await grant(...others);
  expect(await findings('schedule')).toMatchObject([
    { level: 'error', text: `${name} lacks SELECT on cover_files.` },
  ]);
  const found = await findings('account');
  expect(found).toContainEqual({
    level: 'error',
    text: `${name} lacks SELECT on accounts.`,
    fix: `Run as an administrator: GRANT SELECT ON ${schema}.accounts TO ${name};`,
  });
});

test('rights to change the catalogue are a warning', async () => {
  await grant(...documented(), 'UPDATE, DELETE ON games');
  expect(await findings('schedule')).toMatchObject([
    { level: 'warning', text: expect.stringContaining('has UPDATE, DELETE on games') },
  ]);
  expect(await admin.rows('SELECT COUNT(*) FROM games')).not.toEqual([[0]]);
});

test('rights that come from a role count', async () => {
  const role = `r${schema.slice(-12)}`;
  await grant();
  await admin.run(`CREATE ROLE ${role}`);
  for (const statement of documented()) {
    await admin.run(`GRANT ${statement.replace(' ON ', ` ON ${schema}.`)} TO ${role}`);
  }
  await admin.run(`GRANT ${role} TO ${user.name}`);
  await admin.run(`SET DEFAULT ROLE ${role} /*M! FOR */ /*!80000 TO */ ${user.name}`);
  expect(faultsIn(await findings('account'))).toEqual([]);
  await admin.run(`DROP ROLE ${role}`);
});

test('the sample shows that the type of a column does not fit', async () => {
  await grant(...documented());
  await admin.run('ALTER TABLE games RENAME TO site_games');
  await admin.run(
    `CREATE VIEW games AS SELECT id, platform_id, slug, title, CONCAT(release_year, '') AS release_year,
       description, genres, developer, publisher FROM site_games`,
  );
  expect(await examine(sample, { DATABASE_URL: user.url }, ['schedule'])).toContainEqual({
    level: 'warning',
    text: expect.stringContaining('release_year is not a year'),
    fix: expect.any(String),
  });
});
