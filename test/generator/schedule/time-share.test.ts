/** Polls take at most a tenth of the time in the long run, and one slow poll delays nothing. */
import { expect, test } from 'vitest';
import { makeTimeShare } from '../../../generator/schedule/poll-changes.ts';

/** Polls `count` times, at least every two seconds. @returns how long each pause was, in milliseconds */
function pausesOf(durations: readonly number[]): number[] {
  let time = 0;
  const share = makeTimeShare(() => time);
  return durations.map((milliseconds) => {
    time += milliseconds;
    share.use(milliseconds);
    const pause = Math.max(2_000, share.pause());
    time += pause;
    return pause;
  });
}

test('a slow poll now and then is followed by the usual pause', () => {
  const durations = Array.from({ length: 300 }, (_, i) => (i % 20 === 0 ? 1_500 : 1));
  expect(new Set(pausesOf(durations))).toEqual(new Set([2_000]));
});

test('polls that are always slow take a tenth of the time', () => {
  const durations = Array.from({ length: 300 }, () => 500);
  const paused = pausesOf(durations).reduce((sum, pause) => sum + pause, 0);
  const polled = 300 * 500;
  // At the start, two seconds are saved up.
  expect((polled - 2_000) / (polled + paused)).toBeCloseTo(1 / 10, 3);
});
