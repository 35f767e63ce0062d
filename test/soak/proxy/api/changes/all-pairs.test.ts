/** The lists between all generations of a long history are exact. */
import { expect, test } from 'vitest';
import { expectAllExact, makeHistory } from '#test/proxy/api/changes/history.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';

const GENERATIONS = rounds(20, 80);

test(`the lists between all pairs of ${GENERATIONS} generations are exact, past rollbacks, too`, async () => {
  const { pairs, changes } = expectAllExact(await makeHistory(4, GENERATIONS));
  expect(pairs).toBe((GENERATIONS * (GENERATIONS - 1)) / 2);
  printFigure(
    'A list of changes is exact',
    `${pairs} pairs of ${GENERATIONS} generations, a sixth of them rollbacks, ${changes} changes: 0 wrong`,
  );
});
