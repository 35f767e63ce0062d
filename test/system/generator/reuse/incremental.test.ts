/**
 * A run that reads only the changed rows publishes the same bytes, and the same report, as one that reads
 * all rows. `test/soak/generator/reuse/incremental.test.ts` has longer histories, on each kind of database.
 */
import { expect, test } from 'vitest';
import type { Value } from '../../../../database/database.ts';
import { compareRuns, expectEqualsFull, makeTimed, run } from '../../../generator/reuse/runs.ts';
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
