/** Runs that read only what an index on `updated_at` shows: what they publish, and what they leave to the next run. */
import { describe, expect, test } from 'vitest';
import { sinceOf } from '#generator/reuse/recent-rows.ts';
import type { Database, Value } from '#lib/database/database.ts';
import { newSnapshots, reportOf } from '#test/support/wholeness.ts';
import { addIndexes } from './random-changes.ts';
import {
  compareRecentRuns,
  countingWhole,
  expectEqualsFull,
  makeTimed,
  publicCovers,
  run,
} from './runs.ts';

const NOW = 'updated_at = CURRENT_TIMESTAMP';

async function makeSite() {
  const [database, dir] = [countingWhole(await makeTimed('sqlite', 60)), newSnapshots()];
  await addIndexes(database);
  await run(database, dir);
  database.whole = 0;
  return { database, dir };
}

/** The public covers whose games have the lowest and the highest id, so that they are in blocks of their own. */
async function outermost(database: Database): Promise<[Value, Value]> {
  const rows = await database.rows(
    "SELECT id FROM covers WHERE status = 'approved' ORDER BY game_id",
  );
  return [rows[0]?.[0] ?? null, rows.at(-1)?.[0] ?? null];
}

test('take down what is rejected; the next run finds what was deleted, and counts', async () => {
  const { database, dir } = await makeSite();
  const [rejected, deleted] = await outermost(database);
  const counted = reportOf(dir).not_public;
  await database.run(`UPDATE covers SET status = 'rejected', ${NOW} WHERE id = ?`, [rejected]);
  await database.run('DELETE FROM covers WHERE id = ?', [deleted]);
  expect((await run(database, dir, { isRecent: true })).outcome).toBe('published');
  expect(database.whole).toBe(0);
  expect(publicCovers(dir)).not.toContain(String(rejected));
  expect(publicCovers(dir)).toContain(String(deleted));
  expect(reportOf(dir).not_public).toEqual(counted);
  await expectEqualsFull(database, dir);
  expect(publicCovers(dir)).not.toContain(String(deleted));
  expect(reportOf(dir).not_public).not.toEqual(counted);
});

test('publish a game, its cover and its file that were added, and a title', async () => {
  const { database, dir } = await makeSite();
  for (const [table, columns, values] of [
    [
      'games',
      'id, platform_id, slug, title',
      "9000000, (SELECT MIN(id) FROM platforms), 'new', 'New'",
    ],
    ['covers', 'id, game_id, status', "9000000, 9000000, 'approved'"],
    ['cover_files', 'id, cover_id, path', "9000000, 9000000, 'new.png'"],
  ])
    await database.run(
      `INSERT INTO ${table} (${columns}, updated_at) VALUES (${values}, CURRENT_TIMESTAMP)`,
    );
  await database.run(
    `UPDATE games SET title = 'Other', ${NOW} WHERE id = (SELECT MIN(id) FROM games)`,
  );
  await expectEqualsFull(database, dir, undefined, false, true);
  expect(publicCovers(dir)).toContain('9000000');
  // By the full run.
  expect(database.whole).toBe(1);
});

const FIRST = '(SELECT MIN(id) FROM';
const LAST = '(SELECT MAX(id) FROM';
test.each([
  [
    'a cover has moved to another game',
    `UPDATE covers SET game_id = ${LAST} games), ${NOW} WHERE game_id = ${FIRST} games)`,
  ],
  [
    'a file has moved to another cover',
    `UPDATE cover_files SET cover_id = ${LAST} covers), ${NOW} WHERE id = ${FIRST} cover_files)`,
  ],
  [
    'many rows are new',
    `INSERT INTO games (id, platform_id, slug, title, updated_at)
      WITH RECURSIVE more(id) AS (SELECT 5000000 UNION ALL SELECT id + 1 FROM more WHERE id < 5001000)
      SELECT id, 1, 'more-' || id, 'More', CURRENT_TIMESTAMP FROM more`,
  ],
])('look for all changes if %s', async (_, sql) => {
  const { database, dir } = await makeSite();
  await database.run(sql);
  await expectEqualsFull(database, dir, undefined, true, true);
  // One of these is the full run.
  expect(database.whole).toBe(2);
});

test('look for all changes if the largest id is none, which is never part of a query', async () => {
  const { database, dir } = await makeSite();
  // A table whose ids can be texts.
  for (const sql of [
    'CREATE TABLE loose AS SELECT * FROM covers',
    'DROP TABLE covers',
    'ALTER TABLE loose RENAME TO covers',
    "INSERT INTO covers (id, game_id, status, updated_at) SELECT '0 OR 1 = 1', id, 'rejected', updated_at FROM games LIMIT 1",
  ])
    await database.run(sql);
  await run(database, dir);
  database.whole = 0;
  await database.run(`UPDATE games SET title = 'Other', ${NOW} WHERE id = ${FIRST} games)`);
  expect((await run(database, dir, { isRecent: true })).outcome).toBe('published');
  expect(database.whole).toBe(1);
});

test('with times that lie, take down each rejected cover, and the next run equals a full one', async () => {
  expect(await compareRecentRuns('sqlite', { seed: 2, batches: 4, games: 20 })).toBeGreaterThan(0);
});

test('the next reading begins after the latest time if it is old', () => {
  expect(sinceOf('2026-01-01 00:00:00.123', 2e9)).toBe('2026-01-01 00:00:00.123');
  expect(sinceOf('1700000000', 2e9)).toBe(1_700_000_000);
});

describe('the next reading begins two minutes before', () => {
  const now = Date.UTC(2026, 10, 28, 12) / 1000;
  test.each<[string, Value, Value]>([
    ['the latest time', '2026-11-28 11:59:30', '2026-11-28 11:57:30'],
    ['a time with a T', '2026-11-28T11:59:30Z', '2026-11-28T11:57:30'],
    ['one with a fraction', '2026-11-28 11:59:30.75', '2026-11-28 11:57:30'],
    ['now, if the latest is in the future', '2026-11-28 13:00:00', '2026-11-28 11:58:00'],
    ['now, if there is none', null, '2026-11-28 11:58:00'],
    ['now, if the latest is zero', '0000-00-00 00:00:00', '2026-11-28 11:58:00'],
    ['a number of seconds', `${now - 10}`, now - 130],
    ['a number of milliseconds', (now - 10) * 1000, (now - 130) * 1000],
  ])('%s', (_, latest, since) => {
    expect(sinceOf(latest, now)).toBe(since);
  });
});
