/**
 * The proxy never serves a broken record. Rows that break the contract are left out and reported, unusual
 * but valid rows are served unchanged, and a run is refused if a table lost too many rows. The real proxy
 * serves each generation, and every resource is checked against openapi.yaml.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Database, Row, Value } from '../../database/database.ts';
import { openDatabase } from '../../database/open.ts';
import { CATALOGUE_TABLES } from '../../database/schema.ts';
import { columnNames } from '../../database/tables.ts';
import { currentId } from '../../store/generations/generations.ts';
import { makeRandom, type Random } from '../catalogue/random.ts';
import { IS_SOAK, printFigure, rounds } from '../soak/rounds.ts';
import { KINDS, type Kind, makeDatabase } from '../support/databases.ts';
import { generate } from '../support/product.ts';
import { crawl } from '../support/served.ts';
import {
  expectCurrentVerifies,
  newSnapshots,
  runGenerator,
  statusOf,
} from '../support/wholeness.ts';

const TABLES = ['platforms', 'games', 'covers', 'cover_files'] as const;
type Table = (typeof TABLES)[number];
type Tables = Record<Table, Row[]>;

const SIGNED = '9223372036854775807';
const UNSIGNED = '18446744073709551615';
const BEYOND_DOUBLES = '9007199254740993';

/** Loads rows into tables without keys and constraints, with some columns in other character sets. */
async function loadLoosely(database: Database, tables: Tables): Promise<void> {
  const typeOf = (column: string) => {
    if (database.kind === 'sqlite') return '';
    if (column === 'genres') return 'LONGTEXT CHARACTER SET latin1';
    if (column === 'publisher') return 'LONGTEXT CHARACTER SET ucs2';
    if (column === 'approved_at') return 'DATETIME';
    if (column === 'id') return 'BIGINT UNSIGNED';
    if (/_id$|width|height|size_bytes|release_year/.test(column)) return 'BIGINT';
    return 'LONGTEXT CHARACTER SET utf8mb4';
  };
  for (const table of TABLES) {
    const columns = columnNames(CATALOGUE_TABLES[table]);
    await database.run(`DROP TABLE IF EXISTS ${table}`);
    await database.run(
      `CREATE TABLE ${table} (${columns.map((name) => `${name} ${typeOf(name)}`).join(', ')})`,
    );
    const sql = `INSERT INTO ${table} VALUES (${columns.map(() => '?').join(', ')})`;
    await database.transaction(async ({ run }) => {
      for (const row of tables[table]) await run(sql, row);
    });
  }
}

function game(id: Value, platform: Value, slug: Value, title: Value, more: Row = []): Row {
  return [id, platform, slug, title, ...more, ...Array(5 - more.length).fill(null)];
}

const cover = (id: Value, ofGame: Value, time: Value = null): Row => {
  return [id, ofGame, 'USA', 'front', 'approved', time];
};

const file = (id: Value, ofCover: Value, location: Value = `${id}.jpg`, width: Value = 1): Row => {
  return [id, ofCover, 'original', 'image/jpeg', width, 1, 1, location];
};

/** Tables with this many games; game, cover and file number n belong together. */
function plainTables(games: number): Tables {
  const numbers = Array.from({ length: games }, (_, i) => i + 1);
  return {
    platforms: [
      [1, 'one', 'One'],
      [2, 'two', 'Two'],
    ],
    games: numbers.map((n) => game(n, 1 + (n % 2), `g${n}`, `Game ${n}`)),
    covers: numbers.map((n) => cover(n, n, '2026-01-02 03:04:05')),
    cover_files: numbers.map((n) => file(n, n)),
  };
}

async function generateFrom(kind: Kind, tables: Tables, after: readonly string[] = []) {
  const url = await makeDatabase(kind);
  const database = await openDatabase(url);
  await loadLoosely(database, tables);
  for (const sql of after) await database.run(sql);
  await database.close();
  const dir = newSnapshots();
  // The bad rows are more than 1 % of these small tables.
  const { stderr } = await generate(url, dir, ['--force']);
  const report = JSON.parse(readFileSync(path.join(dir, 'report.json'), 'utf8'));
  return { dir, stderr, report };
}

