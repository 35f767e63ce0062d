/**
 * Alternative titles of games: what the generator reads from the optional table, which rows it leaves
 * out, and that neither an absent table nor the order of the rows changes a generation.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Database, Row, Value } from '../../../../database/database.ts';
import { openDatabase } from '../../../../database/open.ts';
import { checkCatalogue } from '../../../../database/schema.ts';
import { textOfId } from '../../../../format/index/ids.ts';
import { checkTitles, readTitleRows } from '../../../../generator/read/read-catalogue.ts';
import { makeReadTable } from '../../../../generator/read/read-table.ts';
import { makeReport } from '../../../../generator/report/report.ts';
import { currentId } from '../../../../store/generations/generations.ts';
import { loadCatalogue } from '../../../catalogue/load.ts';
import { game, plainCatalogue } from '../../../catalogue/plain.ts';
import { makeRandom } from '../../../catalogue/random.ts';
import { KINDS, type Kind, makeDatabase } from '../../../support/databases.ts';
import { generate } from '../../../support/product.ts';
import { newSnapshots, runGenerator } from '../../../support/wholeness.ts';

const HUGE = '9223372036854775807';
const PUBLISHED = [...Array.from({ length: 40 }, (_, i) => String(i + 1)), HUGE];
/** The columns of the table as a site may have them: without keys, and open to any value. */
const LOOSE = { mysql: 'game_id BIGINT UNSIGNED, title LONGTEXT', sqlite: 'game_id, title' };

/** @param change is called with the database once it is loaded. @returns the DATABASE_URL */
async function makeCatalogue(
  kind: Kind,
  gameTitles: readonly Row[] | undefined,
  change: (database: Database) => Promise<unknown> = async () => {},
): Promise<string> {
  const url = await makeDatabase(kind);
  const database = await openDatabase(url);
  const { games, ...rest } = plainCatalogue(40);
  const all = [...games, [HUGE, ...game(41, 1, 'Largest').slice(1)], game(77, 99, 'Left out')];
  await loadCatalogue(database, { ...rest, games: all, ...(gameTitles && { gameTitles }) });
  await change(database);
  await database.close();
  return url;
}

/** A catalogue with rows of a table that accepts every row. */
function makeLoose(kind: Kind, rows: readonly Row[], columns: string = LOOSE[kind]) {
  return makeCatalogue(kind, undefined, async (database) => {
    await database.run(`CREATE TABLE game_titles (${columns})`);
    await database.transaction(async ({ run }) => {
      for (const row of rows) await run('INSERT INTO game_titles VALUES (?, ?)', row);
    });
  });
}

/**
 * What the generator reads: each title after the id of its game, and the report.
 * @param most rows after which a stream ends
 */
async function readTitles(url: string, most = Number.POSITIVE_INFINITY) {
  const database = await openDatabase(url);
  const report = makeReport();
  try {
    return await database.snapshot(async (reader) => {
      const each: typeof reader.each = (sql, onRow) => {
        let rows = 0;
        return reader.each(sql, (row) => rows++ < most && onRow(row));
      };
      const titleRows = await readTitleRows(makeReadTable({ ...reader, each }, report, () => {}));
      const known = new Map([...PUBLISHED.map((id) => [id, true] as const), ['77', false]]);
      const found = checkTitles(titleRows, report, (id) => known.get(textOfId(id)));
      const byId = (a: string, b: string) => (BigInt(a) < BigInt(b) ? -1 : 1);
      const titles = [...found]
        .sort(([a], [b]) => byId(a, b))
        .flatMap(([id, list]) => list.map((title) => [id === HUGE ? id : Number(id), title]));
      const { tables, rows, warnings } = report.content();
      const ofTitles = ({ table }: { table: string | null }) => table === 'game_titles';
      return {
        titles,
        table: tables.game_titles,
        leftOut: rows.filter(ofTitles).map(({ id, reason, value }) => [id, reason, value]),
        warnings: warnings.filter(ofTitles),
      };
    });
  } finally {
    await database.close();
  }
}

/** Every file of the current generation except its manifest, which has the date. */
function filesOf(dir: string): Map<string, string> {
  const current = path.join(dir, 'current/');
  const names = readdirSync(current, { recursive: true, encoding: 'utf8' }).toSorted();
  const files = names.filter((name) => /\.(?:json|bin)$/.test(name) && name !== 'manifest.json');
  return new Map(files.map((name) => [name, readFileSync(path.join(current, name), 'latin1')]));
}

