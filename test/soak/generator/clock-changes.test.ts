/** The schedule goes on while the clocks of its machine change, as a program under libfaketime. */
import { expect, test } from 'vitest';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { until } from '#test/soak/support/until.ts';
import { startLogged } from '#test/support/product.ts';

test.each([
  ['America/New_York', '2026-03-08T07:00:00Z'],
  ['America/New_York', '2026-11-01T06:00:00Z'],
  ['Europe/London', '2026-03-29T01:00:00Z'],
  ['Europe/London', '2026-10-25T01:00:00Z'],
])('runs follow each other when the clocks of %s change at %s', async (zone, change) => {
  const time = Date.parse(change);
  const offset = Math.round((time - 30_000 - Date.now()) / 1000);
  const variables = {
    ...{ DATABASE_URL: await makeSampleSqlite(), SNAPSHOTS_DIR: await makeSampleSnapshots() },
    ...{ TZ: zone, GENERATE_CRON: '*/10 * * * * *', CHANGE_POLL_SECONDS: '0' },
    // Not the command `faketime`: it does not pass on signals.
    LD_PRELOAD: '/usr/$LIB/faketime/libfaketimeMT.so.1',
    ...{ FAKETIME: `${offset}s`.replace(/^\d/, '+$&'), FAKETIME_DONT_FAKE_MONOTONIC: '1' },
  };
  const schedule = startLogged('schedule', [], variables);
  /** When runs ended, in seconds after the change. */
  const runs = () =>
    schedule
      .log()
      .split('\n')
      .filter((line) => line.includes('"msg":"generated"'))
      .map((line) => (JSON.parse(line).time - time) / 1000);
  const { time: started } = JSON.parse(await schedule.logged('"msg":"scheduled"'));
  expect(started).toBeLessThan(time);
  await until(() => runs().some((seconds) => seconds > 20));
  expect(await schedule.stop()).toBe(0);
});
