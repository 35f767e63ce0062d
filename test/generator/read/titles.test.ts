/** Alternative titles of games: from where they are read, which are left out, and how they reach a generation. */
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkFind } from '#find/check.ts';
import { checkTitles, readOptionalTables } from '#generator/read/optional-tables.ts';
import { makeReadTable } from '#generator/read/read-table.ts';
import { Report } from '#generator/report/report.ts';
import type { Row, Value } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { OPTIONAL_TABLES } from '#lib/database/schema.ts';
import { createTables } from '#lib/database/tables.ts';
import { textOfId } from '#lib/format/index/ids.ts';
import { MANIFEST } from '#lib/format/layout.ts';
import { encodeManifest, makeManifest } from '#lib/format/manifest.ts';
import { readManifest } from '#lib/generations/generations.ts';
import { withoutHistory } from '#lib/generations/history.ts';
import { everything, verifyAndOpen } from '#lib/generations/verify.ts';
import { game, plainCatalogue } from '#test/catalogue/plain.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { expectEqualsFull, makeTimedSite, quiet } from '#test/generator/reuse/runs.ts';
import { change, KINDS, makeDatabase } from '#test/support/databases.ts';
import { generate, makeFolder } from '#test/support/product.ts';
import { newSnapshots, reportOf } from '#test/support/wholeness.ts';

const HUGE = '9223372036854775807';
const PUBLISHED = new Set(['1', '2', '3', '5', HUGE]);

/** The titles after the ids of their games, and what is reported. */
function check(rows: readonly Row[]) {
  const report = new Report();
  report.setRows('game_titles', rows.length);
  const titles = checkTitles({ game_titles: rows }, report, (id) => PUBLISHED.has(textOfId(id)));
  const { tables, rows: leftOut, warnings } = report.content();
  const reasons = leftOut.map(({ id, reason, value }) => [id, reason, value]);
  return { titles: Object.fromEntries(titles), table: tables.game_titles, reasons, warnings };
}

test('titles are sorted by UTF-16 code unit, whatever their order in the database', () => {
  // By code point, U+FF5A would be before U+1F600.
  const titles = ['1', 'Z', 'z', 'é', '😀', 'ｚ', ' padded ', 'a"\\\n\u0000'];
  const rows = [3, 1, HUGE, 2].flatMap((id) => titles.map((title): Row => [id, title]));
  const sorted = titles.toSorted();
  for (const given of [rows, rows.toReversed()]) {
    const { reasons, ...found } = check(given);
    expect(found.titles).toEqual({ 1: sorted, 2: sorted, 3: sorted, [HUGE]: sorted });
    expect([reasons, found.table?.left_out]).toEqual([[], 0]);
  }
});

test('bad rows are left out, counted and listed by reason, game and value, in any order', () => {
  const rows: Row[] = [
    ...[null, '', ' \t\n', 1942].map((title): Row => [1, title]),
    ...['Twice', 'twice', 'Twice', 'Twice'].map((title): Row => [5, title]),
    ...([null, 77, 99] as const).map((game): Row => [game, 'Of no game']),
  ];
  for (const given of [rows, rows.toReversed()]) {
    const { titles, table, reasons } = check(given);
    expect(titles).toEqual({ 5: ['Twice', 'twice'] });
    expect(reasons).toEqual([
      [null, 'game_id is NULL', null],
      [77, 'its game does not exist or is left out', 77],
      [99, 'its game does not exist or is left out', 99],
      [5, 'the title appears twice for its game', 'Twice'],
      [5, 'the title appears twice for its game', 'Twice'],
      [1, 'title is NULL', null],
      [1, 'title is empty', ''],
      [1, 'title is empty', ' \t\n'],
      [1, 'title is not text', 1942],
    ]);
    expect(table).toMatchObject({ rows: 11, left_out: 9, reasons: { 'title is empty': 2 } });
  }
});

