/** Tables and views that a database has and the program cannot read: which they are, why, and the fix. */

import { beforeEach, describe, expect, test } from 'vitest';
import { ACCOUNTS_TABLE } from '#keys/tables/schema.ts';
import { openDatabase } from '#lib/database/open.ts';
import { CATALOGUE_TABLES, OPTIONAL_TABLES } from '#lib/database/schema.ts';
import { checkTables, createTables } from '#lib/database/tables.ts';
import { change, makeDatabase, makeDatabaseUser } from '#test/support/databases.ts';
import { makeFolder, runKeys } from '#test/support/product.ts';
import { runGenerator } from '#test/support/wholeness.ts';

describe('on a server', () => {
  const tables = { ...CATALOGUE_TABLES, ...ACCOUNTS_TABLE };
  type User = Awaited<ReturnType<typeof makeDatabaseUser>>;
  let siteUrl: string;
  let url: string;
  let definer: User;
  let reader: User;

  beforeEach(async () => {
    siteUrl = await makeDatabase('mysql');
    url = await makeDatabase('mysql');
    [definer, reader] = [await makeDatabaseUser(siteUrl), await makeDatabaseUser(url)];
    const own = await openDatabase(siteUrl);
    await createTables(own, tables);
    await own.close();
    await definer.grant('SELECT ON *');
    const site = new URL(siteUrl).pathname.slice(1);
    const view = (table: string) =>
      `CREATE DEFINER = ${definer.name}@'%' VIEW ${table} AS SELECT * FROM ${site}.${table}`;
    await change(url, ...Object.keys(tables).map(view));
    await reader.grant('SELECT, INSERT, UPDATE, CREATE, TRIGGER ON *');
  });

  const generate = () => runGenerator(reader.url, makeFolder());

  test('a definer that does not exist is named with every view of its', async () => {
    expect((await generate()).code).toBe(0);
    // With a binary log, as MySQL has, only an administrator may create triggers.
    expect((await runKeys(url, ['list'])).code).toBe(0);
    await change(url, `DROP USER ${definer.name}`);
    const { code, stderr } = await generate();
    expect([code, stderr]).toEqual([
      1,
      `The views platforms, games, covers, cover_files cannot be read: the definer ${definer.name}@% does not exist. ` +
        'Create this user again, or recreate its views (CREATE OR REPLACE VIEW …) as a user that stays.\n',
    ]);
    const accounts = await runKeys(reader.url, ['account', 'list']);
    expect([accounts.code, accounts.stderr]).toEqual([
      1,
      expect.stringMatching(
        /the definer of a view that it reads does not exist: create this user again, or recreate the view\)\n$/,
      ),
    ]);
  });

  test('a definer that may not read and a dropped table are not reported as a missing table', async () => {
    await definer.revokeAll();
    await definer.grant('SELECT ON platforms', 'SELECT ON games', 'SELECT ON covers');
    await change(siteUrl, 'DROP TABLE covers');
    await change(url, 'DROP VIEW games');
    const { stderr } = await generate();
    expect(stderr).toBe(
      `The views covers, cover_files cannot be read: a table or column that is selected from is gone, or the definer ${definer.name}@% may not read it. ` +
        'Restore it, GRANT SELECT on it to the definer, or recreate the views (CREATE OR REPLACE VIEW …). ' +
        'The database lacks the table games, or its user may not read them. Offer them as tables or views; README.md shows how.\n',
    );
  });

  describe('for a user with rights to single tables', () => {
    beforeEach(async () => {
      await reader.revokeAll();
      await reader.grant(...Object.keys(CATALOGUE_TABLES).map((table) => `SELECT ON ${table}`));
      const admin = await openDatabase(url);
      await createTables(admin, { game_titles: OPTIONAL_TABLES.game_titles });
      await admin.close();
    });

    // A server does not show a table to a user without any right to it.
    test('game_titles counts as absent without any right, and is read with SELECT', async () => {
      const without = await generate();
      expect([without.code, without.stderr]).toEqual([
        0,
        expect.not.stringContaining('game_titles'),
      ]);
      await reader.grant('SELECT ON game_titles');
      expect((await generate()).code).toBe(0);
    });

    test.each(['INSERT', 'DELETE', 'INSERT (title)'])(
      'game_titles with only the right to %s is an error that says so, not absent',
      async (right) => {
        await reader.grant(`${right} ON game_titles`);
        const { code, stderr } = await generate();
        expect([code, stderr]).toEqual([
          1,
          `The table game_titles cannot be read: the user ${reader.name}@% does not have the right. GRANT SELECT on it to this user.\n`,
        ]);
      },
    );

    test('a column of game_titles without the right is named', async () => {
      await reader.grant('SELECT (game_id) ON game_titles');
      const { code, stderr } = await generate();
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('lacks the column game_titles.title, or its user may not read'),
      ]);
    });
  });
});

test('in SQLite a view whose table is gone is named with what it lacks', async () => {
  const database = await openDatabase(await makeDatabase('sqlite'));
  const { platforms: _, ...others } = CATALOGUE_TABLES;
  await createTables(database, others);
  await database.run('CREATE TABLE systems (id INT, slug VARCHAR(10), name VARCHAR(10))');
  await database.run('CREATE VIEW platforms AS SELECT id, slug, name FROM systems');
  await checkTables(database, CATALOGUE_TABLES);
  await database.run('DROP TABLE systems');
  await expect(checkTables(database, CATALOGUE_TABLES)).rejects.toThrow(
    /^The view platforms cannot be read: no such table: main\.systems\. Restore the tables that it selects from, or recreate the view\.$/,
  );
  await database.close();
});
