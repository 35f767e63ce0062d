/**
 * Alternative titles of games: from which tables and views they are read, and how they reach a generation.
 * `test/generator/read/titles.test.ts` has which of them are left out.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Row } from '../../../../database/database.ts';
import { openDatabase } from '../../../../database/open.ts';
import { GAME_TITLES_TABLE } from '../../../../database/schema.ts';
import { createTables } from '../../../../database/tables.ts';
import { currentId } from '../../../../generations/generations.ts';
import { checkTitles, readTitleRows } from '../../../../generator/read/read-catalogue.ts';
import { makeReadTable } from '../../../../generator/read/read-table.ts';
import { makeReport } from '../../../../generator/report/report.ts';
import { game, plainCatalogue } from '../../../catalogue/plain.ts';
import { makeSqlite } from '../../../catalogue/snapshots.ts';
import { change, KINDS, makeDatabase } from '../../../support/databases.ts';
import { generate } from '../../../support/product.ts';
import { newSnapshots, reportOf, runGenerator } from '../../../support/wholeness.ts';

const HUGE = '9223372036854775807';
const TEXTS = ['1', 'Z', 'z', 'é', 'ファイナルVII', '😀', 'ｚ', ' padded ', 'a"\\\n\u0000'];

describe.each(KINDS)('from %s', (kind) => {
  const isMysql = kind === 'mysql';
  const table = (columns: string) => `CREATE TABLE game_titles (${columns})`;

  test.each<[string, string[], Row[], object]>([
    [
      'the table of this product',
      [],
      [3, HUGE].flatMap((id) => TEXTS.map((title): Row => [id, title])),
      { 3: TEXTS.toSorted(), [HUGE]: TEXTS.toSorted() },
    ],
    [
      'a table whose ids are texts, which have another order',
      [table('game_id VARCHAR(20), title VARCHAR(20)')],
      ['10', HUGE, '9', '10'].map((id, i) => [id, `Title ${i}`]),
      { 9: ['Title 2'], 10: ['Title 0', 'Title 3'], [HUGE]: ['Title 1'] },
    ],
    [
      // Latin-1 bytes: in MySQL a binary column keeps them, in SQLite any column does.
      'a table with bytes that are not UTF-8',
      [
        table(isMysql ? 'game_id BIGINT, title BLOB' : 'game_id, title'),
        "INSERT INTO game_titles VALUES (1, X'506F6BE96D6F6E'), (2, 'Fine')",
      ],
      [],
      { 1: ['Pok\ufffdmon'], 2: ['Fine'] },
    ],
    [
      'a table with numbers, which are no titles',
      [table(isMysql ? 'game_id BIGINT, title INT' : 'game_id, title')],
      [[1, 1942]],
      {},
    ],
    [
      'a view over other tables',
      [
        'CREATE TABLE names (game INT, short_name VARCHAR(20), kana VARCHAR(20))',
        "INSERT INTO names VALUES (2, 'FF7', 'エフエフ'), (1, 'OoT', NULL)",
        `CREATE VIEW game_titles AS SELECT game AS game_id, short_name AS title FROM names
         UNION ALL SELECT game, kana FROM names WHERE kana IS NOT NULL`,
      ],
      [],
      { 1: ['OoT'], 2: ['FF7', 'エフエフ'] },
    ],
  ])('titles are read from %s', async (_, statements, rows, expected) => {
    const database = await openDatabase(await makeDatabase(kind));
    if (statements.length === 0) await createTables(database, GAME_TITLES_TABLE);
    for (const sql of statements) await database.run(sql);
    for (const row of rows) await database.run('INSERT INTO game_titles VALUES (?, ?)', row);
    const report = makeReport();
    const read = await database.snapshot((reader) =>
      readTitleRows(makeReadTable(reader, report, () => {})),
    );
    expect(Object.fromEntries(checkTitles(read, report, () => true))).toEqual(expected);
    await database.close();
  });
});

/** Every file of the current generation except its manifest, which has the date. */
function filesOf(dir: string): Map<string, string> {
  const current = path.join(dir, 'current/');
  const names = readdirSync(current, { recursive: true, encoding: 'utf8' }).toSorted();
  const files = names.filter((name) => /\.(?:json|bin)$/.test(name) && name !== 'manifest.json');
  return new Map(files.map((name) => [name, readFileSync(path.join(current, name), 'latin1')]));
}

test('an absent table is not mentioned, and one that is dropped again leaves no trace', async () => {
  const url = await makeSqlite(plainCatalogue(4));
  const dir = newSnapshots();
  expect((await generate(url, dir)).stderr).not.toContain('game_titles');
  expect(Object.keys(reportOf(dir).tables)).toEqual([
    'platforms',
    'games',
    'covers',
    'cover_files',
  ]);
  const contentOf = () => [currentId(dir)?.split('-')[1], filesOf(dir)];
  const before = contentOf();
  await change(url, 'CREATE TABLE game_titles (game_id INT, title VARCHAR(20))');
  await generate(url, dir);
  expect(reportOf(dir).tables.game_titles).toEqual({ rows: 0, left_out: 0, reasons: {} });
  await change(url, "INSERT INTO game_titles VALUES (1, 'FF7')");
  await generate(url, dir);
  expect(contentOf()[0]).not.toBe(before[0]);
  await change(url, 'DROP TABLE game_titles');
  await generate(url, dir);
  expect(contentOf()).toEqual(before);
});

test('a run counts bad titles, says how far it is, and publishes only when a title has changed', async () => {
  const { games, ...rest } = plainCatalogue(40);
  const titles = Array.from({ length: 60 }, (_, i): Row => [1 + (i % 40), `Title ${i}`]);
  const url = await makeSqlite({
    ...rest,
    games: [...games, game(77, 99, 'Left out')],
    gameTitles: [...titles, [77, 'Of a game left out'], [1, '']],
  });
  const dir = newSnapshots();
  const dry = await runGenerator(url, dir, ['--dry-run']);
  expect([dry.code, currentId(dir)]).toEqual([0, undefined]);
  const { stderr, stdout } = await generate(url, dir, ['--json']);
  for (const text of [dry.stderr, stderr]) {
    expect(text).toContain('reading game_titles: 62\nreading games');
    expect(text).toContain('Left out: 1 of game_titles: its game does not exist or is left out.\n');
  }
  // With the game that is left out.
  expect(JSON.parse(stdout).counts.left_out).toBe(3);
  expect((await generate(url, dir)).stdout).toContain('The data has not changed');
  for (const [sql, published] of [
    ["INSERT INTO game_titles VALUES (1, 'Another')", 'Published 000002'],
    // As many rows as before: only the search index has changed.
    ["UPDATE game_titles SET title = 'One more' WHERE title = 'Another'", 'Published 000003'],
  ] as const) {
    await change(url, sql);
    expect((await generate(url, dir)).stdout).toContain(published);
  }
});