test('a title that is not UTF-8 is searched, with one warning for each time it is kept', () => {
  const { titles, table, warnings } = check([3, 1, 1].map((id) => [id, 'Pok\ufffdmon']));
  expect([titles, table?.left_out]).toEqual([{ 1: ['Pok\ufffdmon'], 3: ['Pok\ufffdmon'] }, 1]);
  expect(warnings).toEqual([
    {
      table: 'game_titles',
      reason: 'title has bytes that are not UTF-8, or holds U+FFFD: searched with U+FFFD',
      count: 2,
      rows: [1, 3].map((id) => ({ id, value: 'Pok\ufffdmon' })),
    },
  ]);
});

test.each([
  ['a whole table', undefined],
  ['chosen rows', { conditions: ['id < 9'], rows: 3 }],
  ['chosen rows that the server counts', { conditions: ['id < 9'], rows: undefined }],
])('a read of %s that ends early is an error', async (_, selection) => {
  const readOf = async (rows: readonly Row[]) => {
    const reader = {
      rows: async (sql: string) => (sql.includes('COUNT(*)') ? [[3]] : [...rows]),
      async each(_sql: string, onRow: (row: Row) => void) {
        rows.forEach(onRow);
      },
    };
    const found: Value[] = [];
    const take = ([id = null]: Row) => found.push(id);
    const readTable = makeReadTable(reader, new Report(), quiet);
    await readTable('games', { columns: 'id', selection, blockOf: () => '', take });
    return found;
  };
  expect(await readOf([[1], [2], [3]])).toEqual([1, 2, 3]);
  await expect(readOf([[1], [2]])).rejects.toThrow('has 3 rows to read, but 2 arrived.');
});

const TEXTS = ['Z', 'é', 'ファイナルVII', '😀', 'ｚ', ' padded ', 'a"\\\n\u0000'];

