/** Catalogues with bad rows, in tables without keys and constraints. */
import { expect } from 'vitest';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import type { Database, Row, Value } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { CATALOGUE_TABLES } from '#lib/database/schema.ts';
import { columnNames } from '#lib/database/tables.ts';
import { type Kind, makeDatabase } from '#test/support/databases.ts';
import { generate } from '#test/support/product.ts';
import { crawl } from '#test/support/served.ts';
import { newSnapshots, reportOf } from '#test/support/wholeness.ts';

export const TABLES = ['platforms', 'games', 'covers', 'cover_files'] as const;
type Table = (typeof TABLES)[number];
export type Tables = Record<Table, Row[]>;

export const SIGNED = '9223372036854775807';
export const UNSIGNED = '18446744073709551615';
export const BEYOND_DOUBLES = '9007199254740993';

/** Loads rows into tables without keys and constraints, with some columns in other character sets. */
async function loadLoosely(database: Database, tables: Tables): Promise<void> {
  const typeOf = (column: string) => {
    if (database.kind === 'sqlite') return '';
    if (column === 'genres') return 'LONGTEXT CHARACTER SET latin1';
    if (column === 'publisher') return 'LONGTEXT CHARACTER SET ucs2';
    if (column === 'approved_at') return 'DATETIME';
    if (column === 'id') return 'BIGINT UNSIGNED';
    if (column === 'release_year') return 'YEAR';
    if (/_id$|width|height|size_bytes/.test(column)) return 'BIGINT';
    return 'LONGTEXT CHARACTER SET utf8mb4';
  };
  for (const table of TABLES) {
    const columns = columnNames(CATALOGUE_TABLES[table]);
    await database.run(
      `CREATE TABLE ${table} (${columns.map((name) => `${name} ${typeOf(name)}`).join(', ')})`,
    );
    const sql = `INSERT INTO ${table} VALUES (${columns.map(() => '?').join(', ')})`;
    await database.transaction(async ({ run }) => {
      for (const row of tables[table]) await run(sql, row);
    });
  }
}

export function game(id: Value, platform: Value, slug: Value, title: Value, more: Row = []): Row {
  return [id, platform, slug, title, ...more, ...Array(5 - more.length).fill(null)];
}

export const cover = (id: Value, ofGame: Value, time: Value = null): Row => {
  return [id, ofGame, 'USA', 'front', 'approved', time];
};

export function file(id: Value, ofCover: Value, path: Value = `${id}.jpg`, width: Value = 1): Row {
  return [id, ofCover, 'original', 'image/jpeg', width, 1, 1, path];
}

/** Tables with this many games; game, cover and file number n belong together. */
export function plainTables(games: number): Tables {
  const numbers = Array.from({ length: games }, (_, i) => i + 1);
  return {
    platforms: ['one', 'two'].map((slug, i) => [i + 1, slug, slug]),
    games: numbers.map((n) => game(n, 1 + (n % 2), `g${n}`, `Game ${n}`)),
    covers: numbers.map((n) => cover(n, n, '2026-01-02 03:04:05')),
    cover_files: numbers.map((n) => file(n, n)),
  };
}

export async function generateFrom(kind: Kind, tables: Tables, after: readonly string[] = []) {
  const url = await makeDatabase(kind);
  const database = await openDatabase(url);
  await loadLoosely(database, tables);
  for (const sql of after) await database.run(sql);
  await database.close();
  const dir = newSnapshots();
  // The bad rows are more than 1 % of these small tables.
  const { stderr } = await generate(url, dir, ['--force']);
  return { dir, stderr, report: reportOf(dir) };
}

/** Values that a column may contain by accident or malice. */
const HOSTILE: readonly Value[] = [
  ...[null, '', ' ', '\0', '1 ', '\ud800', 'a\udc00b', '\u2028', '\ufeff', 'x'.repeat(10_000)],
  ...[0, -1, 1, 2, 3, 1.5, 1e300, 2 ** 31, 2 ** 53 - 1, BEYOND_DOUBLES, SIGNED],
  ...'0 -1 1 one g1 .. ../.. a/b %2e % .x __proto__ 1e3 0x10 007 😀 "}]}'.split(' '),
  ...'approved Approved pending now 2026-01-01 2026-11-20T14:03:00.5Z'.split(' '),
  ...['0000-00-00 00:00:00', '2026-02-30 00:00:00', '2026-11-20 14:03:00'],
  ...['0001-01-01 00:00:00', '-001-01-01 00:00:00', "'; DROP TABLE games; --"],
  ...'http:// http://[::1]/[x] javascript:1 //x.example/y a//b ./a'.split(' '),
  'https://x.example/a|b c',
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

/**
 * Every row of a corrupted catalogue is either served as the contract says or reported. On SQLite, whose
 * columns accept values of any type.
 */
export async function checkCorrupted(seed: number) {
  const tables = corrupt(makeRandom(seed), plainTables(60));
  const { dir, report } = await generateFrom('sqlite', tables);
  const { games, covers, resources } = await crawl(dir);
  const { rows, left_out: leftOut } = report.tables.games;
  expect(games.size, `seed ${seed}`).toBe(rows - leftOut);
  return { leftOut: report.rows.length, served: games.size + covers.size, resources };
}
