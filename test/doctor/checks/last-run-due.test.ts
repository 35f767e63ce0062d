/** When GENERATE_CRON should have started a run. */
import { expect, test } from 'vitest';
import { lastRunDue } from '../../../doctor/checks/publishing.ts';

test.each([
  ['*/15 * * * *', '2026-03-02T11:50:00Z', '2026-03-02T12:07:30Z', '2026-03-02T12:00:00.000Z'],
  // Neither the first time nor any after the last.
  ['*/15 * * * *', '2026-03-02T12:00:00Z', '2026-03-02T12:14:59Z', undefined],
  // At night, on working days: 28 February 2026 is a Saturday.
  ['0 3 * * 1-5', '2026-02-27T03:01:00Z', '2026-03-02T02:59:00Z', undefined],
  ['0 3 * * 1-5', '2026-02-27T03:01:00Z', '2026-03-02T12:00:00Z', '2026-03-02T03:00:00.000Z'],
  ['30 0 3 * * *', '2026-03-02T00:00:00Z', '2026-03-02T04:00:00Z', '2026-03-02T03:00:30.000Z'],
  // With seconds, also weeks ago; 23 February 2026 is a Monday.
  ['15,45 0 3 * * 1', '2026-02-01T00:00:00Z', '2026-03-01T12:00:00Z', '2026-02-23T03:00:45.000Z'],
  ['15,45 0 3 * * *', '2026-03-01T12:00:00Z', '2026-03-02T03:00:44Z', '2026-03-02T03:00:15.000Z'],
  ['*/10 * * * * *', '2026-03-02T12:00:00Z', '2026-03-02T12:00:09Z', undefined],
  ['off', '2026-01-01T00:00:00Z', '2026-03-02T00:00:00Z', undefined],
])('%s, after %s until %s: %s', (cron, from, to, expected) => {
  const due = lastRunDue(cron, Date.parse(from), Date.parse(to));
  expect(due === undefined ? undefined : new Date(due).toISOString()).toBe(expected);
});
