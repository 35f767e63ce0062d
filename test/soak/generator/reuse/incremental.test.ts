/**
 * A run that reads only the changed rows publishes the same bytes, and the same report, as one that reads
 * all rows: after random changes, on each kind of database, and at the first growth of columns.
 * `HISTORY_SEED=7 npm run soak -- test/soak/generator/reuse/incremental.test.ts` repeats one history.
 */
import { describe, expect, test } from 'vitest';
import { seedsOf } from '../../../generator/reuse/random-changes.ts';
import { compareRuns, expectEqualsFull, makeTimed, run } from '../../../generator/reuse/runs.ts';
import { KINDS } from '../../../support/databases.ts';
import { newSnapshots } from '../../../support/wholeness.ts';
import { IS_FULL, printFigure, rounds } from '../../rounds.ts';

const HISTORIES = rounds(1, 2);
const BATCHES = IS_FULL ? 50 : 5;

describe.each(KINDS)('on %s', (kind) => {
  test.each(seedsOf(HISTORIES))(
    `equals a full run after each of ${BATCHES} batches, seed %i`,
    async (seed) => {
      const published = await compareRuns(kind, { seed, batches: BATCHES, games: 150 });
      printFigure(
        `A run of the changes equals a full run (${kind}, seed ${seed})`,
        `${BATCHES} random batches: ${published} published, the others without a visible change, 0 differences`,
      );
    },
  );
});

// Columns begin with room for 65,536 rows, and a game that is left out has no texts.
test('a run equals a full run if the last of 65,537 games is left out', async () => {
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
  expect(await expectEqualsFull(database, [dir, fullDir])).toBe('published');
  await database.close();
});