const run = (url: string, dir: string, ...args: string[]) => runGenerator(url, dir, args);
const reportOf = (dir: string) => JSON.parse(readFileSync(path.join(dir, 'report.json'), 'utf8'));
const hashOf = (dir: string) => currentId(dir)?.split('-')[1];
const alter = async (url: string, ...statements: string[]) => {
  const database = await openDatabase(url);
  for (const sql of statements) await database.run(sql);
  await database.close();
};

describe.each(KINDS)('from %s', (kind) => {
  test('an absent table is not asked for, reported or mentioned', async () => {
    const url = await makeCatalogue(kind, undefined);
    const database = await openDatabase(url);
    const asked: string[] = [];
    const observed: Database = {
      ...database,
      rows: (sql, parameters) => {
        asked.push(sql);
        return database.rows(sql, parameters);
      },
    };
    expect(await checkCatalogue(observed)).toMatchObject({ hasGameTitles: false });
    expect(asked.join('\n')).toContain('games');
    expect(asked.join('\n')).not.toContain('game_titles');
    await database.close();
    const dir = newSnapshots();
    const { stderr } = await generate(url, dir, ['--force']);
    expect(stderr).not.toContain('game_titles');
    expect(Object.keys(reportOf(dir).tables)).toEqual([
      'platforms',
      'games',
      'covers',
      'cover_files',
    ]);
  });

  test('a table that is created and dropped again leaves no trace in the next generation', async () => {
    const url = await makeCatalogue(kind, undefined);
    const dir = newSnapshots();
    await generate(url, dir);
    const before = [hashOf(dir), filesOf(dir)];
    await alter(
      url,
      'CREATE TABLE game_titles (game_id INT, title VARCHAR(20))',
      "INSERT INTO game_titles VALUES (1, 'FF7')",
    );
    await generate(url, dir);
    expect(hashOf(dir)).not.toBe(before[0]);
    await alter(url, 'DROP TABLE game_titles');
    await generate(url, dir);
    expect([hashOf(dir), filesOf(dir)]).toEqual(before);
  });

  test('titles are sorted by game, then UTF-16 code unit, whatever their order in the database', async () => {
    // By code point, U+FF5A would be before U+1F600.
    const titles = [
      '1',
      'Z',
      'z',
      'é',
      'ファイナルファンタジーVII',
      '😀',
      'ｚ',
      ' padded ',
      'a"\\\n\u0000',
    ];
    const rows = [3, 20, 1, HUGE, 2].flatMap((id) => titles.map((title): Row => [id, title]));
    const expected = [1, 2, 3, 20, HUGE].flatMap((id) =>
      titles.toSorted().map((title) => [id, title]),
    );
    for (const given of [rows, rows.toReversed()]) {
      const {
        titles: found,
        table,
        leftOut,
        warnings,
      } = await readTitles(await makeCatalogue(kind, given));
      expect(found).toEqual(expected);
      expect([table, leftOut, warnings]).toEqual([
        { rows: rows.length, left_out: 0, reasons: {} },
        [],
        [],
      ]);
    }
  });

  test('a stream of rows that ends early is an error', async () => {
    const url = await makeLoose(
      kind,
      Array.from({ length: 100 }, (_, i): Row => [40, `Title ${i}`]),
    );
    expect((await readTitles(url, 100)).titles).toHaveLength(100);
    await expect(readTitles(url, 99)).rejects.toThrow(
      'The table game_titles has 100 rows to read, but 99 arrived.',
    );
  });

  test('an empty table is reported as such', async () => {
    const { titles, table } = await readTitles(await makeCatalogue(kind, []));
    expect([titles, table]).toEqual([[], { rows: 0, left_out: 0, reasons: {} }]);
  });

  test('a view over other tables serves as well', async () => {
    const url = await makeCatalogue(kind, undefined, async (database) => {
      await database.run('CREATE TABLE names (game INT, short_name VARCHAR(20), kana VARCHAR(20))');
      await database.run("INSERT INTO names VALUES (2, 'FF7', 'エフエフ'), (1, 'OoT', NULL)");
      await database.run(
        `CREATE VIEW game_titles AS SELECT game AS game_id, short_name AS title FROM names
         UNION ALL SELECT game, kana FROM names WHERE kana IS NOT NULL`,
      );
    });
    const { titles } = await readTitles(url);
    expect(titles).toEqual([
      [1, 'OoT'],
      [2, 'FF7'],
      [2, 'エフエフ'],
    ]);
    const dir = newSnapshots();
    const { stderr } = await generate(url, dir, ['--force']);
    expect(stderr).toContain('reading game_titles: 3\n');
  });

  test('ids in a column of texts, which have another order, give the same', async () => {
    const columns = 'game_id VARCHAR(20), title VARCHAR(20)';
    const rows = ['10', HUGE, '9', '2', '10', '2'].map((id, i): Row => [id, `Title ${i}`]);
    const { titles } = await readTitles(await makeLoose(kind, rows, columns));
    expect(titles).toEqual([
      [2, 'Title 3'],
      [2, 'Title 5'],
      [9, 'Title 2'],
      [10, 'Title 0'],
      [10, 'Title 4'],
      [HUGE, 'Title 1'],
    ]);
  });

  test('bad rows are left out, counted and listed by reason, game and value, in any order', async () => {
    const rows: Row[] = [
      ...[
        [null, 'No game'],
        [1, ''],
        [1, ' \t\n'],
        [1, null],
      ],
      ...[
        [5, 'Twice'],
        [5, 'twice'],
        [5, 'Twice'],
        [5, 'Twice'],
      ],
      ...[
        [77, 'Of a game left out'],
        [99, 'Of no game'],
      ],
    ];
    for (const given of [rows, rows.toReversed()]) {
      const { titles, table, leftOut } = await readTitles(await makeLoose(kind, given));
      expect(titles).toEqual([
        [5, 'Twice'],
        [5, 'twice'],
      ]);
      expect(leftOut).toEqual([
        [null, 'game_id is not an unsigned whole number', null],
        [77, 'its game is left out', 77],
        [99, 'the game does not exist', 99],
        [5, 'the title appears twice for its game', 'Twice'],
        [5, 'the title appears twice for its game', 'Twice'],
        [1, 'title is empty', ''],
        [1, 'title is empty', ' \t\n'],
        [1, 'title is not text', null],
      ]);
      expect(table).toMatchObject({ rows: 10, left_out: 8, reasons: { 'title is empty': 2 } });
    }
  });

  test('a title that is not UTF-8 is kept with a warning', async () => {
    // Latin-1 bytes: in MySQL a binary column keeps them, in SQLite any column does.
    const columns = kind === 'mysql' ? 'game_id BIGINT, title BLOB' : LOOSE.sqlite;
    const url = await makeLoose(kind, [[2, 'Fine']], columns);
    await alter(
      url,
      "INSERT INTO game_titles VALUES (1, X'506F6BE96D6F6E'), (3, X'506F6BE96D6F6E')",
    );
    const { titles, table, warnings } = await readTitles(url);
    expect(titles).toEqual([
      [1, 'Pok\ufffdmon'],
      [2, 'Fine'],
      [3, 'Pok\ufffdmon'],
    ]);
    expect(table).toMatchObject({ left_out: 0 });
    expect(warnings).toEqual([
      {
        table: 'game_titles',
        reason: 'title has bytes that are not UTF-8, or holds U+FFFD: searched with U+FFFD',
        count: 2,
        rows: [1, 3].map((id) => ({ id, value: 'Pok\ufffdmon' })),
      },
    ]);
  });

  test('a column of numbers is not text', async () => {
    const columns = kind === 'mysql' ? 'game_id BIGINT, title INT' : LOOSE.sqlite;
    const { titles, leftOut } = await readTitles(await makeLoose(kind, [[1, 1942]], columns));
    expect([titles, leftOut]).toEqual([[], [[1, 'title is not text', 1942]]]);
  });
});

