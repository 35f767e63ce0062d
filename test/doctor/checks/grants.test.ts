/** The check of grants on MariaDB: exactly what is needed, too little, and too much. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { grants } from '../../../doctor/checks/grants.ts';
import type { Finding } from '../../../doctor/findings/check.ts';
import { KEYS_RIGHTS, SCHEDULE_RIGHTS } from '../../../keys/tables/rights.ts';
import { KEYS_TABLES } from '../../../keys/tables/schema.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { makeDatabase } from '../../support/databases.ts';
import { ROOT } from '../../support/product.ts';
import { examine, faultsIn } from '../installation.ts';

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

test('the documents grant the rights in the code, for every table of keys', () => {
  const expected = Object.entries(KEYS_RIGHTS).map(
    ([table, { use, setup }]) => `${[...use, ...setup].join(', ')} ON ${table}`,
  );
  const statements = documented().filter((text) => !text.startsWith('SELECT'));
  expect(statements).toEqual(expected);
  expect(Object.keys(KEYS_RIGHTS)).toEqual(Object.keys(KEYS_TABLES));
});

test('the documented rights are exactly those that account needs', async () => {
  await grant(...documented());
  expect(await findings('account', 'all')).toEqual([
    { level: 'ok', text: `'${user}'@'%' has exactly the rights that it needs.` },
  ]);
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
        /rights on \S+\.games that it does not need: (?:UPDATE, DELETE|DELETE, UPDATE)\. .*could change the catalogue/,
      ),
      fix: expect.stringMatching(/REVOKE (?:UPDATE, DELETE|DELETE, UPDATE) ON \S+\.games FROM /),
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
