/** The doctor names the tables and views without an index on `updated_at` that polls can use, on each kind of database. */
import { expect, test } from 'vitest';
import { changes } from '#cli/doctor/checks/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { examine } from '#test/cli/doctor/examine.ts';
import { addIndexes } from '#test/generator/reuse/random-changes.ts';
import { loadTimed } from '#test/generator/reuse/runs.ts';
import { KINDS, makeDatabase } from '#test/support/databases.ts';

test.each(KINDS)(
  'tables and views without an index on updated_at are named on %s',
  async (kind) => {
    const url = await makeDatabase(kind);
    const database = await openDatabase(url);
    await loadTimed(database, 3_000);
    const find = () => examine(changes, { DATABASE_URL: url }, ['schedule']);
    const levels = async () => (await find()).map(({ level, fix }) => [level, fix]);
    const see = expect.stringContaining('See "Changes within seconds" in operations/database.md.');
    expect(await levels()).toEqual(
      ['games', 'covers', 'cover_files'].map((table) => [
        'warning',
        `CREATE INDEX ${table}_updated_at ON ${table} (updated_at);`,
      ]),
    );
    await addIndexes(database);
    expect(await levels()).toEqual([['ok', undefined]]);
    const columns = 'id, game_id, region, type, status, approved_at';
    await database.run('ALTER TABLE covers RENAME TO site_covers');
    await database.run(`CREATE VIEW covers AS SELECT ${columns}, updated_at FROM site_covers`);
    expect(await levels()).toEqual([['ok', undefined]]);
    await database.run('DROP VIEW covers');
    await database.run(
      `CREATE VIEW covers AS SELECT ${columns}, COALESCE(updated_at, '2020-01-01') AS updated_at FROM site_covers`,
    );
    const [found] = await find();
    expect(found).toEqual({
      level: 'warning',
      text: 'The view covers uses no index on updated_at: takedowns take longer.',
      fix: see,
    });
    expect(found?.fix).toContain('CREATE INDEX covers_updated_at ON its table (updated_at);');
    await database.close();
  },
);

test('without updated_at, the doctor says when changes are published', async () => {
  const url = await makeDatabase('sqlite');
  const database = await openDatabase(url);
  await loadTimed(database, 3);
  await database.run('ALTER TABLE covers DROP COLUMN updated_at');
  await database.close();
  expect(await examine(changes, { DATABASE_URL: url }, ['schedule'])).toEqual([
    {
      level: 'ok',
      text: 'Changes are published at the times of GENERATE_CRON: no updated_at in covers.',
    },
  ]);
});