test('the same rows give the same generation from each database, in each order', async () => {
  const random = makeRandom(3);
  const numbers = Array.from({ length: 40 }, (_, i) => i + 1);
  const good = numbers.flatMap((id) =>
    ['Short', '短い', `T${id}`].map((title): Row => [id, title]),
  );
  // More of each reason than the report lists.
  const bad = Array.from({ length: 150 }, (_, i): Row[] => [
    [1 + (i % 40), ' '.repeat(i)],
    [1 + (i % 40), null],
    [1 + (i % 40), 'Short'],
    [1000 - i, 'Orphan'],
    [null, `Title ${i}`],
  ]).flat();
  const shuffled = (rows: readonly Row[]) =>
    rows.map((row) => [random.next(), row] as const).sort(([a], [b]) => a - b);
  const found: { files: ReturnType<typeof filesOf>; report: Record<string, unknown> }[] = [];
  for (const kind of KINDS) {
    for (let round = 0; round < 2; round++) {
      const rows = shuffled([...good, ...bad]).map(([, row]) => row);
      const dir = newSnapshots();
      await generate(await makeLoose(kind, rows), dir, ['--force']);
      const { finished_at: _, ...report } = reportOf(dir);
      found.push({ files: filesOf(dir), report });
    }
  }
  const [first] = found;
  const { tables } = first.report as ReturnType<typeof reportOf>;
  expect(tables.game_titles).toMatchObject({ rows: 870, left_out: 750 });
  expect(Object.values(tables.game_titles.reasons)).toEqual([150, 150, 150, 150, 150]);
  for (const each of found) expect(each).toEqual(found[0]);
});

