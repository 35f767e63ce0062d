/** Views of MariaDB whose definitions a user may not see: which they are, and the grant that shows them. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Database } from '../../../database/database.ts';
import { findHiddenViews } from '../../../database/hidden-views.ts';
import { openDatabase } from '../../../database/open.ts';
import { makeDatabase } from '../../support/databases.ts';

let admin: Database;
let readerUrl: string;
let schema: string;
let user: string;

beforeAll(async () => {
  const url = await makeDatabase('mysql');
  schema = new URL(url).pathname.slice(1);
  user = `v${schema.slice(-12)}`;
  admin = await openDatabase(url);
  for (const sql of [
    'CREATE TABLE covers_of_the_site (id INT, status VARCHAR(10))',
    'CREATE TABLE games (id INT)',
    'CREATE TABLE people (id INT)',
    'CREATE VIEW accounts AS SELECT id FROM people',
    'CREATE VIEW `inner``covers` AS SELECT id, status FROM covers_of_the_site',
    'CREATE VIEW covers AS SELECT id, status FROM `inner``covers`',
    `CREATE USER ${user} IDENTIFIED BY 'x'`,
  ]) {
    await admin.run(sql);
  }
  await admin.run(`GRANT SELECT ON ${schema}.* TO ${user}`);
  readerUrl = url.replace(/\/\/.*@/, `//${user}:x@`);
});
afterAll(async () => {
  await admin.run(`DROP USER ${user}`);
  await admin.close();
});
beforeEach(async () => {
  await admin.run(`REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${user}`);
  await admin.run(`GRANT SELECT ON ${schema}.* TO ${user}`);
});

/** What is hidden from the user. A server applies a new grant on a database to new connections. */
async function hiddenFrom(tables: readonly string[]) {
  const reader = await openDatabase(readerUrl);
  const hidden = await findHiddenViews(reader, tables);
  await reader.close();
  return hidden;
}

test('a view is hidden without SHOW VIEW, and the grant shows it', async () => {
  const hidden = await hiddenFrom(['games', 'covers']);
  expect(hidden).toEqual({
    fault: `'${user}'@'%' may not see how the view covers is defined`,
    grant: `GRANT SHOW VIEW ON ${schema}.* TO '${user}'@'%'`,
  });
  await admin.run(String(hidden?.grant));
  expect(await hiddenFrom(['games', 'covers'])).toBe(undefined);
});

test('only views that are used count, and those that they read are used', async () => {
  expect(await hiddenFrom(['games'])).toBe(undefined);
  await admin.run(`GRANT SHOW VIEW ON ${schema}.covers TO ${user}`);
  expect(await hiddenFrom(['covers'])).toMatchObject({
    fault: expect.stringContaining('the view inner`covers is defined'),
  });
  expect(await hiddenFrom(['covers', 'accounts'])).toMatchObject({
    fault: expect.stringContaining('the views accounts, inner`covers are defined'),
  });
  await admin.run(`GRANT SHOW VIEW ON ${schema}.\`inner\`\`covers\` TO ${user}`);
  expect(await hiddenFrom(['covers'])).toBe(undefined);
});

test('the definer of a view sees it', async () => {
  expect(await findHiddenViews(admin, ['covers', 'accounts'])).toBe(undefined);
});
