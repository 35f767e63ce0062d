/**
 * A generation is published completely or not at all. The tests make each call of a run to the file
 * system fail, once or from that call on, as on a full disk. After each fault the current generation verifies, and
 * the next run succeeds.
 */

import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { sequenceOf } from '#lib/format/layout.ts';
import { currentId, idsOnDisk } from '#lib/generations/generations.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { IS_FULL, printFigure } from '#test/soak/rounds.ts';
import { finish, makeFolder } from '#test/support/product.ts';
import {
  ageDeadWrites,
  expectCurrentVerifies,
  expectNoDebris,
  expectOneClearLine,
  makeChanging,
  newSnapshots,
  startGenerator,
  statusOf,
} from '#test/support/wholeness.ts';

const PRELOAD = path.join(import.meta.dirname, 'faulty-disk.ts');
/** How many generations are kept, if all are of one day. */
const KEPT = 5;
const CODES = ['EIO', 'ENOSPC', 'EMFILE', 'EROFS'] as const;

interface Fault {
  readonly code: string;
  /** `once`: one call fails. `always`: every later call that writes fails too. */
  readonly lasting: 'once' | 'always';
}

async function makeFailing() {
  const dir = newSnapshots();
  // Three platforms: one is empty, the others have games, covers and files.
  const database = await makeChanging(seededCatalogue({ games: 6, seed: 8, platforms: 3 }));
  // The folder holds as many generations as are kept, so each run also removes one.
  const heal = () => database.publish(dir);
  for (let run = 0; run < KEPT; run++) await heal();
  const log = path.join(makeFolder(), 'faults.log');
  return {
    dir,
    heal,
    /** @returns how the run ended, and the calls that failed: none if it made fewer calls */
    async run(call: number, { code, lasting }: Fault) {
      await database.change();
      rmSync(log, { force: true });
      const ended = await finish(
        startGenerator(database.url, dir, [], {
          NODE_OPTIONS: `--import ${PRELOAD}`,
          FAULT_DIR: dir,
          FAULT_LOG: log,
          FAULT_CALL: String(call),
          FAULT_CODE: code,
          FAULT_LASTING: lasting,
        }),
      );
      return { ended, faults: readIfThere(log) };
    },
  };
}

function readIfThere(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n');
  } catch {
    return [];
  }
}

/** In the quick form, how many calls there are on average from one that fails to the next. */
const STRIDE = 60;

const which = IS_FULL ? 'every fourth call' : 'one of some random calls';

test(`the current generation is complete after ${which} fails`, async () => {
  const random = makeRandom(4);
  const figures = { calls: 0, runs: 0, failed: 0, published: 0 };
  // Collected, so that a failure of this test reports all of them.
  const wrong: string[] = [];

  // In half of the cases all later writes fail too.
  const faultsAt = (call: number): Fault[] => {
    const all = CODES.map(
      (code, index): Fault => ({ code, lasting: (call + index) % 2 === 0 ? 'once' : 'always' }),
    );
    return IS_FULL ? [all[0], all[1 + random.below(3)]] : [random.pick(all)];
  };
  const step = () => (IS_FULL ? 4 : 1 + random.below(2 * STRIDE));
  const failing = await makeFailing();
  const { dir } = failing;

  /** @returns whether the run made that call */
  async function failAt(call: number, fault: Fault): Promise<boolean> {
    const before = currentId(dir);
    const sequence = sequenceOf(idsOnDisk(dir).at(-1) as string);
    const { ended, faults } = await failing.run(call, fault);
    if (faults.length === 0) return false;
    figures.runs++;
    try {
      const after = await expectCurrentVerifies(dir);
      if (ended.code === 0) {
        figures.published++;
        expect(after).not.toBe(before);
      } else {
        figures.failed++;
        // The second call checks SNAPSHOTS_DIR. That is configuration: exit code 2, no status file.
        const isCheck = call === 2;
        expect(expectOneClearLine(ended, isCheck ? 2 : 1)).toContain(fault.code);
        if (fault.lasting === 'once' && after === before && !isCheck) {
          expect(statusOf(dir)).toMatchObject({ outcome: 'failed' });
        }
      }
      // A new generation has a higher sequence than all earlier ones.
      if (after !== before) expect(sequenceOf(after)).toBe(sequence + 1);
    } catch (error) {
      wrong.push(
        `${fault.code} ${fault.lasting} at call ${call}, ${faults[0]}: ${(error as Error).message}\n${ended.stderr}`,
      );
    }
    return true;
  }

  // Until a run makes fewer calls.
  for (let call = 1, wasMade = true; wasMade; call += step()) {
    for (const fault of faultsAt(call)) wasMade = (await failAt(call, fault)) && wasMade;
    const before = currentId(dir);
    ageDeadWrites(dir);
    await failing.heal();
    const what = `after call ${call}`;
    expect(await expectCurrentVerifies(dir), what).not.toBe(before);
    expectNoDebris(dir);
    expect(idsOnDisk(dir), what).toHaveLength(KEPT);
    if (wasMade) figures.calls++;
  }
  expect(wrong).toEqual([]);
  expect(figures.calls).toBeGreaterThan(IS_FULL ? 10 : 1);
  printFigure(
    'A generation is complete or absent',
    `${figures.calls} calls, ${figures.runs} runs with a fault: ${figures.failed} failed, ${figures.published} still published, 0 incomplete`,
  );
});
