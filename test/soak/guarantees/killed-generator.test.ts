/**
 * A generation is published completely or not at all, even if the generator is killed. After SIGKILL
 * at a random moment the current generation verifies, and the next run succeeds.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeRandom } from '../../../demo/catalogue/random.ts';
import { idsOnDisk } from '../../../generations/generations.ts';
import { KEPT_GENERATIONS } from '../../../generations/prune.ts';
import { finish, generate } from '../../support/product.ts';
import {
  expectCurrentVerifies,
  expectNoDebris,
  makeChanging,
  newSnapshots,
  startGenerator,
} from '../../support/wholeness.ts';
import { printFigure, rounds } from '../rounds.ts';

const KILLS = rounds(8, 200);
const AT_ONCE = 2;
/** After this many kills, one run is not killed. It must remove what the killed runs left behind. */
const KILLS_BEFORE_HEALING = 5;

test(`the current generation verifies after each of ${KILLS} SIGKILLs at random moments`, async () => {
  const random = makeRandom(100);
  const figures = { killed: 0, published: 0, ended: 0, healed: 0 };

  async function killRepeatedly(times: number): Promise<void> {
    const dir = newSnapshots();
    const database = await makeChanging();
    const heal = async () => {
      const before = await expectCurrentVerifies(dir);
      await database.change();
      await generate(database.url, dir);
      expect(await expectCurrentVerifies(dir)).not.toBe(before);
      expectNoDebris(dir);
      expect(idsOnDisk(dir).length).toBeLessThanOrEqual(KEPT_GENERATIONS);
      figures.healed++;
    };
    await generate(database.url, dir);
    const began = performance.now();
    await heal();
    const wholeRun = performance.now() - began;
    // A kill after the end of a run proves nothing. If most do, more kills follow.
    const isDone = (kills: number) => kills >= times && figures.killed > KILLS / 2;
    for (let kill = 1; !isDone(kill - 1) && kill <= 10 * times; kill++) {
      const before = await expectCurrentVerifies(dir);
      await database.change();
      const child = startGenerator(database.url, dir);
      const ended = finish(child);
      // Half of the kills are aimed at the last steps, which rename files.
      if (random.happens(0.5)) {
        const step = random.pick(['writing packs', 'publishing']);
        await new Promise<void>((resolve) => {
          child.once('exit', () => resolve());
          child.stderr?.on('data', (text) => String(text).includes(step) && resolve());
        });
        await pause(random.next() * 90);
      } else {
        await pause(random.next() * wholeRun);
      }
      child.kill('SIGKILL');
      const { signal } = await ended;
      if (signal === 'SIGKILL') figures.killed++;
      else figures.ended++;
      if ((await expectCurrentVerifies(dir)) !== before && signal === 'SIGKILL') {
        figures.published++;
      }
      if (kill % KILLS_BEFORE_HEALING === 0) await heal();
    }
    await heal();
  }

  await Promise.all(Array.from({ length: AT_ONCE }, () => killRepeatedly(KILLS / AT_ONCE)));
  expect(figures.killed).toBeGreaterThan(KILLS / 2);
  printFigure(
    'A generation is complete or absent (SIGKILL)',
    `${figures.killed + figures.ended} SIGKILLs: ${figures.killed} hit a run (${figures.published} of them after the publication), ${figures.ended} came after its end; all ${figures.healed} uninterrupted runs succeeded, 0 incomplete generations, 0 files left behind`,
  );
});