describe.each(KINDS)('from %s', (kind) => {
  test('unusual values are served unchanged', async () => {
    const largest = kind === 'mysql' ? UNSIGNED : SIGNED;
    const long = 'é😀"\\\n任'.repeat(10_000);
    const titles = [
      '😀 𝕋𝕚𝕥𝕝𝕖 👨‍👩‍👧‍👦 \u{10ffff}',
      'nul\u0000 bell\u0007 escape\u001b[31m delete\u007f',
      'lines\r\n\t\u0085\u2028\u2029 \ufeff \u202e back',
      `"quotes' \\ </script> \${x} %00 %2e%2e --`,
      '\u0000',
      'zalgo e\u0301\u0302\u0303\u0304',
    ];
    const slugs = ['__proto__', 'constructor', 'A.b~c_d-', '-', 'x'.repeat(191), 'a..b'];
    const { dir, stderr, report } = await generateFrom(kind, {
      platforms: [
        [1, '__proto__', 'null'],
        [2, 'toString', '😀\u0000"'],
      ],
      games: [
        ...titles.map((title, index) => game(index + 1, 2, slugs[index], title)),
        game(BEYOND_DOUBLES, 1, 'same', 'Beyond', [-44, long, 'Café Ñ ÿ', '任天堂', '中\u0000国']),
        game(largest, 2, 'same', 'Largest', [0, '', '', '', '']),
      ],
      covers: [
        cover(BEYOND_DOUBLES, BEYOND_DOUBLES, '9999-12-31 23:59:59'),
        cover(largest, BEYOND_DOUBLES, '1000-01-01 00:00:00'),
        [3, 1, 'Ré\u0000gion 😀', '"', 'approved', null],
      ],
      cover_files: [
        file(BEYOND_DOUBLES, BEYOND_DOUBLES, 'a b/ü#?%/😀\\|^`.jpg', BEYOND_DOUBLES),
        file(largest, BEYOND_DOUBLES, 'HTTPS://images.example.org:443/a|b/{c}?d=[e]^`"<é>%zz#f|g'),
      ],
    });
    expect(stderr).not.toContain('Left out');
    expect(report.rows).toEqual([]);
    const served = await crawl(dir);
    expect([...served.games.keys()].toSorted()).toEqual(
      ['1', '2', '3', '4', '5', '6', BEYOND_DOUBLES, largest].toSorted(),
    );
    expect([...served.covers.keys()].toSorted()).toEqual(['3', BEYOND_DOUBLES, largest].toSorted());
    expect(served.files.toSorted()).toEqual([BEYOND_DOUBLES, largest].toSorted());
    titles.forEach((title, index) => {
      expect(served.games.get(String(index + 1))).toMatchObject({ slug: slugs[index], title });
    });
    expect(served.games.get(BEYOND_DOUBLES)).toMatchObject({
      release_year: -44,
      description: long,
      genres: 'Café Ñ ÿ',
      developer: '任天堂',
      publisher: '中\u0000国',
    });
  });

  test('text with malformed Unicode is served as valid Unicode', async () => {
    const { dir } = await generateFrom(
      kind,
      plainTables(20),
      kind === 'mysql'
        ? ["UPDATE games SET publisher = CONCAT('a', X'D83D', 'b', X'DE00') WHERE id < 9"]
        : [
            "UPDATE games SET title = CAST(X'61EDA0BD62FF' AS TEXT), publisher = X'EDA0BD80' WHERE id < 9",
            "UPDATE covers SET region = CAST(X'EDB88062FF' AS TEXT) WHERE id < 9",
            "UPDATE platforms SET name = CAST(X'C0AFEDA0BD' AS TEXT) WHERE id = 2",
            "UPDATE cover_files SET path = CAST(X'61EDA0BD62FF' AS TEXT) WHERE id < 9",
          ],
    );
    expect((await crawl(dir)).games.size).toBe(20);
  });

  test('bad rows are reported and not served', async () => {
    const bad: Tables = {
      platforms: [
        [null, 'no-id', 'BAD'],
        [3, null, 'BAD'],
        [4, 'nameless', null],
        [5, 'two', 'BAD: slug appears twice'],
        [1, 'another-of-this-id', 'BAD'],
        [6, '../etc', 'BAD'],
        [7, 'a%2fb', 'BAD'],
      ],
      games: [
        game(null, 1, 'no-id', 'BAD'),
        game(101, null, 'no-platform', 'BAD'),
        game(102, 99, 'orphan', 'BAD'),
        game(103, 6, 'of-a-platform-left-out', 'BAD'),
        game(104, 1, null, 'BAD'),
        game(105, 1, 'no-title', null),
        ...[
          'a/b',
          '..',
          '.',
          '%',
          '%2e%2e',
          'a b',
          'a\u0000b',
          'é',
          '😀',
          'a\nb',
          'x\n',
          '?',
          '#',
        ].map((slug, index) => game(110 + index, 1, slug, 'BAD')),
        game(130, 1, 'g2', 'BAD: this slug appears twice'),
        game(1, 1, 'another-of-this-id', 'BAD'),
        game(131, 1, 'year', 'BAD', [123_456]),
      ],
      covers: [
        cover(null, 1),
        cover(101, null),
        cover(102, 777),
        cover(1, 2),
        ...(kind === 'mysql'
          ? [cover(104, 1, '2026-02-00 00:00:00'), cover(105, 1, '2026-00-00 00:00:00')]
          : [cover(104, 1, '0000-00-00 00:00:01'), cover(105, 1, '2026-02-31 25:61:61')]),
      ],
      cover_files: [
        file(null, 1),
        file(101, null),
        file(102, 777),
        file(1, 2),
        file(104, 1, null),
        file(105, 1, '../../etc/passwd'),
        file(106, 1, 'javascript:alert(1)'),
        file(107, 1, 'a\u0000b'),
        file(108, 1, 'negative.jpg', -1),
      ],
    };
    const plain = plainTables(20);
    const { dir, stderr, report } = await generateFrom(kind, {
      platforms: [...plain.platforms, ...bad.platforms],
      games: [...plain.games, ...bad.games],
      covers: [...plain.covers, ...bad.covers],
      cover_files: [...plain.cover_files, ...bad.cover_files],
    });
    for (const table of TABLES) {
      expect(report.tables[table], table).toMatchObject({
        rows: plain[table].length + bad[table].length,
        left_out: bad[table].length,
      });
      expect(stderr).toContain(` of ${table}: `);
    }
    const served = await crawl(dir);
    const numbers = plain.games.map(([id]) => String(id)).toSorted();
    expect([...served.games.keys()].toSorted()).toEqual(numbers);
    expect([...served.covers.keys()].toSorted()).toEqual(numbers);
    expect(served.files.toSorted()).toEqual(numbers);
    expect(served.text).not.toMatch(/BAD|another-of-this-id|passwd|javascript|negative/);
  });
});

