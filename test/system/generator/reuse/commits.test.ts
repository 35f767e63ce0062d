/** The server computes no fingerprints of a table that has had no commit since the last run. */
import { expect, test } from 'vitest';
import type { Database, LastCommit, Reader } from '../../../../database/database.ts';
import { makeTimed, run } from '../../../generator/reuse/runs.ts';
import { newSnapshots } from '../../../support/wholeness.ts';

/** The database, with last commits of the test; records the statements for fingerprints. */
function watched(database: Database) {
  const commits = new Map<string, LastCommit>();
  const statements: string[] = [];
  const lastCommits = async () => new Map(commits);
  const rowsOf = ({ rows }: Reader): Reader['rows'] => {
    return (sql, parameters) => {
      const [, column, table] = /^SELECT (\w+) >>.* FROM (\w+) GROUP BY/.exec(sql) ?? [];
      if (column !== undefined) statements.push(`${table} by ${column}`);
      return rows(sql, parameters);
    };
  };
  const watchedDatabase: Database = {
    ...database,
    lastCommits,
    snapshot: (read) =>
      database.snapshot((reader) => read({ ...reader, rows: rowsOf(reader), lastCommits })),
  };
  return {
    database: watchedDatabase,
    commit: (table: string, time: string, secondsAgo: number) =>
      commits.set(table, { time, secondsAgo }),
    /** Runs. @returns the fingerprints that the server computed, and the outcome */
    async run(dir: string) {
      statements.length = 0;
      const { outcome, readAllBecause } = await run(watchedDatabase, dir);
      expect(readAllBecause).toBe(null);
      return { outcome, statements: [...statements] };
    },
  };
}

test('only the tables that may have changed have fingerprints computed', async () => {
  const site = watched(await makeTimed('mysql', 12));
  const dir = newSnapshots();
  for (const table of ['games', 'covers', 'cover_files']) site.commit(table, '10:00:00', 3600);
  await run(site.database, dir);
  expect(await site.run(dir)).toEqual({ outcome: 'unchanged', statements: [] });

  await site.database.run(
    `UPDATE covers SET status = 'rejected', updated_at = '2021-01-01 00:00:00'
      WHERE id = (SELECT id FROM (SELECT MIN(id) AS id FROM covers WHERE status = 'approved') AS a)`,
  );
  site.commit('covers', '11:00:00', 4);
  expect(await site.run(dir)).toEqual({
    outcome: 'published',
    statements: ['covers by game_id', 'covers by id'],
  });
  // Another commit of the same second cannot be ruled out.
  expect(await site.run(dir)).toEqual({ outcome: 'unchanged', statements: ['covers by game_id'] });
  await site.database.close();
});

test('without a record of commits, all tables have fingerprints computed', async () => {
  const site = watched(await makeTimed('sqlite', 12));
  const dir = newSnapshots();
  await run(site.database, dir);
  expect(await site.run(dir)).toEqual({
    outcome: 'unchanged',
    statements: ['games by id', 'covers by game_id', 'cover_files by cover_id'],
  });
  await site.database.close();
});
