/**
 * A run that reads only the changed rows publishes the same bytes, and the same report, as one that reads
 * all rows. `test/soak/generator/reuse/incremental.test.ts` has longer histories, on each kind of database.
 */
import { expect, test } from 'vitest';
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

test('titles that come, go and change leave the words of all other titles as they are', async () => {
  const database = await makeTimed('sqlite', 12);
  const title = (id: string, text: string) =>
    database.run(`UPDATE games SET title = ?, updated_at = ? WHERE id = (${id})`, [
      text,
      `2022-02-02 02:02:${String(next++ % 60).padStart(2, '0')}`,
    ]);
  let next = 0;
  const nth = (n: number) => `SELECT id FROM games ORDER BY id LIMIT 1 OFFSET ${n}`;
  const long = Array.from({ length: 300 }, (_, i) => `word${i % 280}`).join(' ');
  const titles = ['ゼルダの伝説', '!', 'Pokémon Pokémon: the the', long, 'Ōkami', 'Δ Delta'];
  for (const [at, text] of titles.entries()) await title(nth(at + 1), text);
  const [dir, fullDir] = [newSnapshots(), newSnapshots()];
  await run(database, dir);
  for (const change of [
    () => title(nth(7), 'A completely new word'),
    () => title(nth(7), 'Zzz'),
    () => database.run(`DELETE FROM games WHERE id = (${nth(0)})`),
    () =>
      database.run(
        `INSERT INTO games (id, platform_id, slug, title, updated_at)
          SELECT 77777777, platform_id, 'new-one', 'ゼルダ Pokémon', '2022-03-03 03:03:03' FROM games LIMIT 1`,
      ),
  ]) {
    await change();
    expect(await expectEqualsFull(database, [dir, fullDir])).toBe('published');
  }
  await database.close();
});

test('a single changed value equals a full run, whatever files can be linked', async () => {
  const database = await makeTimed('sqlite', 20);
  const [dir, fullDir] = [newSnapshots(), newSnapshots()];
  await run(database, dir);
  let changes = 0;
  for (const [table, column, value] of [
    ['games', 'description', 'Described'],
    ['games', 'release_year', 1971],
    ['games', 'genres', 'Only of this game'],
    ['covers', 'region', 'Atlantis'],
    ['covers', 'approved_at', '2020-02-02 02:02:02'],
    ['cover_files', 'path', 'moved/file.png'],
    ['covers', 'status', 'rejected'],
  ] as const) {
    const isPublic = {
      games: '',
      covers: "WHERE status = 'approved'",
      cover_files: "WHERE cover_id IN (SELECT id FROM covers WHERE status = 'approved')",
    }[table];
    await database.run(
      `UPDATE ${table} SET ${column} = ?, updated_at = '2022-02-02 02:02:0${++changes}'
        WHERE id = (SELECT MAX(id) FROM ${table} ${isPublic})`,
      [value],
    );
    expect(await expectEqualsFull(database, [dir, fullDir], column), column).toBe('published');
  }
  await database.close();
});