describe('a table that', () => {
  const GAMES = 100;
  const losses = [
    ['is emptied', ''],
    ['shrinks by 90 %', ' WHERE id % 10 <> 0'],
  ] as const;
  // With two platforms, a loss of 90 % leaves none.
  const all = losses.flatMap(([loss, where]) =>
    TABLES.map((table) => [table, loss, where] as const),
  );
  // The short form covers each table once.
  const cases = all.filter((_, index) => IS_SOAK || index % 3 === 0 || index === 5);

  test.each(cases)(
    '%s %s is refused, and the previous generation stays current',
    async (table, _, where) => {
      const url = await makeDatabase('sqlite');
      const database = await openDatabase(url);
      await loadLoosely(database, plainTables(GAMES));
      const dir = newSnapshots();
      await generate(url, dir);
      const before = currentId(dir);
      await database.run(`DELETE FROM ${table}${where}`);
      await database.close();
      const { code, stdout, stderr } = await runGenerator(url, dir);
      expect([code, stdout], stderr).toEqual([3, '']);
      expect(stderr).toMatch(/Nothing is published: .*--force/);
      expect(statusOf(dir)).toMatchObject({ outcome: 'refused' });
      expect(await expectCurrentVerifies(dir)).toBe(before);

      await generate(url, dir, ['--force']);
      expect(currentId(dir)).not.toBe(before);
      const { games, covers, files } = await crawl(dir);
      expect(Math.min(games.size, covers.size, files.length)).toBeLessThanOrEqual(GAMES / 10);
    },
  );
});

