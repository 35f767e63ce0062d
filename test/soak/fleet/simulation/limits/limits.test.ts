/**
 * The shared limits against a simulated store, network and clocks: exact as long as the store answers,
 * and never above what LIMITS_FAILURE promises without it. A failing seed can be repeated alone:
 *
 *     SEED=4711 npx vitest run test/soak/fleet/simulation/limits/limits.test.ts
 */
import { expect, test } from 'vitest';
import { IS_FULL, printFigure, rounds } from '../../../rounds.ts';
import { OUTAGE_MINUTES, runSchedule, type ScheduleOptions } from './schedule.ts';

const FIRST = Number(process.env.SEED ?? 1);
const IS_ONE = process.env.SEED !== undefined;

async function runAll(count: number, optionsOf: (seed: number) => Omit<ScheduleOptions, 'seed'>) {
  const sums = { byStore: 0, locally: 0, refused: 0, faults: 0 };
  for (let seed = FIRST; seed < FIRST + (IS_ONE ? 1 : count); seed++) {
    const { violations, faults, byStore, locally, refused } = await runSchedule({
      ...optionsOf(seed),
      seed,
    });
    expect({ seed, violations, faults: violations.length > 0 ? faults : [] }).toEqual({
      seed,
      violations: [],
      faults: [],
    });
    sums.byStore += byStore;
    sums.locally += locally;
    sums.refused += refused;
    sums.faults += faults.length;
  }
  return sums;
}

test.each([2, 4, 8])(
  'a limit of 120 over %i proxies is exact, with 20 keys and random load',
  async (proxies) => {
    const sums = await runAll(rounds(1, 3), () => ({
      failure: 'refuse',
      minutes: IS_FULL ? 10 : 2,
      proxies,
      keys: 20,
      limit: 120,
      faults: 'none',
    }));
    expect(sums.byStore).toBeGreaterThan(2_000);
    expect(sums.refused).toBeGreaterThan(100);
    expect(sums.locally).toBe(0);
  },
);

test.each(['local', 'refuse'] as const)(
  'for an hour without the store, the fleet keeps what LIMITS_FAILURE=%s promises, and then recovers',
  async (failure) => {
    const sums = await runAll(rounds(1, 3), (seed) => ({
      failure,
      minutes: OUTAGE_MINUTES,
      proxies: 2 + (seed % 7),
      keys: 2,
      limit: 12,
      faults: 'outage',
    }));
    expect(sums.byStore).toBeGreaterThan(20);
    if (failure === 'local') expect(sums.locally).toBeGreaterThan(500);
    else expect(sums.locally).toBe(0);
  },
);

test.each(['local', 'refuse'] as const)(
  'with faults, the fleet keeps what LIMITS_FAILURE=%s promises',
  async (failure) => {
    const count = rounds(25, 1_000);
    const sums = await runAll(count, (seed) => ({
      failure,
      minutes: 4,
      proxies: 1 + (seed % 8),
      keys: 2,
      limit: 4 + (seed % 17),
      faults: 'random',
    }));
    if (!IS_ONE) {
      expect(sums.faults).toBeGreaterThan(count);
      expect(sums.refused).toBeGreaterThan(count);
    }
    printFigure(
      'shared limits',
      `${count} schedules with ${failure}: ${sums.faults} faults, ${sums.byStore} requests admitted by the store, ${sums.locally} locally, ${sums.refused} refused`,
    );
  },
);
