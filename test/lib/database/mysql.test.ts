/** What is decided about the answers of a server, without one. */
import { expect, test } from 'vitest';
import { changeMarkOf } from '#lib/database/mysql.ts';

test('the mark of a commit changes once more when it is two seconds old', async () => {
  const markAfter = (secondsAgo: number) =>
    changeMarkOf({ rows: async () => [['t', '2026-01-02 03:04:05', secondsAgo]] }, ['t']);
  const recent = await markAfter(0);
  const old = await markAfter(2);
  expect(old).not.toBe(recent);
  expect([await markAfter(1), await markAfter(100)]).toEqual([recent, old]);
});
