/**
 * A generation is whole or not there: each call of a run to the file system is made to fail in turn,
 * on either thread, once or from then on, and the disk is really full. `current` verifies every
 * time, and the next run heals.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { currentId, idsOnDisk } from '../../store/generations/generations.ts';
import { KEPT_GENERATIONS } from '../../store/prune.ts';
import { makeRandom } from '../catalogue/random.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { generate, makeFolder } from '../support/product.ts';
import { IS_SOAK, printFigure, rounds } from '../support/rounds.ts';
import { freeKilobytes, mountSmallDisk } from '../support/small-disk.ts';
import {
  expectCurrentVerifies,
  expectNoDebris,
  expectOneClearLine,
  finishInTime,
  makeChanging,
  newSnapshots,
  SETTINGS,
  startGenerator,
  statusOf,
} from '../support/wholeness.ts';

const PRELOAD = path.join(import.meta.dirname, 'faulty-disk.ts');
const CODES = ['EIO', 'ENOSPC', 'EMFILE', 'EROFS'] as const;

// Three platforms: one of them is empty, and the others have all there is.
const smallCatalogue = () => seededCatalogue({ games: 6, seed: 8, platforms: 3 });

interface Way {
  readonly code: string;
  /** `once`: the one call fails. `good`: so does every later one that writes. */
  readonly lasting: 'once' | 'good';
}

