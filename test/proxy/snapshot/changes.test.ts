/**
 * A list of changes has everything that differs, whatever happened between two generations, and nothing but
 * that and what has changed back. `test/soak/proxy/snapshot/changes.test.ts` has a long history.
 */
import { expect, test } from 'vitest';
import { expectListsRight, makeHistory } from './history.ts';

test('lists are right after random changes, rollbacks and restored databases', async () => {
  const history = await makeHistory(21, 1);
  let changes = 0;
  while (history.states.size < 12) {
    await history.next();
    changes += expectListsRight(history).changes;
  }
  expect(changes).toBeGreaterThan(100);
});