/** Values that a column may contain by accident or malice. */
const HOSTILE: readonly Value[] = [
  ...[
    null,
    '',
    ' ',
    '\u0000',
    '0',
    '-1',
    '1',
    'one',
    'g1',
    '..',
    '../..',
    'a/b',
    '%2e',
    '%',
    '.x',
    '__proto__',
  ],
  ...[
    0,
    -1,
    1,
    2,
    3,
    2 ** 31,
    2 ** 53 - 1,
    BEYOND_DOUBLES,
    SIGNED,
    1.5,
    1e300,
    '1e3',
    '0x10',
    '007',
    '1 ',
  ],
  ...[
    'approved',
    'Approved',
    'pending',
    '0000-00-00 00:00:00',
    '2026-02-30 00:00:00',
    '2026-01-01',
    'now',
  ],
  ...[
    '2026-11-20 14:03:00',
    '2026-11-20T14:03:00.5Z',
    '0001-01-01 00:00:00',
    '-001-01-01 00:00:00',
  ],
  ...[
    'https://x.example/a|b c',
    'http://',
    'http://[::1]/[x]',
    'javascript:1',
    '//x.example/y',
    'a//b',
    './a',
  ],
  ...[
    '😀',
    '\ud800',
    'a\udc00b',
    '\u2028',
    '"}]}',
    "'; DROP TABLE games; --",
    'x'.repeat(10_000),
    '\ufeff',
  ],
];

/** Returns the tables with many values replaced, and some rows removed or repeated. */
function corrupt(random: Random, tables: Tables): Tables {
  const corruptRow = (row: Row): Row =>
    row.map((value) => (random.happens(0.3) ? random.pick(HOSTILE) : value));
  const corruptRows = (rows: Row[]) =>
    rows.flatMap((row) => {
      if (random.happens(0.05)) return [];
      if (random.happens(0.05)) return [row, row];
      return [random.happens(0.3) ? corruptRow(row) : row];
    });
  return {
    platforms: [...tables.platforms, ...corruptRows(tables.platforms)],
    games: corruptRows(tables.games),
    covers: corruptRows(tables.covers),
    cover_files: corruptRows(tables.cover_files),
  };
}

const CATALOGUES = rounds(1, 100);

// On SQLite, whose columns accept values of any type.
test(`every row of ${CATALOGUES} corrupted catalogues is either served as the contract says or reported`, {
  timeout: 3_600_000,
}, async () => {
  const figures = { rows: 0, leftOut: 0, served: 0, resources: 0 };
  for (let seed = 1; seed <= CATALOGUES; seed++) {
    const tables = corrupt(makeRandom(seed), plainTables(60));
    const { dir, report } = await generateFrom('sqlite', tables);
    const { games, covers, resources } = await crawl(dir);
    const { rows, left_out: leftOut } = report.tables.games;
    expect(games.size, `seed ${seed}`).toBe(rows - leftOut);
    figures.rows += Object.values<{ rows: number }>(report.tables).reduce(
      (sum, t) => sum + t.rows,
      0,
    );
    figures.leftOut += report.rows.length;
    figures.served += games.size + covers.size;
    figures.resources += resources;
  }
  expect(figures.leftOut).toBeGreaterThan(CATALOGUES);
  printFigure(
    'Bad rows',
    `${CATALOGUES} corrupted catalogues, ${figures.rows} rows: ${figures.leftOut} left out and reported, ${figures.served} games and covers served; ${figures.resources} responses checked against the contract, 0 wrong`,
  );
});
