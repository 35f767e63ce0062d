/** Tables and views that a database has and the program cannot read: which they are, why, and the fix. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { CATALOGUE_TABLES, OPTIONAL_TABLES } from '../../../database/schema.ts';
import { checkTables, createTables } from '../../../database/tables.ts';
import { runGenerator } from '../../../generator/cli/run-generator.ts';
import { runKeys } from '../../../keys/cli/run-keys.ts';
import { ACCOUNTS_TABLE } from '../../../keys/tables/schema.ts';
import { makeDatabase } from '../../support/databases.ts';
import { makeFolder, runCommand } from '../../support/product.ts';

describe('in MariaDB', () => {
  const tables = { ...CATALOGUE_TABLES, ...ACCOUNTS_TABLE };
  let admin: Database;
  let readerUrl: string;
  let site: string;
  let definer: string;
  let reader: string;

  beforeEach(async () => {
    const siteUrl = await makeDatabase('mysql');
    const url = await makeDatabase('mysql');
    const nameOf = (address: string) => new URL(address).pathname.slice(1);
    site = nameOf(siteUrl);
    definer = `d${nameOf(url).slice(-12)}`;
    reader = `r${nameOf(url).slice(-12)}`;
    const own = await openDatabase(siteUrl);
    await createTables(own, tables);
    await own.close();
    admin = await openDatabase(url);
    await admin.run(`CREATE USER ${definer}@'%'`);
    await admin.run(`GRANT SELECT ON ${site}.* TO ${definer}@'%'`);
    for (const table of Object.keys(tables)) {
      await admin.run(
        `CREATE DEFINER = ${definer}@'%' VIEW ${table} AS SELECT * FROM ${site}.${table}`,
      );
    }
    await admin.run(`CREATE USER ${reader}@'%' IDENTIFIED BY 'x'`);
    await admin.run(
      `GRANT SELECT, INSERT, UPDATE, CREATE, TRIGGER ON ${nameOf(url)}.* TO ${reader}@'%'`,
    );
    readerUrl = url.replace(/\/\/.*@/, `//${reader}:x@`);
  });
  afterEach(async () => {
    for (const user of [definer, reader]) await admin.run(`DROP USER IF EXISTS ${user}@'%'`);
    await admin.close();
  });

  const generate = () =>
    runCommand(runGenerator, [], {
      DATABASE_URL: readerUrl,
      SNAPSHOTS_DIR: makeFolder(),
      SITE_URL: 'https://covers.example',
      FILES_URL: 'https://files.covers.example',
    });

  test('a definer that does not exist is named with every view of its', async () => {
    expect((await generate()).code).toBe(0);
    await admin.run(`DROP USER ${definer}@'%'`);
    const { code, stderr } = await generate();
    expect([code, stderr]).toEqual([
      1,
      `The views platforms, games, covers, cover_files cannot be read: the definer ${definer}@% does not exist. ` +
        'Create this user again, or recreate its views (CREATE OR REPLACE VIEW …) as a user that stays.\n',
    ]);
    const accounts = await runCommand(runKeys, ['account', 'list'], {
      DATABASE_URL: readerUrl,
    });
    expect([accounts.code, accounts.stderr]).toEqual([
      1,
      expect.stringMatching(
        /the definer of a view that it reads does not exist: create this user again, or recreate the view\)\n$/,
      ),
    ]);
  });

  test('a definer that may not read and a dropped table are not reported as a missing table', async () => {
    await admin.run(`REVOKE SELECT ON ${site}.* FROM ${definer}@'%'`);
    for (const table of ['platforms', 'games', 'covers']) {
      await admin.run(`GRANT SELECT ON ${site}.${table} TO ${definer}@'%'`);
    }
    await admin.run(`DROP TABLE ${site}.covers`);
    await admin.run('DROP VIEW games');
    const { stderr } = await generate();
    expect(stderr).toBe(
      `The views covers, cover_files cannot be read: a table or column that is selected from is gone, or the definer ${definer}@% may not read it. ` +
        'Restore it, GRANT SELECT on it to the definer, or recreate the views (CREATE OR REPLACE VIEW …). ' +
        'The database lacks the table games, or its user may not read them. Offer them as tables or views; README.md shows how.\n',
    );
  });

  describe('for a user with rights to single tables', () => {
    let name: string;
    beforeEach(async () => {
      name = new URL(readerUrl).pathname.slice(1);
      await admin.run(`REVOKE ALL, GRANT OPTION FROM ${reader}@'%'`);
      for (const table of Object.keys(CATALOGUE_TABLES)) await grant('SELECT', table);
      await createTables(admin, { game_titles: OPTIONAL_TABLES.game_titles });
    });
    const grant = (right: string, table: string) =>
      admin.run(`GRANT ${right} ON ${name}.${table} TO ${reader}@'%'`);

    // A server does not show a table to a user without any right to it.
    test('game_titles counts as absent without any right, and is read with SELECT', async () => {
      const without = await generate();
      expect([without.code, without.stderr]).toEqual([
        0,
        expect.not.stringContaining('game_titles'),
      ]);
      await grant('SELECT', 'game_titles');
      expect((await generate()).code).toBe(0);
    });

    test.each(['INSERT', 'DELETE', 'INSERT (title)'])(
      'game_titles with only the right to %s is an error that says so, not absent',
      async (right) => {
        await grant(right, 'game_titles');
        const { code, stderr } = await generate();
        expect([code, stderr]).toEqual([
          1,
          `The table game_titles cannot be read: the user ${reader}@% does not have the right. GRANT SELECT on it to this user.\n`,
        ]);
      },
    );

    test('a column of game_titles without the right is named', async () => {
      await grant('SELECT (game_id)', 'game_titles');
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