async function makeFailing(thread: string) {
  const dir = newSnapshots();
  const database = await makeChanging(smallCatalogue());
  // As many as are kept: each run removes one, too.
  for (let run = 0; run < KEPT_GENERATIONS; run++) {
    await database.change();
    await generate(database.url, dir);
  }
  const log = path.join(makeFolder(), 'faults.log');
  return {
    dir,
    /** @returns what failed, none when the run made fewer calls, and how it ended */
    async run(call: number, { code, lasting }: Way) {
      await database.change();
      rmSync(log, { force: true });
      const ended = await finishInTime(
        startGenerator(database.url, dir, [], {
          NODE_OPTIONS: `--import ${PRELOAD}`,
          FAULT_DIR: dir,
          FAULT_LOG: log,
          FAULT_THREAD: thread,
          FAULT_CALL: String(call),
          FAULT_CODE: code,
          FAULT_FOR: lasting,
        }),
      );
      return { ended, faults: readIfThere(log) };
    },
    async heal() {
      await database.change();
      await generate(database.url, dir);
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

describe.each([
  ['main', 60],
  ['second', 20],
] as const)('on the %s thread', (thread, stride) => {
  const called = IS_SOAK ? 'each call' : 'a call here and there';
  test(`${called} that fails leaves a whole generation`, { timeout: 7_200_000 }, async () => {
    const random = makeRandom(4);
    const figures = { calls: 0, runs: 0, failed: 0, published: 0 };
    // All of them are worth knowing.
    const wrong: string[] = [];

    // Each call meets each code; every other time the disk stays bad after it.
    const ways = (call: number): Way[] => {
      const all = CODES.map(
        (code, place): Way => ({ code, lasting: (call + place) % 2 === 0 ? 'once' : 'good' }),
      );
      return IS_SOAK ? all : [random.pick(all)];
    };

    /** Calls of one number after another, until there is none of that number. */
    async function failInTurn(first: number, next: () => number): Promise<void> {
      const failing = await makeFailing(thread);
      const { dir } = failing;

      /** @returns whether there was such a call */
      async function failAt(call: number, way: Way): Promise<boolean> {
        const before = currentId(dir);
        const sequence = Number(idsOnDisk(dir).at(-1)?.split('-')[0]);
        const { ended, faults } = await failing.run(call, way);
        if (faults.length === 0) return false;
        figures.runs++;
        try {
          const after = await expectCurrentVerifies(dir);
          if (ended.code === 0) {
            figures.published++;
            expect(after).not.toBe(before);
          } else {
            figures.failed++;
            // The first call checks SNAPSHOTS_DIR, which is configuration: exit code 2, and no status.
            const isCheck = thread === 'main' && call === 1;
            expect(expectOneClearLine(ended, isCheck ? 2 : 1)).toContain(way.code);
            if (way.lasting === 'once' && after === before && !isCheck) {
              expect(statusOf(dir)).toMatchObject({ outcome: 'failed' });
            }
          }
          // What is new is newer than all that was there.
          if (after !== before) expect(Number(after.split('-')[0])).toBe(sequence + 1);
        } catch (error) {
          wrong.push(
            `${way.code} ${way.lasting} at call ${call}, ${faults[0]}: ${(error as Error).message}\n${ended.stderr}`,
          );
        }
        return true;
      }

      for (let call = first, isThere = true; isThere; call += next()) {
        for (const way of ways(call)) isThere = (await failAt(call, way)) && isThere;
        const before = currentId(dir);
        await failing.heal();
        const what = `after call ${call} of the ${thread} thread`;
        expect(await expectCurrentVerifies(dir), what).not.toBe(before);
        expectNoDebris(dir);
        expect(idsOnDisk(dir), what).toHaveLength(KEPT_GENERATIONS);
        if (isThere) figures.calls++;
      }
    }

    const step = () => 1 + random.below(2 * stride);
    if (IS_SOAK) await Promise.all([failInTurn(1, () => 2), failInTurn(2, () => 2)]);
    else await failInTurn(1, step);
    expect(wrong).toEqual([]);
    expect(figures.calls).toBeGreaterThan(rounds(1, 50));
    printFigure(
      `A generation is whole or not there (${thread} thread)`,
      `${figures.calls} calls, ${figures.runs} runs with a fault: ${figures.failed} failed, ${figures.published} published all the same, 0 torn`,
    );
  });
});

test('a disk that is really full: exit 1, one clear line, and the old generation stays', {
  timeout: 1_800_000,
}, async ({ skip }) => {
  const disk = await mountSmallDisk(8 * 1024);
  if (disk === undefined) return skip('this machine does not let us mount a disk');
  try {
    const dir = path.join(disk.root, 'snapshots');
    const ballast = path.join(disk.root, 'ballast');
    const database = await makeChanging(seededCatalogue({ games: 200, seed: 8, platforms: 3 }));
    const publishes = async () => {
      const { code, stderr } = await disk.run('generator/cli/main.ts', [], {
        DATABASE_URL: database.url,
        ...SETTINGS,
      });
      expect(code, stderr).toBe(0);
    };
    await publishes();
    // Enough to write the next generation, with what waits in the meantime.
    const size = execFileSync('du', ['-sk', dir], { encoding: 'utf8' }).split('\t')[0];
    const enough = 2 * Number(size);
    const random = makeRandom(9);
    const figures = { failed: 0, published: 0 };
    const RUNS = rounds(4, 100);
    for (let run = 0; run < RUNS; run++) {
      const before = currentId(dir);
      await database.change();
      // From a disk that is full from the start to one that is nearly large enough.
      const left = Math.floor(((run + random.next()) / RUNS) * enough);
      writeFileSync(ballast, Buffer.alloc(Math.max(0, freeKilobytes(disk.root) - left) * 1024));
      const ended = await disk.run('generator/cli/main.ts', [], {
        DATABASE_URL: database.url,
        ...SETTINGS,
      });
      const what = `with ${left} KiB left\n${ended.stderr}`;
      const after = await expectCurrentVerifies(dir);
      if (ended.code === 0) {
        figures.published++;
        expect(after, what).not.toBe(before);
      } else {
        figures.failed++;
        expect(expectOneClearLine(ended), what).toContain('ENOSPC');
      }
      rmSync(ballast);
      await database.change();
      await publishes();
      expect(await expectCurrentVerifies(dir), what).not.toBe(before);
      expectNoDebris(dir);
    }
    expect(readdirSync(disk.root)).toEqual(['snapshots']);
    expect(figures.failed).toBeGreaterThan(0);
    printFigure(
      'A generation is whole or not there (a full disk)',
      `${RUNS} runs on a disk that fills up: ${figures.failed} failed, ${figures.published} had room enough, 0 torn`,
    );
  } finally {
    await disk.unmount();
  }
});
