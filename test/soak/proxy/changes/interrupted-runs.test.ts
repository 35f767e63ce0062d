/**
 * The lists between all generations that were ever current are exact, also if runs were killed while they
 * published.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { expectAllExact, makeHistory } from '../../../proxy/changes/history.ts';
import { finish } from '../../../support/product.ts';
import { expectNoDebris, startGenerator } from '../../../support/wholeness.ts';
import { printFigure, rounds } from '../../rounds.ts';

const KILLS = rounds(6, 45);
const KILLS_BEFORE_HEALING = 3;
const GENERATIONS = rounds(20, 80);

test(`lists are exact after each of ${KILLS} SIGKILLs at random moments`, async () => {
  const history = await makeHistory(9, 1);
  const { dir, random } = history;
  const figures = { killed: 0, published: 0, healed: 0 };
  // A run that ends before its kill does not count.
  for (let kill = 1; figures.killed < KILLS && kill <= 10 * KILLS; kill++) {
    await history.change();
    const child = startGenerator(history.url, dir, ['--force']);
    const ended = finish(child);
    await new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.stderr?.on('data', (text) => String(text).includes('publishing') && resolve());
    });
    await pause(random.next() * 80);
    child.kill('SIGKILL');
    const { signal } = await ended;
    if (signal === 'SIGKILL') figures.killed++;
    if (history.note() && signal === 'SIGKILL') figures.published++;
    if (kill % KILLS_BEFORE_HEALING > 0) continue;
    await history.publish();
    expectNoDebris(dir);
    figures.healed++;
    expectAllExact(history, 30);
  }
  expect(figures.killed).toBe(KILLS);
  printFigure(
    'A list of changes is exact (SIGKILL)',
    `${KILLS} SIGKILLs hit a run that was publishing, ${figures.published} of them after the publication; ${figures.healed} runs in between; lists between ${history.states.size} generations: 0 wrong, 0 lost`,
  );
});

test(`the lists between all pairs of ${GENERATIONS} generations are exact, past rollbacks, too`, async () => {
  const { pairs, changes } = expectAllExact(await makeHistory(4, GENERATIONS));
  expect(pairs).toBe((GENERATIONS * (GENERATIONS - 1)) / 2);
  printFigure(
    'A list of changes is exact',
    `${pairs} pairs of ${GENERATIONS} generations, a sixth of them rollbacks, ${changes} changes: 0 wrong`,
  );
});
