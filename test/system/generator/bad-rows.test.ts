/**
 * The proxy never serves a broken record. Rows that break the contract are left out and reported, unusual
 * but valid rows are served unchanged. The real proxy serves each generation, and every resource is checked
 * against openapi.yaml.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Row } from '#lib/database/database.ts';
import { contentHash } from '#lib/format/manifest.ts';
import { readManifest } from '#lib/generations/generations.ts';
import {
  BEYOND_DOUBLES,
  cover,
  file,
  game,
  generateFrom,
  plainTables,
  SIGNED,
  TABLES,
  type Tables,
  UNSIGNED,
} from '#test/generator/bad-rows.ts';
import { KINDS } from '#test/support/databases.ts';
import { ROOT } from '#test/support/product.ts';
import { crawl, type Served } from '#test/support/served.ts';
import { published } from '#test/support/wholeness.ts';

/** The ids of games, covers and files. */
const idsOf = ({ games, covers, files }: Served) =>
  [games.keys(), covers.keys(), files].map((ids) => [...ids].toSorted());

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
    const platforms = [
      [1, '__proto__', 'null'],
      [2, 'toString', '😀\u0000"'],
    ];
    const { dir, stderr, report } = await generateFrom(kind, {
      platforms,
      games: [
        ...titles.map((title, index) => game(index + 1, 2, slugs[index], title)),
        game(BEYOND_DOUBLES, 1, 'same', 'Beyond', [1984, long, 'Café Ñ ÿ', '任天堂', '中\u0000国']),
        game(largest, 2, 'same', 'Largest', [0, '', '', '', '']),
      ],
      covers: [
        cover(BEYOND_DOUBLES, BEYOND_DOUBLES, '9999-12-31 23:59:59'),
        cover(largest, BEYOND_DOUBLES, '1000-01-01 00:00:00'),
        [3, 1, 'Ré\u0000gion 😀', '"', 'approved', null],
        cover(4, 1, '0000-00-00 00:00:00'),
      ],
      cover_files: [
        file(BEYOND_DOUBLES, BEYOND_DOUBLES, 'a b/ü#?%/😀\\|^`.jpg', BEYOND_DOUBLES),
        file(largest, BEYOND_DOUBLES, 'HTTPS://images.example.org:443/a|b/{c}?d=[e]^`"<é>%zz#f|g'),
      ],
    });
    expect(stderr).not.toContain('Left out');
    expect(report.rows).toEqual([]);
    const future = 'approved_at is in the future, perhaps because it is not UTC';
    const ofText = / has (?:control characters|white space at an end, or doubled): /;
    const others = report.warnings.filter(({ reason }: { reason: string }) => !ofText.test(reason));
    expect(others.slice(0, 3)).toEqual([
      {
        ...{ table: 'games', count: 1, rows: [{ id: largest, value: 0 }] },
        reason: 'release_year is not from 1 to 9999: served as null',
      },
      {
        ...{ table: 'covers', count: 1, reason: future },
        rows: [{ id: BEYOND_DOUBLES, value: '9999-12-31T23:59:59Z' }],
      },
      {
        ...{ table: 'covers', count: 1, rows: [{ id: 4, value: '0000-00-00 00:00:00' }] },
        reason: 'approved_at is zero or empty: served as null, and not among the recent ones',
      },
    ]);
    const served = await crawl(dir);
    const largeIds = [BEYOND_DOUBLES, largest];
    expect(idsOf(served)).toEqual([
      [...'123456', ...largeIds].toSorted(),
      ['3', '4', ...largeIds].toSorted(),
      largeIds.toSorted(),
    ]);
    expect(served.games.get(largest)).toMatchObject({ release_year: null });
    expect(served.covers.get('4')).toMatchObject({ approved_at: null });
    expect(published(dir, 'covers-recent.json').data).toHaveLength(2);
    for (const [index, title] of titles.entries())
      expect(served.games.get(String(index + 1))).toMatchObject({ slug: slugs[index], title });
    expect(served.games.get(BEYOND_DOUBLES)).toMatchObject({
      ...{ release_year: 1984, description: long },
      ...{ genres: 'Café Ñ ÿ', developer: '任天堂', publisher: '中\u0000国' },
    });
  });

  test('text that is not UTF-8 is served as valid Unicode, and reported with the ids of its rows', async () => {
    // Latin-1 bytes: a binary column of MySQL stores them, and any column of SQLite does.
    const bytes = "X'506F6BE96D6F6E'";
    const text = kind === 'mysql' ? bytes : `CAST(${bytes} AS TEXT)`;
    const { dir, stderr, report } = await generateFrom(kind, plainTables(9), [
      ...(kind === 'mysql'
        ? [
            ...['games.title', 'covers.region', 'platforms.name', 'cover_files.path'].map(
              (column) => `ALTER TABLE ${column.replace('.', ' MODIFY ')} BLOB`,
            ),
            "UPDATE games SET publisher = CONCAT('a', X'D83D', 'b', X'DE00') WHERE id = 3",
          ]
        : ["UPDATE games SET publisher = X'EDA0BD80' WHERE id = 3"]),
      `UPDATE games SET title = ${text} WHERE id = 7`,
      // Valid UTF-8 sequences of every length cause no warning.
      `UPDATE games SET title = 'Pokémon 任天堂 😀 "' WHERE id = 8`,
      `UPDATE covers SET region = ${bytes} WHERE id IN (5, 9)`,
      `UPDATE platforms SET name = ${text} WHERE id = 2`,
      `UPDATE cover_files SET path = ${bytes} WHERE id = 1`,
    ]);
    const warning = (table: string, column: string, ...ids: number[]) => ({
      table,
      count: ids.length,
      reason: `${column} has bytes that are not UTF-8, or holds U+FFFD: served with U+FFFD`,
      rows: ids.map((id) => ({ id, value: 'Pok\ufffdmon' })),
    });
    const notOfPublishers = report.warnings.filter(
      ({ reason }: { reason: string }) => !reason.startsWith('publisher'),
    );
    expect([report.rows, notOfPublishers]).toEqual([
      [],
      [
        warning('platforms', 'name', 2),
        warning('games', 'title', 7),
        warning('covers', 'region', 5, 9),
        warning('cover_files', 'path', 1),
      ],
    ]);
    expect(stderr).toContain('Warning: 1 of games: title has bytes that are not UTF-8');
    expect((await crawl(dir)).games.get('7')).toMatchObject({ title: 'Pok\ufffdmon' });
  });

  test('a list in JSON is served as it is stored with a warning, and as text through the documented view', async () => {
    const text = readFileSync(path.join(ROOT, 'operations/database.md'), 'utf8');
    const [ofServer, ofSqlite] = [...text.matchAll(/^ {6}(\(SELECT .*\)) AS genres$/gm)];
    const [, expression] = (kind === 'mysql' ? ofServer : ofSqlite) ?? [];
    const isJson = `ALTER TABLE games ADD COLUMN list ${kind === 'mysql' ? 'JSON' : 'TEXT'}`;
    const others = 'id, platform_id, slug, title, release_year, description, developer, publisher';
    const view = `CREATE VIEW games AS SELECT ${others}`;
    const list = '["Action", "RPG"]';
    const changes = [
      isJson,
      `UPDATE games SET list = '${list}' WHERE id = 1`,
      "UPDATE games SET list = '[]' WHERE id = 2",
      'ALTER TABLE games DROP COLUMN genres',
      'ALTER TABLE games RENAME TO old_games',
    ];
    const asStored = [...changes, `${view}, list AS genres FROM old_games`];
    const stored = await generateFrom(kind, plainTables(3), asStored);
    const reason =
      'genres is JSON: served with its brackets and quotes; operations/database.md has a view of its values';
    expect(stored.report.warnings).toMatchObject([{ table: 'games', reason, count: 2 }]);
    expect((await crawl(stored.dir)).games.get('1')).toMatchObject({ genres: list });

    const genres = expression?.replace('(genres', '(old_games.list');
    const joined = await generateFrom(kind, plainTables(3), [
      ...changes,
      `${view}, ${genres} AS genres FROM old_games`,
    ]);
    expect(joined.report.warnings).toEqual([]);
    const { games } = await crawl(joined.dir);
    expect(['1', '2', '3'].map((id) => games.get(id)?.genres)).toEqual(['Action, RPG', null, null]);
  });

  test('bad rows are reported and not served', async () => {
    const bad: Tables = {
      platforms: [
        [null, 'no-id', 'WRONG'],
        [3, null, 'WRONG'],
        [4, 'nameless', null],
        [5, 'two', 'WRONG: slug appears twice'],
        [1, 'z-another-of-this-id', 'WRONG'],
        [6, '../etc', 'WRONG'],
      ],
      games: [
        game(null, 1, 'no-id', 'WRONG'),
        game(101, null, 'no-platform', 'WRONG'),
        game(102, 99, 'orphan', 'WRONG'),
        game(103, 6, 'of-a-platform-left-out', 'WRONG'),
        game(104, 1, null, 'WRONG'),
        game(105, 1, 'no-title', null),
        game(110, 1, 'a/b', 'WRONG'),
        game(130, 1, 'g2', 'WRONG: the later one with this slug'),
        game(1, 2, 'z-another-of-this-id', 'WRONG'),
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
        file(108, 1, 'negative.jpg', -1),
      ],
    };
    /** Not public, and no faults: not approved, or gone with their game. Their values are not checked. */
    const hidden: Pick<Tables, 'covers' | 'cover_files'> = {
      covers: [
        ...['pending', 'rejected', '', null, 'Approved'].map((status, i): Row => {
          return [201 + i, 777, 'WRONG', null, status, null];
        }),
        cover(206, 105),
      ],
      cover_files: [file(201, 201, 'negative.jpg'), file(206, 206, 'negative.jpg')],
    };
    const plain = plainTables(20);
    const { dir, stderr, report } = await generateFrom(kind, {
      platforms: [...plain.platforms, ...bad.platforms],
      games: [...plain.games, ...bad.games],
      covers: [...plain.covers, ...bad.covers, ...hidden.covers],
      cover_files: [...plain.cover_files, ...bad.cover_files, ...hidden.cover_files],
    });
    for (const table of TABLES) {
      const others = table === 'covers' || table === 'cover_files' ? hidden[table].length : 0;
      expect(report.tables[table], table).toMatchObject({
        rows: plain[table].length + bad[table].length + others,
        left_out: bad[table].length,
      });
      expect(stderr).toContain(` of ${table}: `);
    }
    expect(report.rows).toContainEqual({
      ...{ table: 'games', id: 130, reason: 'the slug appears twice on its platform', value: 'g2' },
    });
    expect(report.covers_gone_with_their_game).toBe(1);
    const { warnings }: { warnings: { reason: string; count: number }[] } = report;
    expect(warnings).toMatchObject([
      {
        reason:
          'the status is not approved, pending or rejected: not public (Approved: 1, NULL: 1, empty: 1)',
        count: 3,
      },
    ]);
    expect(report.not_public).toMatchObject({ Approved: 1, pending: 1, rejected: 1 });
    expect(readManifest(path.join(dir, 'current')).counts.left_out).toBe(
      TABLES.reduce((sum, table) => sum + bad[table].length, 0),
    );
    const served = await crawl(dir);
    const numbers = plain.games.map(([id]) => String(id)).toSorted();
    expect(idsOf(served)).toEqual([numbers, numbers, numbers]);
    const secrets = /wrong|another-of-this-id|passwd|negative/i;
    expect(served.text).not.toMatch(secrets);
    for (const name of globSync('current/{,*/}*.{json,bin}', { cwd: dir })) {
      expect(readFileSync(path.join(dir, name), 'latin1'), name).not.toMatch(secrets);
    }
  });
});

