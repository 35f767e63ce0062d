/**
 * Runs that are killed at any moment: a complete generation is current, and nothing that they leave is
 * mistaken for the truth. The next run publishes what a full run would, and removes what they left. The lists
 * of changes since all generations that were ever current have everything that differs.
 */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { expectListsRight, makeHistory } from '#test/proxy/snapshot/history.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';
import { finish, generate } from '#test/support/product.ts';
import {
  ageDeadWrites,
  expectCurrentVerifies,
  expectNoDebris,
  startGenerator,
} from '#test/support/wholeness.ts';

const KILLS = rounds(10, 300);
/** A later run must remove what several killed ones have left. */
const SHARE_FOLLOWED = 0.4;

/** Waits until a run prints this, or ends. */
const printed = (text: string, child: ChildProcess) =>
  new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.stderr?.on('data', (part) => String(part).includes(text) && resolve());
  });

test(`after ${KILLS} SIGKILLs at random moments, generations and lists of changes are right`, async () => {
  const history = await makeHistory(9, 1);
  const { dir, url, random } = history;
  const start = () => startGenerator(url, dir, ['--force']);
  const run = async (...args: string[]) =>
    JSON.parse((await generate(url, dir, ['--json', '--force', ...args])).stdout);
  await history.change();
  const began = performance.now();
  expect((await finish(start())).code).toBe(0);
  const wholeRun = performance.now() - began;
  history.note();
  const figures = { killed: 0, published: 0, followed: 0, ofChanges: 0 };
  // A run that ends before its kill does not count.
  for (let attempt = 1; figures.killed < KILLS && attempt <= 10 * KILLS; attempt++) {
    await history.change();
    const child = start();
    const ended = finish(child);
    // Half of the kills are aimed at the last steps, which rename files.
    if (random.happens(0.5)) {
      await printed(random.pick(['writing packs', 'publishing']), child);
      await pause(random.next() * 80);
    } else await pause(random.next() * wholeRun);
    child.kill('SIGKILL');
    const { signal } = await ended;
    ageDeadWrites(dir);
    await expectCurrentVerifies(dir);
    const isNew = history.note();
    if (signal === 'SIGKILL') {
      figures.killed++;
      if (isNew) figures.published++;
    }
    if (!random.happens(SHARE_FOLLOWED)) continue;
    figures.followed++;
    if ((await run()).read_all_because === null) figures.ofChanges++;
    history.note();
    expectNoDebris(dir);
    expect((await run('--full')).outcome, `attempt ${attempt}`).toBe('unchanged');
    expectListsRight(history, 8);
  }
  expectListsRight(history);
  expect(figures.killed).toBe(KILLS);
  printFigure(
    'Runs of the generator (SIGKILL)',
    `${KILLS} SIGKILLs hit a run, ${figures.published} of them after it had published: 0 incomplete; ${figures.followed} of the next runs, of which ${figures.ofChanges} read only the changes, equal a full run, 0 files left behind; lists since ${history.states.size} generations: 0 wrong`,
  );
});
