/**
 * A run that reads only the changed rows publishes the same bytes, and the same report, as one that reads
 * all rows.
 * `test/soak/generator/reuse/incremental.test.ts` has longer histories, on each kind of database.
 */
import { chmodSync, globSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Database } from '#lib/database/database.ts';
import type { ManifestContent } from '#lib/format/manifest.ts';
import {
  compareRuns,
  expectEqualsFull,
  makeTimed,
  makeTimedSite,
  run,
  runSteps,
} from '#test/generator/reuse/runs.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

test('equals a full run after each of four batches of random changes', async () => {
  expect(await compareRuns('sqlite', { seed: 1, batches: 4, games: 20 })).toBeGreaterThan(2);
});

/** The inodes of the packs of the current generation: the linked ones are those of the generation before. */
function inodesOf(dir: string): Map<string, number> {
  const names = globSync('{games,covers}/*.json', { cwd: path.join(dir, 'current') });
  return new Map(names.map((name) => [name, statSync(path.join(dir, 'current', name)).ino]));
}

test('a change writes the packs of its platform, and a row with a new time nothing', async () => {
  const { database, dir } = await makeTimedSite('sqlite', 60);
  const before = inodesOf(dir);
  expect(before.size).toBeGreaterThan(10);
  const [[id = null, slug = null] = []] = await database.rows(
    'SELECT g.id, p.slug FROM games g JOIN platforms p ON p.id = platform_id LIMIT 1',
  );
  const sql =
    "UPDATE games SET description = 'New', updated_at = '2022-02-02 02:02:02' WHERE id = ?";
  await database.run(sql, [id]);
  expect((await run(database, dir)).outcome).toBe('published');
  const written = [...inodesOf(dir)].filter(([name, inode]) => before.get(name) !== inode);
  expect(written.map(([name]) => name)).toEqual([`games/${slug}.json`]);

  await database.run("UPDATE games SET updated_at = '2023-03-03 03:03:03'");
  expect(await runSteps(database, dir)).toEqual(['unchanged', []]);
});

test('of two files that are written together, neither is linked if one cannot be', async () => {
  const { database, dir } = await makeTimedSite('sqlite', 4);
  chmodSync(path.join(dir, 'current/search.json'), 0o400);
  await database.run("UPDATE games SET description = 'New', updated_at = '2022-02-02 02:02:02'");
  const { outcome, readAllBecause } = await run(database, dir);
  expect([outcome, readAllBecause]).toEqual(['published', null]);
});

test.each([
  ['covers', 'game_id'],
  ['cover_files', 'cover_id'],
])('a run of the changes equals a full run if two rows of %s have one id', async (table, owner) => {
  const database = await makeTimed('sqlite', 20);
  const dir = newSnapshots();
  await database.run(`ALTER TABLE ${table} RENAME TO with_key`);
  await database.run(`CREATE TABLE ${table} AS SELECT * FROM with_key`);
  const add = (into: string, columns: string, values: string) =>
    database.run(
      `INSERT INTO ${into} (${columns}, updated_at) VALUES (${values}, '2022-02-02 02:02:02')`,
    );
  // In blocks of their own.
  await add('games', 'id, platform_id, slug, title', "9000000, 1, 'far', 'Far'");
  await add('covers', 'id, game_id, status', "9000000, 9000000, 'approved'");
  await run(database, dir);
  const first = `(SELECT MIN(id) FROM ${table})`;
  await (table === 'covers'
    ? add('covers', 'id, game_id, status', `${first}, 9000000, 'approved'`)
    : add('cover_files', 'id, cover_id, path', `${first}, 9000000, 'far.jpg'`));
  await expectEqualsFull(database, dir, 'with both rows', true);
  await database.run(`DELETE FROM ${table} WHERE id = ${first} AND ${owner} < 9000000`);
  await expectEqualsFull(database, dir, 'with one of them', true);
});

// KILL QUERY does that on a server: the client sees no error.
test('a list of covers that lacks its last one leads to no other generation', async () => {
  const { database, dir } = await makeTimedSite('sqlite', 20);
  const time = "updated_at = '2022-02-02 02:02:02'";
  await database.run(`UPDATE cover_files SET ${time}, path = 'moved.png'`);
  /** @returns what a run would publish, and how many lists of covers it has read */
  const runCut = async (cutAt: number) => {
    let [lists, files] = [0, ''];
    const cut: Database = {
      ...database,
      snapshot: (read) =>
        database.snapshot(({ rows, ...others }) =>
          read({
            ...others,
            async rows(sql, parameters) {
              const found = await rows(sql, parameters);
              if (!/^SELECT (DISTINCT )?(game_)?id FROM covers WHERE/.test(sql)) return found;
              return lists++ === cutAt ? found.slice(0, -1) : found;
            },
          }),
        ),
    };
    const inspect = (content: ManifestContent) => {
      files = content.files.map(({ path: name, sha256 }) => `${name} ${sha256}`).join('\n');
    };
    const { readAllBecause } = await run(cut, dir, { isDryRun: true, inspect });
    return { lists, files, readAllBecause };
  };
  const { lists, files, readAllBecause } = await runCut(-1);
  expect([readAllBecause, lists]).toEqual([null, 2]);
  for (let at = 0; at < lists; at++) {
    const found = await runCut(at);
    expect(found.readAllBecause).toMatch(/covers has \d+ rows to read, but \d+ arrived/);
    expect(found.files).toBe(files);
  }
});
