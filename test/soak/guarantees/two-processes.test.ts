/**
 * Two processes in one snapshots folder: generators, rollbacks, holds and prunes that run at the same
 * time wait for each other or refuse to run. Nothing that one of them reported as done is lost.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { holdFile } from '#lib/format/hold-file.ts';
import { HOLD_FILE } from '#lib/format/layout.ts';
import { currentId, idsOnDisk } from '#lib/generations/generations.ts';
import { removeHold } from '#lib/generations/hold.ts';
import { KEPT_GENERATIONS } from '#lib/generations/prune.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';
import { type Finished, finish, startProgram } from '#test/support/product.ts';
import {
  expectCurrentVerifies,
  expectNoDebris,
  makeChanging,
  newSnapshots,
  startGenerator,
} from '#test/support/wholeness.ts';

type Action = 'generate' | 'rollback' | 'prune' | 'hold';
const PAIRS: readonly (readonly [Action, Action])[] = [
  ['generate', 'generate'],
  ['generate', 'prune'],
  ['generate', 'rollback'],
  ['rollback', 'prune'],
  ['generate', 'hold'],
];
const KEPT_BY_PRUNE = 2;
const ROUNDS = rounds(5, 60);
const HELD = 3;
const LOCKED = 4;

test(`of two programs at the same time one waits or refuses, and nothing is lost (${ROUNDS} pairs)`, async () => {
  const random = makeRandom(77);
  const database = await makeChanging(seededCatalogue({ games: 30, seed: 8, platforms: 3 }));
  const dir = newSnapshots();
  const figures = { refused: 0, both: 0 };
  const publish = () => database.publish(dir);

  /** @param target the generation for a rollback */
  function start(action: Action, target: string): Promise<Finished> {
    if (action === 'generate') return finish(startGenerator(database.url, dir, ['--json']));
    const args = {
      rollback: ['rollback', target, '--no-hold', '--with-taken-down'],
      hold: ['hold'],
      prune: ['prune', '--keep', String(KEPT_BY_PRUNE)],
    }[action];
    return finish(startProgram('snapshot', args, { SNAPSHOTS_DIR: dir }));
  }

  /** Checks that nothing is published while the hold is in place. */
  async function expectHeld(id: string, what: string): Promise<void> {
    expect(holdFile.parse(readFileSync(path.join(dir, HOLD_FILE), 'utf8')).id, what).toBe(id);
    expect((await start('generate', id)).code, what).toBe(HELD);
    expect(currentId(dir), what).toBe(id);
    removeHold(dir);
  }

  let wholeRun = 0;
  for (let run = 0; run < KEPT_GENERATIONS; run++) {
    const began = performance.now();
    await publish();
    wholeRun = performance.now() - began;
  }

  // On a busy machine, pairs may happen to run one after the other. Then more pairs follow.
  const isEnough = (round: number) =>
    round >= ROUNDS && (figures.refused > 0 || round >= 5 * ROUNDS);
  for (let round = 0; !isEnough(round); round++) {
    const pair = PAIRS[round % PAIRS.length] as readonly [Action, Action];
    const before = idsOnDisk(dir);
    const target = before.at(-2) as string;
    const current = currentId(dir);
    await database.change();
    // Either may start first, by up to the duration of a whole run.
    const actions = random.happens(0.5) ? pair : pair.toReversed();
    const later = pause(random.next() ** 2 * wholeRun);
    const ended = await Promise.all([
      start(actions[0], target),
      later.then(() => start(actions[1], target)),
    ]);
    const what = actions
      .map((action, i) => `${action}: ${ended[i]?.code} ${ended[i]?.stderr}`)
      .join('\n');

    // At least one succeeded, and a failed one refused to run.
    const done = actions.filter((_, i) => ended[i]?.code === 0);
    for (const { code, stdout, stderr } of ended) {
      expect(actions.includes('hold') ? [0, LOCKED, HELD] : [0, LOCKED], what).toContain(code);
      if (code === LOCKED) {
        expect(stdout, what).toBe('');
        expect(stderr, what).toMatch(/Another run \(process (?:\d+|unknown)\) is writing to/);
      }
    }
    expect(done.length, what).toBeGreaterThan(0);
    // A hold waits for the lock.
    if (actions.includes('hold')) expect(done, what).toContain('hold');
    if (done.length === 1) figures.refused++;
    else figures.both++;

    const after = await expectCurrentVerifies(dir);
    if (actions.includes('hold')) await expectHeld(after, what);
    const made = actions.flatMap((action, i) => {
      const { code, stdout } = ended[i];
      if (code !== 0) return [];
      if (action === 'generate') return [JSON.parse(stdout).id as string];
      return action === 'rollback' ? stdout.split(' ', 1) : [];
    });
    expect(made.length > 0 ? made : [current], what).toContain(after);
    // Published generations exist, and only a prune or the usual limit has removed any.
    const ids = idsOnDisk(dir);
    for (const id of made) expect(ids, what).toContain(id);
    const kept = done.includes('prune') ? KEPT_BY_PRUNE : KEPT_GENERATIONS;
    const all = [...new Set([...before, ...made])];
    for (const id of all.slice(-kept)) expect(ids, what).toContain(id);
    expectNoDebris(dir);
    while (idsOnDisk(dir).length < KEPT_GENERATIONS) await publish();
  }
  expect(figures.refused).toBeGreaterThan(0);
  printFigure(
    'Two processes',
    `${figures.refused + figures.both} pairs: ${figures.refused} times one was refused with exit code ${LOCKED}, or ${HELD} because of a hold, ${figures.both} times one waited for the other; nothing lost, 0 files left behind`,
  );
});
