/**
 * A run that reads only the changed rows publishes the same bytes, and the same report, as one that reads
 * all rows. `test/soak/generator/reuse/incremental.test.ts` has longer histories, on each kind of database.
 */
import { globSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Value } from '../../../../database/database.ts';
import {
  compareRuns,
  expectEqualsFull,
  makeTimed,
  quiet,
  run,
} from '../../../generator/reuse/runs.ts';
import { newSnapshots } from '../../../support/wholeness.ts';

test('equals a full run after each of four batches of random changes', async () => {
  expect(await compareRuns('sqlite', { seed: 1, batches: 4, games: 20 })).toBeGreaterThan(2);
});

test('a change within the same second as the read before is found by the next run', async () => {
  const database = await makeTimed('sqlite', 20);
  const dir = newSnapshots();
  const [[id = null, time = null] = []] = await database.rows(
    'SELECT MIN(id), CURRENT_TIMESTAMP FROM games',
  );
  const describeGame = (text: string) =>
    database.run('UPDATE games SET description = ?, updated_at = ? WHERE id = ?', [text, time, id]);
  await describeGame('First');
  await run(database, dir);
  await describeGame('Second');
  expect(await run(database, dir)).toMatchObject({ outcome: 'published', readAllBecause: null });
  await database.close();
});

test('each of these changes equals a full run', async () => {
  const database = await makeTimed('sqlite', 20);
  const folders = [newSnapshots(), newSnapshots()] as const;
  let changes = 0;
  const set = (table: string, id: string, column: string, value: Value) =>
    database.run(
      `UPDATE ${table} SET ${column} = ?, updated_at = '2022-02-02 02:02:${10 + changes++}' WHERE id = (${id})`,
      [value],
    );
  const nth = (n: number) => `SELECT id FROM games ORDER BY id LIMIT 1 OFFSET ${n}`;
  const long = Array.from({ length: 300 }, (_, i) => `word${i % 280}`).join(' ');
  const titles = ['ゼルダの伝説', '!', 'Pokémon Pokémon: the the', long, 'Ōkami', 'Δ Delta'];
  for (const [at, text] of titles.entries()) await set('games', nth(at + 1), 'title', text);
  const game = 'SELECT MAX(id) FROM games';
  const cover = "SELECT MAX(id) FROM covers WHERE status = 'approved'";
  const file =
    "SELECT MAX(id) FROM cover_files WHERE cover_id IN (SELECT id FROM covers WHERE status = 'approved')";
  await run(database, folders[0]);
  for (const [table, id, column, value] of [
    // Titles that come, go and change leave the words of all other titles as they are.
    ['games', nth(7), 'title', 'A completely new word'],
    ['games', nth(7), 'title', 'Zzz'],
    // A single value, whatever files can be linked.
    ['games', game, 'description', 'Described'],
    ['games', game, 'release_year', 1971],
    ['games', game, 'genres', 'Only of this game'],
    ['covers', cover, 'region', 'Atlantis'],
    ['covers', cover, 'approved_at', '2020-02-02 02:02:02'],
    ['cover_files', file, 'path', 'moved/file.png'],
    ['covers', cover, 'status', 'rejected'],
  ] as const) {
    await set(table, id, column, value);
    expect(await expectEqualsFull(database, folders, column), column).toBe('published');
  }
  for (const sql of [
    `DELETE FROM games WHERE id = (${nth(0)})`,
    `INSERT INTO games (id, platform_id, slug, title, updated_at)
      SELECT 77777777, platform_id, 'new-one', 'ゼルダ Pokémon', '2022-03-03 03:03:03' FROM games LIMIT 1`,
  ]) {
    await database.run(sql);
    expect(await expectEqualsFull(database, folders, sql), sql).toBe('published');
  }
  await database.close();
});

/** The packs of the current generation that are not links to those of the generation before. */
function writtenPacks(dir: string, before: ReadonlyMap<string, number>): string[] {
  return [...inodesOf(dir)]
    .filter(([name, inode]) => before.get(name) !== inode)
    .map(([name]) => name);
}

function inodesOf(dir: string): Map<string, number> {
  const names = globSync('{games,covers}/*.json', { cwd: path.join(dir, 'current') });
  return new Map(names.map((name) => [name, statSync(path.join(dir, 'current', name)).ino]));
}

test('a change writes the packs of its platform, and a row with a new time nothing', async () => {
  const database = await makeTimed('sqlite', 60);
  const dir = newSnapshots();
  await run(database, dir);
  const before = inodesOf(dir);
  expect(before.size).toBeGreaterThan(10);
  const [[id = null, slug = null] = []] = await database.rows(
    'SELECT g.id, p.slug FROM games g JOIN platforms p ON p.id = platform_id LIMIT 1',
  );
  const sql =
    "UPDATE games SET description = 'New', updated_at = '2022-02-02 02:02:02' WHERE id = ?";
  await database.run(sql, [id]);
  expect((await run(database, dir)).outcome).toBe('published');
  expect(writtenPacks(dir, before)).toEqual([`games/${slug}.json`]);

  await database.run("UPDATE games SET updated_at = '2023-03-03 03:03:03'");
  const steps: string[] = [];
  const progress = { ...quiet, step: (text: string) => steps.push(text) };
  expect((await run(database, dir, {}, progress)).outcome).toBe('unchanged');
  expect(steps).toEqual([]);
  await database.close();
});

test('a game that takes the path of an unchanged one of a higher id takes its place', async () => {
  const database = await makeTimed('sqlite', 60);
  const folders = [newSnapshots(), newSnapshots()] as const;
  await run(database, folders[0]);
  const [[platform = null, slug = null] = []] = await database.rows(
    'SELECT platform_id, slug FROM games ORDER BY id DESC LIMIT 1',
  );
  const take = (time: string, text: Value) =>
    database.run(
      `UPDATE games SET platform_id = ?, slug = ?, updated_at = ?
        WHERE id = (SELECT MIN(id) FROM games)`,
      [platform, text, time],
    );
  await take('2022-02-02 02:02:02', slug);
  expect(await expectEqualsFull(database, folders)).toBe('published');
  // And back: the other one is published again.
  await take('2022-02-02 02:02:03', 'elsewhere');
  expect(await expectEqualsFull(database, folders)).toBe('published');
  await database.close();
});

test('a run of the changes equals a full run that shares its work with another thread', async () => {
  const database = await makeTimed('sqlite', 40);
  const folders = [newSnapshots(), newSnapshots()] as const;
  // As many games as a full run of one thread has at most, and one more.
  await database.run(
    `INSERT INTO games (id, platform_id, slug, title, updated_at)
      WITH RECURSIVE ids(id) AS (VALUES(1) UNION ALL SELECT id + 1 FROM ids WHERE id < 19960)
      SELECT 90000000 + id, (SELECT MIN(platform_id) FROM games), 'game-' || id, 'Game ' || id,
        '2022-01-01 00:00:00'
      FROM ids`,
  );
  await run(database, folders[0]);
  await database.run(
    `UPDATE games SET title = 'Gamf', updated_at = '2022-02-02 02:02:02' WHERE id = 90000100`,
  );
  await database.run(
    `UPDATE covers SET game_id = 90000200, updated_at = '2022-02-02 02:02:02'
      WHERE id = (SELECT MIN(id) FROM covers WHERE status = 'approved')`,
  );
  expect(await expectEqualsFull(database, folders)).toBe('published');
  await database.close();
});
