/** Views of MariaDB whose definitions a user may not see: which they are. `reuse/views.test.ts` has the grant. */
import { beforeEach, expect, test } from 'vitest';
import { findHiddenViews } from '#lib/database/hidden-views.ts';
import { openDatabase } from '#lib/database/open.ts';
import { change, makeDatabase, makeDatabaseUser } from '#test/support/databases.ts';

const url = await makeDatabase('mysql');
const reader = await makeDatabaseUser(url);
await change(
  url,
  'CREATE TABLE covers_of_the_site (id INT, status VARCHAR(10))',
  'CREATE TABLE games (id INT)',
  'CREATE TABLE people (id INT)',
  'CREATE VIEW accounts AS SELECT id FROM people',
  'CREATE VIEW `inner``covers` AS SELECT id, status FROM covers_of_the_site',
  'CREATE VIEW covers AS SELECT id, status FROM `inner``covers`',
);
beforeEach(async () => {
  await reader.revokeAll();
  await reader.grant('SELECT ON *');
});

async function hiddenFrom(user: { readonly url: string }, ...tables: string[]) {
  const database = await openDatabase(user.url);
  return findHiddenViews(database, tables).finally(() => database.close());
}

test('only views that are used count, and those that they read are used', async () => {
  expect(await hiddenFrom(reader, 'games')).toBe(undefined);
  await reader.grant('SHOW VIEW ON covers');
  expect(await hiddenFrom(reader, 'covers')).toMatchObject({
    fault: expect.stringContaining('the view inner`covers is defined'),
  });
  expect(await hiddenFrom(reader, 'covers', 'accounts')).toMatchObject({
    fault: expect.stringContaining('the views accounts, inner`covers are defined'),
  });
  await reader.grant('SHOW VIEW ON `inner``covers`');
  expect(await hiddenFrom(reader, 'covers')).toBe(undefined);
});

test('the definer of a view sees it', async () => {
  expect(await hiddenFrom({ url }, 'covers', 'accounts')).toBe(undefined);
});
