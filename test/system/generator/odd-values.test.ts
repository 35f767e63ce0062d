/**
 * Unusual values that occur by accident: unknown statuses, zero dates, bytes that are not UTF-8. Both
 * databases give the same result: such rows are served, or left out and reported.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { cover, game, plainCatalogue } from '../../catalogue/plain.ts';
import { KINDS, type Kind, makeDatabase } from '../../support/databases.ts';
import { generate } from '../../support/product.ts';
import { newSnapshots, runGenerator } from '../../support/wholeness.ts';

/** @param changes statements to run on the database. @returns the DATABASE_URL */
async function makeCatalogue(kind: Kind, catalogue: Catalogue, ...changes: string[]) {
  const url = await makeDatabase(kind);
  const database = await openDatabase(url);
  await loadCatalogue(database, catalogue);
  for (const sql of changes) await database.run(sql);
  await database.close();
  return url;
}

/** Replaces the table of covers with a view, as a site may. @param status an SQL expression */
const withStatus = (status: string) => [
  'ALTER TABLE covers RENAME TO stored_covers',
  `CREATE VIEW covers AS SELECT id, game_id, region, type, ${status} AS status, approved_at FROM stored_covers`,
];

const json = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const reportOf = (dir: string) => json(path.join(dir, 'report.json'));
const published = (dir: string, name: string) => json(path.join(dir, 'current', name));

