/**
 * A run that reads only the changed rows publishes the same bytes, and the same report, as one that reads
 * all rows: after random changes, on each kind of database. So does one that follows runs of the recent changes, which
 * take down each cover that was rejected.
 */
import { describe, test } from 'vitest';
import { compareRecentRuns, compareRuns } from '#test/generator/reuse/runs.ts';
import { IS_FULL, printFigure, rounds } from '#test/soak/rounds.ts';
import { KINDS } from '#test/support/databases.ts';

/** The seeds of random changes. */
const HISTORIES = IS_FULL ? [1, 2] : [1];
const BATCHES = IS_FULL ? 50 : 5;

describe.each(KINDS)('on %s', (kind) => {
  test.each(HISTORIES)(
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

test.each(KINDS)('times that lie hide nothing from the run after the next, on %s', async (kind) => {
  const batches = rounds(10, 150);
  const alone = await compareRecentRuns(kind, { seed: 3, batches, games: 150 });
  printFigure(
    `Recent changes are published first, and the others by the next run (${kind})`,
    `${batches} random batches with times that lie, ${alone} of them without other fingerprints: each takedown at once, 0 differences after the next run`,
  );
});

test.each([
  ['the ids of parents are texts', ['covers', 'game_id'], ['cover_files', 'cover_id']],
  ['the ids of rows are texts', ['covers', 'id'], ['cover_files', 'id']],
] as const)('equals a full run if %s', async (_, ...columns) => {
  const alter = columns.map(
    ([table, column]) => `ALTER TABLE ${table} MODIFY ${column} VARCHAR(20) NOT NULL`,
  );
  await compareRuns('mysql', { seed: 1, batches: BATCHES, games: 60, alter });
});
