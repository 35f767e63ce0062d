/**
 * A killed run of the changes leaves nothing that a later run could mistake for the truth. After SIGKILL
 * at a random moment, the next run publishes exactly what a full run would.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../../database/open.ts';
import { makeRandom } from '../../../../demo/catalogue/random.ts';
import { currentId } from '../../../../generations/generations.ts';
import { seededCatalogue } from '../../../catalogue/seeded.ts';
import { makeSqlite } from '../../../catalogue/snapshots.ts';
import { addTimes, makeChanges } from '../../../generator/reuse/random-changes.ts';
import { finish, generate } from '../../../support/product.ts';
import { expectCurrentVerifies, newSnapshots, startGenerator } from '../../../support/wholeness.ts';
import { printFigure, rounds } from '../../rounds.ts';

const KILLS = rounds(3, 60);

test(`the run after each of ${KILLS} SIGKILLs equals a full run`, async () => {
  const random = makeRandom(7);
  const dir = newSnapshots();
  const url = await makeSqlite({ ...seededCatalogue({ games: 300, seed: 11 }), gameTitles: [] });
  const database = await openDatabase(url);
  await addTimes(database);
  const { change } = makeChanges(random);
  const run = async (...args: string[]) =>
    JSON.parse((await generate(url, dir, ['--json', '--force', ...args])).stdout);
  await run();
  await database.transaction(change);
  const timed = performance.now();
  await run();
  const wholeRun = performance.now() - timed;
  const figures = { killed: 0, published: 0, cached: 0 };
  // A run that ends before its kill does not count.
  for (let attempt = 1; figures.killed < KILLS && attempt <= 10 * KILLS; attempt++) {
    await database.transaction(change);
    const before = currentId(dir);
    const child = startGenerator(url, dir, ['--force']);
    const ended = finish(child);
    await pause(random.next() * wholeRun);
    child.kill('SIGKILL');
    if ((await ended).signal === 'SIGKILL') {
      figures.killed++;
      if (currentId(dir) !== before) figures.published++;
    }
    await expectCurrentVerifies(dir);
    if ((await run()).read_all_because === null) figures.cached++;
    expect((await run('--full')).outcome, `attempt ${attempt}`).toBe('unchanged');
  }
  await database.close();
  expect(figures.killed).toBe(KILLS);
  printFigure(
    'The run after a killed run of the changes equals a full run',
    `${KILLS} SIGKILLs hit a run, ${figures.published} of them after it had published; ${figures.cached} of the next runs read only the changes, 0 differences`,
  );
});
