/** What the doctor finds in an SQLite database: sample records, and the tables of API keys. */
import { chmodSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { database, keys, sample } from '#cli/doctor/checks/database.ts';
import { runGenerator } from '#cli/generate.ts';
import { runSnapshot } from '#cli/snapshot.ts';
import { createKeysTables } from '#keys/tables/schema.ts';
import { type Database, selectCount } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { makeDatabase } from '#test/support/databases.ts';
import { makeFolder, runCommand, testKey, writeKeys } from '#test/support/product.ts';
import { examine, faultsIn } from './examine.ts';

let variables: Record<'DATABASE_URL' | 'SNAPSHOTS_DIR', string>;

beforeEach(async () => {
  variables = { DATABASE_URL: await makeSampleSqlite(), SNAPSHOTS_DIR: makeFolder() };
});

async function change(work: (opened: Database) => Promise<unknown>): Promise<void> {
  const opened = await openDatabase(variables.DATABASE_URL);
  await work(opened);
  await opened.close();
}

test('a database file that others may use is a warning', async () => {
  const file = variables.DATABASE_URL.slice('sqlite:'.length);
  chmodSync(file, 0o600);
  expect(faultsIn(await examine(database, variables))).toEqual([]);
  chmodSync(file, 0o644);
  expect(faultsIn(await examine(database, variables))).toMatchObject([
    { level: 'warning', fix: `Run: chmod 600 ${file}*` },
  ]);
});

test('an address that names no database is to be corrected, and not tried with the client of a server', async () => {
  const fix = 'Correct DATABASE_URL in .env.';
  for (const [url, text] of [
    [`sqlite:${makeFolder()}/none.db`, 'none.db'],
    ['sqlite:/etc/passwd', 'cannot be used as a SQLite database'],
    ['mysql://u:p%zz@127.0.0.1/x', 'write "%" as "%25"'],
  ] as const) {
    const found = await examine(database, { ...variables, DATABASE_URL: url });
    expect(found).toEqual([{ level: 'error', text: expect.stringContaining(text), fix }]);
  }
  const away = { ...variables, DATABASE_URL: 'mysql://u:p@127.0.0.1:1/x' };
  expect((await examine(database, away))[0]?.fix).toContain('mariadb --host');
});

test('three games are shown exactly as the API sends them later', async () => {
  const [found] = await examine(sample, variables);
  const shown = found?.data as readonly { id: number }[];
  expect(shown).toHaveLength(3);
  await runCommand(runGenerator, [], variables);
  const path = `/games?ids=${shown.map(({ id }) => id).join(',')}&include=cover`;
  const served = await runCommand(runSnapshot, ['show', path], variables);
  expect(shown).toEqual(JSON.parse(served.stdout).data);
});

test('the sample shows statuses and rows that the generator would not publish', async () => {
  await change(async (opened) => {
    await opened.run('UPDATE covers SET status = ?', ['Appr\u001b[31moved']);
    await opened.run("UPDATE games SET slug = 'a b' WHERE id = 1001");
  });
  const found = await examine(sample, variables);
  expect(faultsIn(found)).toEqual(
    expect.arrayContaining([
      {
        level: 'error',
        text: expect.stringContaining('Statuses in the table: "Appr\\u001b[31moved"'),
        fix: expect.stringContaining('CASE status'),
      },
      {
        level: 'warning',
        text: expect.stringContaining('slug does not fit a path'),
        fix: expect.any(String),
      },
    ]),
  );
});

test('the sample says which types there are if no cover is a front, until FRONT_TYPES names one', async () => {
  const counts: unknown[] = [];
  await change(async (opened) => {
    await opened.run("UPDATE covers SET type = CASE type WHEN 'front' THEN 'Frente' ELSE NULL END");
    for (const type of ["= 'Frente'", 'IS NULL'])
      counts.push(await selectCount(opened, `covers WHERE status = 'approved' AND type ${type}`));
  });
  const [fronts, others] = counts;
  const expected = {
    level: 'warning',
    text: `no approved cover has a type of FRONT_TYPES, which is front; set it to one of the types that there are (Frente: ${fronts}, NULL: ${others}).`,
    fix: expect.stringContaining('FRONT_TYPES=frente'),
  };
  expect(faultsIn(await examine(sample, variables))).toEqual([expected]);
  expect(faultsIn(await examine(sample, { ...variables, FRONT_TYPES: 'capa,FRENTE' }))).toEqual([]);
});

test('a catalogue of which no game can be published is an error that says why', async () => {
  await change(async (opened) => {
    await opened.run('ALTER TABLE games RENAME TO site_games');
    await opened.run(`CREATE VIEW games AS SELECT id, platform_id, slug, title, 'abc' AS release_year,
      description, genres, developer, publisher FROM site_games`);
  });
  const found = faultsIn(await examine(sample, variables));
  expect(found.map(({ level }) => level)).toEqual(['warning', 'error']);
  expect(found[0]?.text).toContain('release_year is not a year');
  expect(found[1]?.text).toContain('none of the first 100 games');
});

test('ids that are not whole numbers are named', async () => {
  await change(async (opened) => {
    await opened.run('ALTER TABLE games RENAME TO site_games');
    await opened.run(`CREATE VIEW games AS SELECT 'x' || id AS id, platform_id, slug, title, release_year,
      description, genres, developer, publisher FROM site_games`);
  });
  expect(faultsIn(await examine(sample, variables))).toMatchObject([
    { level: 'error', text: expect.stringContaining('not unsigned whole numbers: "x') },
  ]);
});

test('nobody is told to create tables of keys while keys.json has keys', async () => {
  variables.DATABASE_URL = await makeDatabase('sqlite');
  expect(await examine(keys, variables)).toMatchObject([
    { level: 'skipped', fix: expect.stringContaining('keys list') },
  ]);
  writeKeys(variables.SNAPSHOTS_DIR, [testKey(1)]);
  const [gone] = await examine(keys, variables);
  expect(gone).toMatchObject({ level: 'error', fix: expect.stringContaining('restore.md') });
  expect(gone?.fix).not.toContain('keys list');
});

test('a table of keys that lacks most of the known ones is an error', async () => {
  await change(createKeysTables);
  expect(faultsIn(await examine(keys, variables, ['schedule']))).toEqual([]);
  writeKeys(
    variables.SNAPSHOTS_DIR,
    [1, 2, 3, 4].map((id) => testKey(id)),
  );
  expect(faultsIn(await examine(keys, variables, ['schedule']))).toMatchObject([
    {
      level: 'error',
      text: expect.stringMatching(/^4 of the keys in .*Nothing is exported/),
      fix: expect.stringContaining('keys export --force'),
    },
  ]);
});

test('accounts with one e-mail address are named, unless the site signs them in', async () => {
  await change(createKeysTables);
  await change((opened) => opened.run('DELETE FROM accounts'));
  for (const [id, email] of [
    [1, 'ada@catalogue.net'],
    [22, 'Ada@catalogue.net'],
    [33, 'ola@catalogue.net'],
    [44, ''],
    [55, ''],
  ] as const) {
    const sql = "INSERT INTO accounts VALUES (?, ?, 'Ada', 'moderator')";
    await change((opened) => opened.run(sql, [id, email]));
  }
  expect(faultsIn(await examine(keys, variables))).toEqual([]);
  const again = "INSERT INTO accounts VALUES (66, 'ola@catalogue.net', 'Ola', 'user')";
  await change((opened) => opened.run(again));
  expect(faultsIn(await examine(keys, variables))).toEqual([
    {
      level: 'warning',
      text: 'E-mail addresses that belong to more than one account: 1. These accounts cannot sign in by link, such as those with the ids 33 and 66.',
      fix: expect.stringContaining('an address of its own'),
    },
  ]);
  const bySite = { ...variables, SITE_JWT_SECRET: 'a secret of thirty-two bytes ...' };
  expect(faultsIn(await examine(keys, bySite))).toEqual([]);
});

test('nobody can sign in without accounts, or review requests without a moderator', async () => {
  await change(createKeysTables);
  await change((opened) =>
    opened.run("INSERT INTO accounts VALUES (1, 'ada@catalogue.net', 'Ada', 'moderator')"),
  );
  expect(faultsIn(await examine(keys, variables))).toEqual([]);
  await change((opened) => opened.run("UPDATE accounts SET role = 'user'"));
  expect(faultsIn(await examine(keys, variables))).toMatchObject([
    { level: 'warning', text: expect.stringContaining('No account is a moderator') },
  ]);
  await change((opened) => opened.run('DROP TABLE accounts'));
  expect(faultsIn(await examine(keys, variables))).toMatchObject([
    { level: 'error', text: expect.stringContaining('nobody can sign in') },
  ]);
  expect(faultsIn(await examine(keys, variables, ['schedule']))).toEqual([]);
});