test('whatever stands in the rows, each is read or reported', async () => {
  const odd: Value[] = [
    ...[
      null,
      '',
      ' ',
      '\u0000',
      '0',
      '-1',
      '1',
      '007',
      '1.5',
      '1e1',
      'one',
      HUGE,
      '\ud800',
      '\ufeff',
    ],
    ...[0, -1, 1, 1.5, 2 ** 53, 1e300, 'x'.repeat(10_000), '😀'.repeat(3_000), '\u202e', '"\\'],
  ];
  const rows = odd.flatMap((id) => odd.map((title): Row => [id, title]));
  const read = await readTitles(await makeLoose('sqlite', rows));
  expect(await readTitles(await makeLoose('sqlite', rows.toReversed()))).toEqual(read);
  const { titles, table, leftOut } = read;
  expect(titles.length + (table?.left_out ?? 0)).toBe(rows.length);
  expect(new Set(titles.map(([id]) => id))).toEqual(new Set([1, HUGE]));
  expect(leftOut.length).toBeGreaterThan(100);
});

describe('a run', () => {
  /** So many titles, and so many empty ones. */
  const titlesOf = (good: number, bad: number): Row[] => [
    ...Array.from({ length: good }, (_, i): Row => [1 + (i % 40), `Title ${i}`]),
    ...Array.from({ length: bad }, (_, i): Row => [1 + i, '']),
  ];

  test('says how far it is, in a dry run too, and publishes only when a title has changed', async () => {
    const url = await makeCatalogue('sqlite', titlesOf(60, 0));
    const dir = newSnapshots();
    const dry = await run(url, dir, '--dry-run');
    expect([dry.code, currentId(dir)]).toEqual([0, undefined]);
    for (const { stderr } of [dry, await generate(url, dir)]) {
      expect(stderr).toContain('reading game_titles: 60\nreading games');
    }
    expect(reportOf(dir).tables.game_titles).toEqual({ rows: 60, left_out: 0, reasons: {} });
    expect((await generate(url, dir)).stdout).toContain('The data has not changed');
    for (const [change, published] of [
      ["INSERT INTO game_titles VALUES (1, 'Another')", 'Published 000002'],
      // As many rows as before: only the search index has changed.
      ["UPDATE game_titles SET title = 'One more' WHERE title = 'Another'", 'Published 000003'],
    ] as const) {
      await alter(url, change);
      expect((await generate(url, dir)).stdout).toContain(published);
    }
  });

  test('with more than 1 % of bad rows is refused unless forced', async () => {
    const url = await makeCatalogue('sqlite', titlesOf(980, 10));
    const dir = newSnapshots();
    for (const args of [[], ['--dry-run']]) {
      const { code, stderr } = await run(url, dir, ...args);
      expect([code, currentId(dir)]).toEqual([3, undefined]);
      expect(stderr).toContain(
        '10 of 990 rows of game_titles break the contract, more than 1 % (10: title is empty)',
      );
    }
    await generate(url, dir, ['--force']);
    const manifest = JSON.parse(readFileSync(path.join(dir, 'current/manifest.json'), 'utf8'));
    // And the game that is left out.
    expect(manifest.counts.left_out).toBe(11);
  });

  test('is not refused for titles of a game that is left out', async () => {
    const rows = Array.from({ length: 15 }, (_, i): Row => [77, `Title ${i}`]);
    const url = await makeCatalogue('sqlite', [...titlesOf(40, 0), ...rows]);
    const dir = newSnapshots();
    const { stderr } = await generate(url, dir);
    expect(stderr).toContain('Left out: 15 of game_titles: its game is left out.\n');
  });
});
