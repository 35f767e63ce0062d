/**
 * A run that reads only the changed rows publishes the same bytes, and the same report, as one that reads
 * all rows: after random changes, on each kind of database. `HISTORY_SEED=7 SOAK=1 npx vitest run
 * --project soak test/generator/reuse/incremental.test.ts` repeats one history.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { contentHash } from '../../../format/manifest.ts';
import { generationDir } from '../../../store/generations/generations.ts';
import { readManifest } from '../../../store/generations/manifest-file.ts';
import { makeRandom } from '../../catalogue/random.ts';
import { printFigure, rounds } from '../../soak/rounds.ts';
import { KINDS } from '../../support/databases.ts';
import { newSnapshots } from '../../support/wholeness.ts';
import { makeChanges, seedsOf } from './random-changes.ts';
import { makeTimed, quiet, run } from './runs.ts';

const HISTORIES = rounds(1, 10);
const BATCHES = rounds(5, 100);

/** What must be the same after runs of both kinds. */
function contentOf(snapshotsDir: string, id: string | undefined) {
  const manifest = readManifest(generationDir(snapshotsDir, String(id)));
  const report = JSON.parse(readFileSync(path.join(snapshotsDir, 'report.json'), 'utf8'));
  const { finished_at: _, outcome: __, ...rows } = report;
  return { hash: contentHash(manifest), files: manifest.files, rows };
}

describe.each(KINDS)('on %s', (kind) => {
  const outcomes = { batches: 0, published: 0, unchanged: 0 };

  afterAll(() => {
    printFigure(
      `A run of the changes equals a full run (${kind})`,
      `${outcomes.batches} random batches: ${outcomes.published} published, ${outcomes.unchanged} without a visible change, 0 differences`,
    );
  });

  test.each(seedsOf(HISTORIES))(
    `equals a full run after each of ${BATCHES} batches, seed %i`,
    {
      timeout: 3_600_000,
    },
    async (seed) => {
      const database = await makeTimed(kind);
      const [dir, fullDir] = [newSnapshots(), newSnapshots()];
      const { change, describeAgain } = makeChanges(makeRandom(seed));
      const batches: readonly (() => Promise<unknown>)[] = [
        () => database.transaction(change),
        // A transaction that commits after a run that could not see its changes.
        () =>
          database.transaction(async (writer) => {
            await change(writer);
            await run(database, dir);
          }),
        // The same row within one second, before and after runs.
        async () => {
          const describe = await describeAgain(database);
          for (let i = 0; i < 3; i++) {
            await describe(i);
            await run(database, dir);
          }
          await database.transaction(change);
          await describe(3);
        },
      ];
      expect((await run(database, dir)).readAllBecause).toBe('there is no generation yet');
      for (let batch = 1; batch <= BATCHES; batch++) {
        await batches[batch % batches.length]();
        const changed = await run(database, dir);
        const full = await run(database, fullDir, { isFull: true });
        expect(changed.readAllBecause, `batch ${batch}`).toBe(null);
        expect(contentOf(dir, changed.id), `batch ${batch}`).toEqual(contentOf(fullDir, full.id));
        if (batch % 4 === 0) {
          // The values of a cached row that is left out in this run are first known after the next one.
          expect((await run(database, dir)).outcome).toBe('unchanged');
          const steps: string[] = [];
          const progress = { ...quiet, step: (text: string) => steps.push(text) };
          expect((await run(database, dir, {}, progress)).outcome).toBe('unchanged');
          expect(steps).not.toContain('writing packs');
          expect(contentOf(dir, changed.id), `batch ${batch}`).toEqual(contentOf(fullDir, full.id));
        }
        outcomes[changed.outcome === 'published' ? 'published' : 'unchanged']++;
        outcomes.batches++;
      }
      await database.close();
    },
  );
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
    const changed = await run(database, dir);
    const full = await run(database, fullDir, { isFull: true });
    expect(changed).toMatchObject({ outcome: 'published', readAllBecause: null });
    expect(contentOf(dir, changed.id)).toEqual(contentOf(fullDir, full.id));
  }
  await database.close();
});

test('a single changed value equals a full run, whatever files can be linked', {
  timeout: 300_000,
}, async () => {
  const database = await makeTimed('sqlite', 20);
  const [dir, fullDir] = [newSnapshots(), newSnapshots()];
  await run(database, dir);
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
      `UPDATE ${table} SET ${column} = ?, updated_at = '2022-02-02 02:02:02'
        WHERE id = (SELECT MAX(id) FROM ${table} ${isPublic})`,
      [value],
    );
    const changed = await run(database, dir);
    const full = await run(database, fullDir, { isFull: true });
    expect(changed, column).toMatchObject({ outcome: 'published', readAllBecause: null });
    expect(contentOf(dir, changed.id), column).toEqual(contentOf(fullDir, full.id));
    // The next change must get another time.
    await database.run(`UPDATE ${table} SET updated_at = '2020-01-01 00:00:00'`);
    await run(database, dir);
  }
  await database.close();
});

// Columns begin with room for 65,536 rows, and a game that is left out has no texts.
test('a run equals a full run if the last of 65,537 games is left out', {
  timeout: 300_000,
}, async () => {
  const database = await makeTimed('sqlite', 20);
  const insert = (from: number, to: number, slug: string) =>
    database.run(
      `INSERT INTO games (id, platform_id, slug, title, updated_at)
        WITH RECURSIVE ids(id) AS (VALUES(${from}) UNION ALL SELECT id + 1 FROM ids WHERE id < ${to})
        SELECT 90000000 + id, (SELECT MIN(platform_id) FROM games), ${slug}, 'Game ' || id,
          '2022-01-01 00:00:00'
        FROM ids`,
    );
  const [[count]] = await database.rows('SELECT COUNT(*) FROM games');
  await insert(Number(count) + 1, 65_536, "'game-' || id");
  await insert(65_537, 65_537, "'Not a slug'");
  const [dir, fullDir] = [newSnapshots(), newSnapshots()];
  await run(database, dir);
  await database.run(
    `UPDATE games SET title = 'Gamf', updated_at = '2022-02-02 02:02:02' WHERE id = 90000100`,
  );
  await database.run(
    `UPDATE covers SET game_id = 90000200, updated_at = '2022-02-02 02:02:02'
      WHERE id = (SELECT MIN(id) FROM covers WHERE status = 'approved')`,
  );
  const changed = await run(database, dir);
  const full = await run(database, fullDir, { isFull: true });
  expect(changed).toMatchObject({ outcome: 'published', readAllBecause: null });
  expect(contentOf(dir, changed.id)).toEqual(contentOf(fullDir, full.id));
  await database.close();
});
