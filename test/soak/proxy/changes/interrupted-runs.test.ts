/**
 * Runs that are killed while they publish, or whose disk is full, leave no wrong difference: the lists
 * between all generations that were ever current stay exact.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { currentId } from '../../../../generations/generations.ts';
import { SITE } from '../../../catalogue/make-sample.ts';
import { makeChangingCatalogue } from '../../../proxy/changes/changing-catalogue.ts';
import { readState, type State } from '../../../proxy/changes/generation-state.ts';
import { joinExactly } from '../../../proxy/changes/history.ts';
import { finish, generate, makeFolder } from '../../../support/product.ts';
import { expectNoDebris, startGenerator } from '../../../support/wholeness.ts';
import { printFigure, rounds } from '../../rounds.ts';
import { freeKilobytes, mountSmallDisk } from '../../support/small-disk.ts';

const KILLS = rounds(6, 45);
const KILLS_BEFORE_HEALING = 3;
const FULL_DISKS = rounds(2, 12);
/** In kilobytes: with so much space left, a run succeeds. */
const MOST_LEFT = 300;

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

test('on a full disk, a run publishes a generation with its difference, or neither', async ({
  skip,
}) => {
  const disk = await mountSmallDisk(8 * 1024);
  if (disk === undefined) return skip('this machine does not let us mount a disk');
  try {
    const dir = path.join(disk.root, 'snapshots');
    const ballast = path.join(disk.root, 'ballast');
    const catalogue = await makeChangingCatalogue(10);
    const record = makeRecord(dir);
    const run = () =>
      disk.run('generator/cli/main.ts', ['--force'], { DATABASE_URL: catalogue.url, ...SITE });
    expect((await run()).code).toBe(0);
    record.note();
    const figures = { failed: 0, published: 0 };
    for (let round = 0; round < FULL_DISKS; round++) {
      await catalogue.change();
      const left = Math.floor(((round + catalogue.random.next()) / FULL_DISKS) * MOST_LEFT);
      const filler = Math.max(0, freeKilobytes(disk.root) - left) * 1024;
      writeFileSync(ballast, Buffer.alloc(filler));
      const { code, stderr } = await run();
      if (code === 0) figures.published++;
      else {
        figures.failed++;
        expect(stderr).toContain('ENOSPC');
      }
      writeFileSync(ballast, '');
      record.note();
      await catalogue.change();
      expect((await run()).code).toBe(0);
      expectNoDebris(dir);
      record.note();
      record.check();
    }
    await catalogue.close();
    expect(figures.failed).toBeGreaterThan(0);
    printFigure(
      'A list of changes is exact (full disk)',
      `${FULL_DISKS} runs on a disk that fills up: ${figures.failed} failed, ${figures.published} had enough space; lists between ${record.check()} generations: 0 wrong, 0 lost`,
    );
  } finally {
    await disk.unmount();
  }
});
