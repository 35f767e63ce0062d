/** The checks of a database on MariaDB: the server, types and character sets of columns, sample records. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../../../database/database.ts';
import { openDatabase } from '../../../../../database/open.ts';
import { catalogue } from '../../../../../doctor/checks/database/catalogue.ts';
import { sample } from '../../../../../doctor/checks/database/sample.ts';
import { databaseCheck, makeDatabaseAccess } from '../../../../../doctor/checks/database/server.ts';
import { loadCatalogue } from '../../../../catalogue/load.ts';
import { sampleCatalogue } from '../../../../catalogue/sample.ts';
import { makeSampleSqlite, makeSqlite } from '../../../../catalogue/snapshots.ts';
import { examine, faultsIn } from '../../../../doctor/installation.ts';
import { makeDatabase } from '../../../../support/databases.ts';

let url: string;
let admin: Database;
const variables = () => ({ DATABASE_URL: url });

beforeAll(async () => {
  url = await makeDatabase('mysql');
  admin = await openDatabase(url);
  await loadCatalogue(admin, sampleCatalogue());
});
afterAll(() => admin.close());

test('a sound database has no findings but "ok"', async () => {
  const server = await examine(databaseCheck(makeDatabaseAccess()), variables());
  const tables = await examine(catalogue, variables());
  const records = await examine(sample, variables());
  expect(server.map(({ level }) => level)).toEqual(['ok', 'ok', 'ok']);
  expect(server[0]?.text).toMatch(/^MariaDB \S+ is open, as catalogue@%/);
  expect(tables.map(({ level }) => level)).toEqual(['ok', 'ok', 'ok']);
  expect(tables[2]?.text).toBe('Covers by status: "approved" 805, "pending" 73, "rejected" 30.');
  expect(records).toMatchObject([{ level: 'ok', data: [{}, {}, {}] }]);
});

test('types and character sets that do not fit are found, also in views', async () => {
  await admin.run('RENAME TABLE games TO site_games');
  await admin.run(
    `CREATE VIEW games AS SELECT id, platform_id, slug, CONVERT(title USING latin1) AS title,
       CONCAT(release_year, '') AS release_year, description, genres, developer, publisher
       FROM site_games`,
  );
  const tables = await examine(catalogue, variables());
  const [record] = await examine(sample, variables());
  const wrong = faultsIn(tables).map(({ text }) => text);
  const { fix = '' } = faultsIn(tables)[0] ?? {};
  expect(wrong).toEqual([
    'games.release_year has the type varchar, but must be a whole number.',
    expect.stringMatching(/^games\.title has the character set latin1\. /),
  ]);
  expect(record).toMatchObject({
    level: 'warning',
    text: expect.stringContaining('release_year is not a year'),
  });
  // The expression in the fix gives what the catalogue has, and NULL for everything else.
  const [, expression = ''] = /view: (IF\(.*\))\. CAST alone/.exec(fix) ?? [];
  const values = ['1995', '', 'unknown', '199x', '19 95'];
  for (const value of values) {
    const converted = await admin.rows(
      `SELECT ${expression} FROM (SELECT ? AS release_year) AS year`,
      [value],
    );
    expect(converted, value).toEqual([[value === '1995' ? 1995 : null]]);
  }
});

test('games of the year 0 are a warning', async () => {
  const sqlite = await makeSampleSqlite();
  const database = await openDatabase(sqlite);
  await database.run('UPDATE games SET release_year = 0 WHERE id IN (1001, 1002)');
  await database.close();
  expect(faultsIn(await examine(catalogue, { DATABASE_URL: sqlite }))).toEqual([
    {
      level: 'warning',
      text: expect.stringMatching(/^Games with the release year 0: 2\. /),
      fix: expect.stringContaining('NULLIF(release_year, 0)'),
    },
  ]);
});

test('ids beyond 2^53 are shown exactly', async () => {
  const id = '9223372036854775807';
  const sqlite = await makeSqlite({
    ...sampleCatalogue(),
    games: [[id, 1, 'last', 'The Last', 1999, null, null, null, null]],
    covers: [],
    coverFiles: [],
    gameTitles: [],
  });
  const [found] = await examine(sample, { DATABASE_URL: sqlite });
  expect(JSON.stringify(found?.data)).toMatch(new RegExp(`^\\[\\{"id":${id},"slug":"last"`));
});