describe.each(KINDS)('from %s', (kind) => {
  test.each<[string, string[], Row[], object]>([
    [
      'the table of this product',
      [],
      [3, HUGE].flatMap((id) => TEXTS.map((title): Row => [id, title])),
      { 3: TEXTS.toSorted(), [HUGE]: TEXTS.toSorted() },
    ],
    [
      'a table whose ids are texts, which have another order',
      ['CREATE TABLE game_titles (game_id VARCHAR(20), title VARCHAR(20))'],
      ['10', HUGE, '9', '10'].map((id, i) => [id, `Title ${i}`]),
      { 9: ['Title 2'], 10: ['Title 0', 'Title 3'], [HUGE]: ['Title 1'] },
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
    if (statements.length === 0)
      await createTables(database, { game_titles: OPTIONAL_TABLES.game_titles });
    for (const sql of statements) await database.run(sql);
    for (const row of rows) await database.run('INSERT INTO game_titles VALUES (?, ?)', row);
    const report = new Report();
    const read = await database.snapshot((reader) =>
      readOptionalTables(makeReadTable(reader, report, quiet), ['game_titles']),
    );
    expect(Object.fromEntries(checkTitles(read, report, () => true))).toEqual(expected);
    await database.close();
  });
});

test('titles reach the search index, and a table that is absent or dropped leaves no trace', async () => {
  const { games, ...rest } = plainCatalogue(40);
  const url = await makeSqlite({ ...rest, games: [...games, game(77, 99, 'Left out')] });
  const dir = newSnapshots();
  const filesAfter = async (...statements: string[]) => {
    await change(url, ...statements);
    const { stderr, stdout } = await generate(url, dir, ['--json']);
    const { files: listed, counts } = withoutHistory(readManifest(path.join(dir, 'current')));
    const files = listed.map(({ changed_at: _, ...file }) => file);
    return { stderr, outcome: JSON.parse(stdout).outcome, files, leftOut: counts.left_out };
  };
  const table = () => reportOf(dir).tables.game_titles;
  const before = await filesAfter();
  expect([before.stderr.includes('game_titles'), table()]).toEqual([false, undefined]);
  await filesAfter('CREATE TABLE game_titles (game_id INT, title VARCHAR(20))');
  expect(table()).toEqual({ rows: 0, left_out: 0, reasons: {} });

  const { stderr, leftOut, files } = await filesAfter(
    "INSERT INTO game_titles VALUES (77, 'Of a game left out'), (1, ''), (1, 'FF7'), (2, 'A'), (3, 'B')",
  );
  expect(stderr).toContain('reading game_titles: 5\nreading games');
  expect(stderr).toContain('Left out: 1 of game_titles: its game does not exist or is left out.\n');
  // With the game that is left out.
  expect([leftOut, table().left_out]).toEqual([3, 2]);
  // As many rows as before: only the search index has changed.
  const renamed = await filesAfter("UPDATE game_titles SET title = 'OoT' WHERE title = 'FF7'");
  expect(renamed.outcome).toBe('published');
  expect(renamed.files).not.toEqual(files);
  expect((await filesAfter()).outcome).toBe('unchanged');
  expect((await filesAfter('DROP TABLE game_titles')).files).toEqual(before.files);
});

test('a game whose row is not read again keeps its titles', async () => {
  const { database, dir } = await makeTimedSite('sqlite', 60);
  await database.run(
    "INSERT INTO game_titles SELECT id, 'Another ' || id FROM games WHERE id IN (SELECT game_id FROM covers)",
  );
  // In one block of rows.
  await database.run(
    "UPDATE games SET title = 'Renamed', updated_at = '2021-01-01 00:00:00' WHERE id = (SELECT MIN(id) FROM games)",
  );
  expect(await expectEqualsFull(database, dir)).toBe('published');
  expect(reportOf(dir).tables.game_titles?.left_out).toBe(0);
});

test('each platform that has some has a list of them, and no other list passes as one', async () => {
  const titles = [
    [1, 'Z'],
    [1, 'ファイナル'],
    [2, 'A "quoted" one'],
    [9, 'Another'],
  ] as const;
  const rows = titles.map(([id, title]) => `INSERT INTO game_titles VALUES (${id}, '${title}')`);
  const table = 'CREATE TABLE game_titles (game_id INTEGER, title TEXT)';
  const snapshotsDir = newSnapshots();
  await generate(await makeSqlite(plainCatalogue(16), table, ...rows), snapshotsDir);
  const dir = realpathSync(path.join(snapshotsDir, 'current'));
  const list = (name: string) => readFileSync(path.join(dir, 'titles', name), 'utf8');
  expect(readdirSync(path.join(dir, 'titles'))).toEqual(['p2.json', 'p3.json']);
  expect(list('p2.json')).toBe(
    '[\n{"id":1,"titles":["Z","ファイナル"]},\n{"id":9,"titles":["Another"]}\n]\n',
  );
  expect(JSON.parse(list('p3.json'))).toEqual([{ id: 2, titles: ['A "quoted" one'] }]);

  const manifest = readManifest(dir);
  const damage = async (name: string, content: string) => {
    const copy = makeFolder();
    cpSync(dir, copy, { recursive: true });
    writeFileSync(path.join(copy, name), content);
    const sha256 = createHash('sha256').update(content).digest('hex');
    const own = { path: name, size: Buffer.byteLength(content), sha256 };
    const files = [...manifest.files.filter((file) => file.path !== name), own];
    const damaged = makeManifest({ ...manifest, files }, manifest.sequence);
    writeFileSync(path.join(copy, MANIFEST), encodeManifest(damaged));
    await verifyAndOpen(copy, everything(checkFind));
  };
  const other = '[\n{"id":2,"titles":["Another"]}\n]\n';
  await damage('titles/p3.json', list('p3.json'));
  const wrong = 'titles/p3.json does not have the titles of index/titles.bin.';
  await expect(damage('titles/p3.json', other)).rejects.toThrow(wrong);
  const foreign = 'titles/p4.json has no titles in index/titles.bin.';
  await expect(damage('titles/p4.json', other)).rejects.toThrow(foreign);
});
