/**
 * The lists between all generations that were ever current are exact, also if runs were killed while they
 * published.
 */
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { currentId } from '../../../../generations/generations.ts';
import { makeChangingCatalogue } from '../../../proxy/changes/changing-catalogue.ts';
import { readState, type State } from '../../../proxy/changes/generation-state.ts';
import { joinExactly, makeHistory } from '../../../proxy/changes/history.ts';
import { finish, generate, makeFolder } from '../../../support/product.ts';
import { expectNoDebris, startGenerator } from '../../../support/wholeness.ts';
import { printFigure, rounds } from '../../rounds.ts';

const KILLS = rounds(6, 45);
const KILLS_BEFORE_HEALING = 3;
const GENERATIONS = rounds(20, 80);

/** The generations that were current, and what they held. */
function makeRecord(dir: string) {
  const states = new Map<string, State>();
  return {
    /** @returns whether another generation is current than at the last call */
    note(): boolean {
      const id = currentId(dir) as string;
      const isNew = !states.has(id);
      if (isNew) states.set(id, readState(dir, id));
      return isNew;
    },
    /** Checks the lists between all of them. @returns how many there are */
    check(): number {
      const all = [...states.keys()].slice(-30);
      all.forEach((to, at) => {
        for (const from of all.slice(0, at)) {
          if (joinExactly({ dir, states }, from, to).page === 'gone')
            throw new Error(`There is no list from ${from} to ${to}.`);
        }
      });
      return states.size;
    },
  };
}

test(`lists are exact after each of ${KILLS} SIGKILLs at random moments`, async () => {
  const dir = path.join(makeFolder(), 'snapshots');
  const catalogue = await makeChangingCatalogue(9);
  const record = makeRecord(dir);
  await generate(catalogue.url, dir, ['--force']);
  record.note();
  const figures = { killed: 0, published: 0, healed: 0 };
  // A run that ends before its kill does not count.
  for (let kill = 1; figures.killed < KILLS && kill <= 10 * KILLS; kill++) {
    await catalogue.change();
    const child = startGenerator(catalogue.url, dir, ['--force']);
    const ended = finish(child);
    await new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.stderr?.on('data', (text) => String(text).includes('publishing') && resolve());
    });
    await pause(catalogue.random.next() * 40);
    child.kill('SIGKILL');
    const { signal } = await ended;
    if (signal === 'SIGKILL') figures.killed++;
    if (record.note() && signal === 'SIGKILL') figures.published++;
    if (kill % KILLS_BEFORE_HEALING > 0) continue;
    await catalogue.change();
    await generate(catalogue.url, dir, ['--force']);
    expectNoDebris(dir);
    figures.healed++;
    record.note();
    record.check();
  }
  await catalogue.close();
  expect(figures.killed).toBe(KILLS);
  printFigure(
    'A list of changes is exact (SIGKILL)',
    `${KILLS} SIGKILLs hit a run that was publishing, ${figures.published} of them after the publication; ${figures.healed} runs in between; lists between ${record.check()} generations: 0 wrong, 0 lost`,
  );
});

test(`the lists between all pairs of ${GENERATIONS} generations are exact, past rollbacks, too`, async () => {
  const history = await makeHistory(4, GENERATIONS);
  const ids = [...history.states.keys()];
  const figures = { pairs: 0, changes: 0 };
  ids.forEach((to, at) => {
    for (const from of ids.slice(0, at)) {
      const { page } = joinExactly(history, from, to);
      if (typeof page === 'string') throw new Error(`${from} to ${to}: ${page}`);
      figures.pairs++;
      figures.changes += page.total;
    }
  });
  printFigure(
    'A list of changes is exact',
    `${figures.pairs} pairs of ${GENERATIONS} generations, a sixth of them rollbacks, ${figures.changes} changes: 0 wrong`,
  );
});