test('which of the rows with one id is served does not depend on their order', async () => {
  const tables = plainTables(4);
  const twice: Tables = {
    platforms: [...tables.platforms, [2, 'zwei', 'two']],
    games: [
      ...tables.games.slice(1),
      game(1, 1, 'g1', 'B', [1990]),
      game(1, 1, 'g1', 'A', [1991]),
      game(1, 1, 'g1', 'A', [1992]),
      game(1, 2, 'g0', 'A'),
      game(1, 1, 'g2', 'A'),
    ],
    covers: [...tables.covers, cover(2, 1), cover(2, 3)],
    cover_files: [...tables.cover_files, file(3, 3, '3.png'), file(3, 4, '1.jpg')],
  };
  const reversed = Object.entries(twice).map(([name, rows]) => [name, rows.toReversed()]);
  const dirs = [twice, Object.fromEntries(reversed)].map((each) => generateFrom('sqlite', each));
  const [one, other] = await Promise.all(dirs);
  const { rows, tables: counts } = one.report;
  expect(other.report).toMatchObject({ rows, tables: counts });
  expect(contentHash(readManifest(path.join(other.dir, 'current')))).toBe(
    contentHash(readManifest(path.join(one.dir, 'current'))),
  );
  const { games, covers } = await crawl(one.dir);
  expect(games.get('1')).toMatchObject({ slug: 'g1', title: 'A', release_year: 1991 });
  expect(covers.get('2')).toMatchObject({ game: { slug: 'g1' } });
});
