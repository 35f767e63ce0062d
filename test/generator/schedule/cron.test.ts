/** Runs start at the times of GENERATE_CRON, whatever the clocks of the zone do. */
import { afterEach, expect, test, vi } from 'vitest';
import { startAt } from '#generator/schedule/cron.ts';

const zone = process.env.TZ;
afterEach(() => {
  vi.useRealTimers();
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

test.each([
  ['America/New_York', '2026-03-08T07:00:00Z'],
  ['America/New_York', '2026-11-01T06:00:00Z'],
  ['Europe/London', '2026-03-29T01:00:00Z'],
  ['Europe/London', '2026-10-25T01:00:00Z'],
  ['Australia/Melbourne', '2026-04-04T16:00:00Z'],
  ['Australia/Melbourne', '2026-10-03T16:00:00Z'],
])('a run starts every ten minutes while the clocks of %s change at %s', async (name, change) => {
  process.env.TZ = name;
  const time = Date.parse(change);
  const hours = [-1, 1].map((seconds) => new Date(time + seconds * 1_000).getHours());
  expect((hours[1] - hours[0] + 24) % 24).not.toBe(1);
  vi.useFakeTimers({ now: time - 75_000 });
  const starts: number[] = [];
  const task = startAt('*/10 * * * *', async () => starts.push(Date.now()));
  await vi.advanceTimersByTimeAsync(2 * 3_600_000);
  await task.stop();
  expect(starts).toEqual(Array.from({ length: 12 }, (_, i) => time + i * 600_000));
});
