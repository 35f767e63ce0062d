/** How long a poll waits after failures. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { poll } from '#lib/program/poll.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the pause doubles with each failure, to five seconds, until the work succeeds', async () => {
  const starts: number[] = [];
  let isFailing = true;
  const work = async () => {
    starts.push(performance.now());
    if (isFailing) throw new Error('no reply');
  };
  const polling = poll(work, 1_000, () => {});
  await polling.run();
  await vi.advanceTimersByTimeAsync(16_000);
  isFailing = false;
  await vi.advanceTimersByTimeAsync(6_000);
  await polling.stop();
  const pauses = starts.slice(1).map((start, at) => Math.round(start - (starts[at] ?? 0)));
  expect(pauses).toEqual([2_000, 4_000, 5_000, 5_000, 5_000, 1_000]);
});
