/** The lists of changes over a long history: random changes, changes back, rollbacks and restored databases. */
import { expect, test } from 'vitest';
import { expectListsRight, makeHistory } from '#test/proxy/snapshot/history.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';

const GENERATIONS = rounds(40, 200);

test(`nothing that differs is missing between any of ${GENERATIONS} generations`, async () => {
  const history = await makeHistory(31, 1);
  const all = { lists: 0, changes: 0, changedBack: 0 };
  while (history.states.size < GENERATIONS) {
    await history.next();
    const { lists, changes, changedBack } = expectListsRight(history);
    all.lists += lists;
    all.changes += changes;
    all.changedBack += changedBack;
  }
  expect(all.changedBack).toBeGreaterThan(0);
  printFigure(
    'Lists of changes',
    `${all.lists} lists between ${GENERATIONS} generations with ${all.changes} changes: 0 missing; ${all.changedBack} of records that had changed back`,
  );
});
