/**
 * The rolling window compared with a list of all admitted times, on simulated clocks. The limit is
 * never exceeded, no request below it is refused, and the times in the headers are right.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import { makeRollingWindow, type Quota } from '#proxy/admit/limits/rolling-window.ts';

const SCHEDULES = 1_000;
const MINUTE = 60_000;

/** Pauses between requests: bursts, a steady rate, whole seconds, or about a minute. */
function makePause(random: Random, limit: number): () => number {
  const pauses = [
    () => 0,
    () => random.next() * 50,
    () => (MINUTE / limit) * (0.5 + random.next()),
    () => random.below(10) * 1000,
    () => MINUTE - 1 + random.below(3),
  ];
  const usual = random.pick(pauses);
  return () => (random.happens(0.8) ? usual() : random.pick(pauses)());
}

/** Calculates the quota from the list of all admitted times. */
function referenceQuota(times: readonly number[], limit: number, now: number): Quota {
  const counted = times.filter((time) => now - time < MINUTE);
  const secondsUntilFree = (time: number | undefined) =>
    time === undefined ? 0 : Math.ceil((MINUTE - (now - time)) / 1000);
  return {
    admitted: counted.length < limit,
    limit,
    remaining: Math.max(0, limit - counted.length),
    // `remaining` grows once the oldest has left the window or, if more count than the limit allows, the
    // limit-th newest.
    resetSeconds: secondsUntilFree(counted.at(-limit) ?? counted[0]),
  };
}

/** Compares without calling `expect` each time, which would take many seconds. */
function expectSame(found: Quota, expected: Quota): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) expect(found).toEqual(expected);
}

test(`a window agrees with a list of all admitted times in ${SCHEDULES} schedules`, () => {
  let refused = 0;
  for (let seed = 0; seed < SCHEDULES; seed++) {
    const random = makeRandom(seed);
    let limit = 1 + random.below(random.pick([1, 5, 20, 120]));
    let highest = limit;
    // In some schedules an operator sometimes changes the limit of the key.
    const shareChanges = seed % 4 === 3 ? 0.05 : 0;
    const pause = makePause(random, limit);
    // Half of the windows have just enough room, so that the ring wraps around.
    const window = makeRollingWindow(Math.max(limit, 30) + (seed % 2) * random.below(500));
    const times: number[] = [];
    for (let step = 0, now = random.next() * 1e9; step < 200; step++, now += pause()) {
      if (random.happens(shareChanges)) limit = 1 + random.below(30);
      highest = Math.max(highest, limit);
      const before = referenceQuota(times, limit, now);
      if (random.happens(0.2)) expectSame(window.admit(limit, now, false), before);
      const quota = window.admit(limit, now);
      if (before.admitted) {
        times.push(now);
        const { remaining, resetSeconds } = referenceQuota(times, limit, now);
        expectSame(quota, { admitted: true, limit, remaining, resetSeconds });
      } else {
        expectSame(quota, before);
        if (quota.resetSeconds < 1 || quota.resetSeconds > 60) expect.unreachable('a wrong wait');
        refused++;
      }
    }
    const tooClose = times.filter((time, i) => time - (times[i - highest] ?? -MINUTE) < MINUTE);
    expect(tooClose).toEqual([]);
  }
  expect(refused).toBeGreaterThan(SCHEDULES * 20);
});

test('with a clock that jumps, the limit holds and nobody is blocked forever', () => {
  for (let seed = 0; seed < 300; seed++) {
    const random = makeRandom(seed);
    const limit = 1 + random.below(10);
    const window = makeRollingWindow(limit);
    const readings: number[] = [];
    const admitted: number[] = [];
    for (let step = 0, now = 1e6; step < 300; step++) {
      now += (random.next() - 0.3) * random.pick([10, 5_000, 200_000]);
      readings.push(now);
      if (window.admit(limit, now).admitted) admitted.push(step);
    }
    for (let i = limit; i < admitted.length; i++) {
      const [first, last] = [admitted[i - limit], admitted[i]];
      const latest = Math.max(...readings.slice(first, last + 1));
      if (latest - readings[first] < MINUTE) expect.unreachable('too many at once');
    }
    const later = Math.max(...readings) + MINUTE + 1;
    expect(window.admit(limit, later, false)).toMatchObject({ remaining: limit, resetSeconds: 0 });
  }
});

test('a request on a thread whose clock is slightly behind waits at most 60 seconds', () => {
  const window = makeRollingWindow(2);
  window.admit(2, 1_000);
  expect(window.admit(2, 999.999)).toMatchObject({ admitted: true, resetSeconds: 60 });
  expect(window.admit(2, 999.998, false)).toMatchObject({ resetSeconds: 60 });
});

test('an empty window starts again, even if its clock was set back', () => {
  const window = makeRollingWindow(1);
  window.admit(1, 1e7);
  expect(window.admit(1, 1e7 + MINUTE, false)).toMatchObject({ remaining: 1 });
  expect(window.lastAdmitted()).toBe(1e7);
  expect(window.admit(1, 1e6)).toMatchObject({ admitted: true });
  expect(window.admit(1, 1e6 + MINUTE - 1)).toMatchObject({ admitted: false });
  expect(window.admit(1, 1e6 + MINUTE)).toMatchObject({ admitted: true });
});

test('simultaneous threads admit exactly the limit', async () => {
  const LIMIT = 20_000;
  const window = makeRollingWindow(LIMIT);
  const code = `
    const { workerData, parentPort } = require('node:worker_threads');
    import(workerData.module).then(({ RollingWindow }) => {
      const window = new RollingWindow(workerData.memory);
      let admitted = 0;
      for (let i = 0; i < ${LIMIT}; i++) {
        if (window.admit(${LIMIT}, 1000 + i / 1000).admitted) admitted++;
      }
      parentPort.postMessage(admitted);
    });`;
  const module = new URL('../../../../proxy/admit/limits/rolling-window.ts', import.meta.url).href;
  const workerData = { module, memory: window.memory };
  const workers = Array.from({ length: 4 }, () => new Worker(code, { eval: true, workerData }));
  const counts = await Promise.all(workers.map((worker) => once(worker, 'message')));
  expect(counts.reduce((sum, [count]) => sum + Number(count), 0)).toBe(LIMIT);
  expect(window.admit(LIMIT, 1000, false)).toMatchObject({ remaining: 0 });
});
