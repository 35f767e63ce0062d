/** What operators see of the use of keys. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { dayOf } from '#lib/format/key-usage-file.ts';
import { KINDS } from '#test/support/databases.ts';
import { runKeys } from '#test/support/product.ts';
import { openKeyTables } from './keys-database.ts';

// The day must not end meanwhile.
const NOW = Date.parse('2026-03-04T05:06:07Z');
beforeAll(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW });
});
afterAll(() => {
  vi.useRealTimers();
});

describe.each(KINDS)('keys usage on a %s database', (kind) => {
  let database: Awaited<ReturnType<typeof openKeyTables>>;
  const keys = (...words: string[]) => runKeys(database.url, words);
  const [longAgo, yesterday, today] = [-40, -1, 0].map((days) => dayOf(NOW, days));

  beforeEach(async () => {
    database = await openKeyTables(kind);
    for (const purpose of ['one', 'two', 'three', 'never used']) {
      await keys('issue', '--note', purpose);
    }
    for (const [key, day, run, requests, refused] of [
      [1, longAgo, 'a', 7, 0],
      [1, yesterday, 'a', 10, 0],
      [1, today, 'a', 20, 1],
      // Another run of a proxy.
      [1, today, 'b', 3, 2],
      [2, today, 'a', 5, 4_000],
      [3, yesterday, 'a', 5, 0],
      [99, today, 'a', 1_000_000, 0],
    ] as const) {
      const row = [key, day, run, requests, refused];
      await database.run('INSERT INTO key_usage VALUES (?, ?, ?, ?, ?)', row);
    }
  });

  it('shows each day of a key, and the total', async () => {
    expect((await keys('usage', '1')).stdout).toBe(
      [
        'DAY         REQUESTS  429',
        `${yesterday}  10        0`,
        `${today}  23        3`,
        'total       33        3',
        '',
      ].join('\n'),
    );
    const json = JSON.parse((await keys('usage', '1', '--days', '1', '--json')).stdout);
    expect(json).toEqual([{ day: today, requests: 23, refused: 3 }]);
    const all = JSON.parse((await keys('usage', '1', '--days', '400', '--json')).stdout);
    expect(all.map((each: { day: string }) => each.day)).toEqual([longAgo, yesterday, today]);
  });

  it('of all keys shows first which one sends the most requests, even if they are refused', async () => {
    const { stdout } = await keys('usage', '--days', '2');
    expect(stdout.split('\n').map((line) => line.split(/ +/).slice(0, 4))).toEqual([
      ['ID', 'ACCOUNT', 'REQUESTS', '429'],
      ['2', '-', '5', '4000'],
      ['1', '-', '33', '3'],
      ['3', '-', '5', '0'],
      [''],
    ]);
    const json = JSON.parse((await keys('usage', '--days', '1', '--json')).stdout);
    expect(json[0]).toEqual({
      key_id: 2,
      account_id: null,
      purpose: 'two',
      requests: 5,
      refused: 4_000,
    });
    expect(json).toHaveLength(2);
  });

  it('of a key without use is empty, and that of a key that does not exist is refused', async () => {
    expect(await keys('usage', '4', '--json')).toMatchObject({ code: 0, stdout: '[]\n' });
    const { code, stdout, stderr } = await keys('usage', '99');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('There is no key 99.');
  });
});