describe.each(KINDS)('from %s', (kind) => {
  test('covers with unknown statuses are not public, with a warning for each status', async () => {
    const status =
      "CASE WHEN id <= 30 THEN 'ok' WHEN id <= 45 THEN 'Approved' WHEN id = 46 THEN NULL WHEN id = 47 THEN '' WHEN id = 48 THEN 'pending' WHEN id = 49 THEN 'rejected' ELSE 'approved' END";
    const url = await makeCatalogue(kind, plainCatalogue(100), ...withStatus(status));
    const dir = newSnapshots();
    expect((await runGenerator(url, dir)).code).toBe(0);
    expect(published(dir, 'manifest.json').counts.covers).toBe(51);
    const { tables, warnings } = reportOf(dir);
    expect(tables.covers).toEqual({ rows: 100, left_out: 0, reasons: {} });
    const counts = warnings
      .filter(({ table }: { table: string | null }) => table === 'covers')
      .map(({ reason, count }: { reason: string; count: number }) => [reason, count]);
    expect(counts).toEqual(
      [
        ['""', 1],
        ['"Approved"', 15],
        ['"ok"', 30],
        ['NULL', 1],
      ].map(([value, count]) => [
        `the status is ${value}, not approved, pending or rejected: not public`,
        count,
      ]),
    );
  });

  test('a zero or empty approved_at becomes null with a warning; invalid times are left out', async () => {
    const changes = [
      "UPDATE covers SET approved_at = '0000-00-00 00:00:00' WHERE id <= 3",
      kind === 'mysql'
        ? "UPDATE covers SET approved_at = '2026-00-00 00:00:00' WHERE id = 4"
        : "UPDATE covers SET approved_at = '2026-02-30 00:00:00' WHERE id = 4",
      ...(kind === 'mysql' ? [] : ["UPDATE covers SET approved_at = '' WHERE id = 5"]),
    ];
    const url = await makeCatalogue(kind, plainCatalogue(20), ...changes);
    const dir = newSnapshots();
    await generate(url, dir);
    const zeros = kind === 'mysql' ? [1, 2, 3] : [1, 2, 3, 5];
    const covers = Array.from({ length: 8 }, (_, i) => published(dir, `covers/p${i + 1}.json`))
      .flat()
      .toSorted((a, b) => a.id - b.id);
    expect(covers.map(({ id }) => id)).not.toContain(4);
    expect(covers).toHaveLength(19);
    const unknown = covers.filter(({ approved_at }) => approved_at === null);
    expect(unknown.map(({ id }) => id)).toEqual(zeros);
    const recent = published(dir, 'covers-recent.json').data.map(({ id }: { id: number }) => id);
    expect(recent).toHaveLength(19 - zeros.length);
    for (const id of zeros) expect(recent).not.toContain(id);

    const report = reportOf(dir);
    expect(report.warnings).toMatchObject([
      {
        table: 'covers',
        count: zeros.length,
        reason: expect.stringContaining('approved_at is zero or empty'),
        rows: zeros.map((id) => ({ id, value: id === 5 ? '' : '0000-00-00 00:00:00' })),
      },
    ]);
    expect(report.rows).toMatchObject([
      { table: 'covers', id: 4, reason: 'approved_at is not a time that exists' },
    ]);
  });

  test('a text that is not UTF-8 is reported with the id of its row', async () => {
    // Latin-1 bytes: a binary column of MySQL stores them, and any column of SQLite does.
    const bytes = "X'506F6BE96D6F6E'";
    const changes =
      kind === 'mysql'
        ? [
            'ALTER TABLE games MODIFY title VARBINARY(500), MODIFY publisher BLOB',
            'ALTER TABLE covers MODIFY region VARBINARY(64)',
            'ALTER TABLE platforms MODIFY name VARBINARY(255)',
            'ALTER TABLE cover_files MODIFY path VARBINARY(1000)',
            `UPDATE games SET title = ${bytes} WHERE id = 7`,
            `UPDATE covers SET region = ${bytes} WHERE id = 9`,
            `UPDATE platforms SET name = ${bytes} WHERE id = 2`,
            `UPDATE cover_files SET path = ${bytes} WHERE id = 1`,
          ]
        : [
            `UPDATE games SET title = CAST(${bytes} AS TEXT) WHERE id = 7`,
            `UPDATE covers SET region = ${bytes} WHERE id = 9`,
            `UPDATE platforms SET name = CAST(${bytes} AS TEXT) WHERE id = 2`,
            `UPDATE cover_files SET path = ${bytes} WHERE id = 1`,
          ];
    const catalogue = plainCatalogue(30);
    const url = await makeCatalogue(
      kind,
      {
        ...catalogue,
        // Valid UTF-8 sequences of every length cause no warning.
        games: [...catalogue.games.slice(0, -1), game(30, 1, 'Pokémon 任天堂 😀 "\\')],
        coverFiles: [[1, 1, null, null, null, null, null, 'a.jpg']],
      },
      ...changes,
    );
    const dir = newSnapshots();
    const { stderr } = await generate(url, dir);
    const { rows, warnings } = reportOf(dir);
    expect(rows).toEqual([]);
    const warning = (table: string, column: string, id: number) => ({
      table,
      count: 1,
      reason: `${column} has bytes that are not UTF-8, or holds U+FFFD: served with U+FFFD`,
      rows: [{ id, value: 'Pok\ufffdmon' }],
    });
    expect(warnings).toEqual([
      warning('platforms', 'name', 2),
      warning('games', 'title', 7),
      warning('covers', 'region', 9),
      warning('cover_files', 'path', 1),
    ]);
    expect(stderr).toContain('Warning: 1 of games: title has bytes that are not UTF-8');
  });

  test('times that differ in one digit are different times', async () => {
    const all = [
      '2026-03-14 05:06:07',
      ...['1026-03-14 05:06:07', '2126-03-14 05:06:07', '2016-03-14 05:06:07'],
      ...['2025-03-14 05:06:07', '2026-12-14 05:06:07', '2026-02-14 05:06:07'],
      ...['2026-03-04 05:06:07', '2026-03-13 05:06:07', '2026-03-14 15:06:07'],
    ];
    const catalogue = plainCatalogue(all.length);
    const url = await makeCatalogue(kind, {
      ...catalogue,
      covers: all.map((time, i) => cover(i + 1, time)),
    });
    const dir = newSnapshots();
    await generate(url, dir);
    const expected = all.map((time) => `${time.replace(' ', 'T')}Z`);
    const recent: { id: number; approved_at: string }[] = published(dir, 'covers-recent.json').data;
    const served = recent.toSorted((a, b) => a.id - b.id).map(({ approved_at }) => approved_at);
    expect(served).toEqual(expected);
    expect(recent.map(({ approved_at }) => approved_at)).toEqual(expected.toSorted().toReversed());
    expect(published(dir, 'manifest.json').latest_cover_at).toBe('2126-03-14T05:06:07Z');
  });
});
