/** Key usage: from the windows and counts of the proxy to its file. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  encodeKeyUsage,
  parseKeyUsage,
  type ReportedUsage,
  type Usage,
} from '#lib/format/key-usage-file.ts';
import { keyUsageFile, PROXY_FOLDER } from '#lib/format/layout.ts';
import { makeKeyTable } from '#proxy/admit/keys/key-table.ts';
import { makeUsageReport } from '#proxy/admit/keys/report-key-usage.ts';
import { makeRollingWindow } from '#proxy/admit/limits/rolling-window.ts';
import { makeFolder } from '#test/support/product.ts';

const PORT = 8080;
const NAME = keyUsageFile(PORT);
const DAY_MS = 24 * 3600 * 1000;
const RUN = '0123456789abcdef';
const NOON = Date.parse('2026-03-01T12:00:00Z');

describe('the file', () => {
  test('has the counts of each key and the second of its last use, in the order of their ids', () => {
    const keys = new Map([
      [12, { requests: 5, refused: 1, lastSecond: 86_399 }],
      [7, { requests: 0, refused: 3 }],
    ]);
    const counts = [{ run: RUN, day: '2026-03-01', keys }];
    const text = encodeKeyUsage(counts);
    expect(text).toBe(
      `{"version":2,"counts":[
{"run":"0123456789abcdef","day":"2026-03-01","keys":[[7,0,3],[12,5,1,86399]]}
]}
`,
    );
    expect(parseKeyUsage(text, NAME)).toEqual(counts);
    expect(parseKeyUsage(encodeKeyUsage([]), NAME)).toEqual([]);
  });

  test('is read as version 1.0 wrote it, without the answers with 304 and the bytes', () => {
    const text = `{"version":1,"counts":[
{"run":"0123456789abcdef","day":"2026-03-01","keys":[[7,0,0,3,0],[12,5,4,1,900,86399]]}
]}
`;
    const keys = new Map([
      [7, { requests: 0, refused: 3, lastSecond: undefined }],
      [12, { requests: 5, refused: 1, lastSecond: 86_399 }],
    ]);
    expect(parseKeyUsage(text, NAME)).toEqual([{ run: RUN, day: '2026-03-01', keys }]);
  });

  test.each([
    ['{"version":2,"counts":[', 'key-usage-8080.json is damaged: it is not JSON.'],
    [
      '{"version":3,"counts":[]}',
      'key-usage-8080.json has version 3; this program reads version 2.',
    ],
    ['null', 'it is not an object'],
    ['{"version":2,"counts":{}}', '"counts" is {}'],
    [
      `{"version":1,"counts":[{"run":"${RUN}","day":"2026-03-01","keys":[[1,2,3]]}]}`,
      '"counts" is [',
    ],
    ...[
      null,
      { run: RUN, day: '2026-03-01' },
      { run: 'x', day: '2026-03-01', keys: [] },
      { run: RUN, day: 'today', keys: [] },
      { run: RUN, day: '2026-03-01', keys: [[1, 2, -3]] },
      { run: RUN, day: '2026-03-01', keys: [[1, 2, '3']] },
      { run: RUN, day: '2026-03-01', keys: [[1, 2, 3, 86_400]] },
    ].map((entry) => [JSON.stringify({ version: 2, counts: [entry] }), '"counts" is [']),
  ])('is refused if it is %s', (text, fault) => {
    expect(() => parseKeyUsage(text, NAME)).toThrow(fault);
  });
});

/** Writes key usage like a proxy with two threads, with a clock that the test sets. */
function makeReporter(snapshotsDir: string, ids: readonly number[]) {
  const tables = [makeKeyTable(), makeKeyTable()];
  const clock = { wall: NOON };
  const { write } = makeUsageReport(
    snapshotsDir,
    PORT,
    async () => tables.map((table) => table.takeUsage()),
    () => clock.wall,
  );
  const setKeys = (ids: readonly number[]) => {
    const { memory: window } = makeRollingWindow(1);
    for (const { replace } of tables) {
      replace(ids.map((id) => ({ id, hash: `${id}`, state: 'approved', limit: 1, window })));
    }
  };
  setKeys(ids);
  return {
    write,
    clock,
    setKeys,
    /** Counts what a request of a key uses, in one of the threads. */
    count(id: number, use: keyof Usage = 'requests', amount = 1, thread = 0) {
      const { usage } = tables[thread]?.byHash(`${id}`) ?? {};
      if (usage !== undefined) usage[use] += amount;
    },
  };
}

const fileIn = (snapshotsDir: string) => path.join(snapshotsDir, PROXY_FOLDER, NAME);
const reportIn = (snapshotsDir: string) =>
  parseKeyUsage(readFileSync(fileIn(snapshotsDir), 'utf8'), NAME);
/** The days on which each key was used. */
const daysIn = (snapshotsDir: string) =>
  reportIn(snapshotsDir)
    .flatMap(({ day, keys }) =>
      [...keys].flatMap(([id, { requests }]) => (requests > 0 ? [`${id} ${day}`] : [])),
    )
    .sort();

describe('the proxy', () => {
  test('writes its file only if a key was used', async () => {
    const dir = makeFolder();
    const { write, count, clock } = makeReporter(dir, [1, 2]);
    expect(await write()).toBe(false);
    expect(existsSync(fileIn(dir))).toBe(false);
    count(1);
    expect(await write()).toBe(true);
    expect(daysIn(dir)).toEqual(['1 2026-03-01']);
    expect(await write()).toBe(false);
    clock.wall += DAY_MS;
    count(1, 'refused');
    count(2);
    expect(await write()).toBe(true);
    expect(daysIn(dir)).toEqual(['1 2026-03-01', '2 2026-03-02']);
  });

  test('reports that it cannot write, and tries again', async () => {
    const dir = makeFolder();
    const { write, count } = makeReporter(dir, [1]);
    count(1);
    const folder = path.join(dir, PROXY_FOLDER);
    writeFileSync(folder, 'in the way');
    for (let i = 0; i < 2; i++)
      await expect(write()).rejects.toThrow(`Cannot write to ${folder}: `);
    rmSync(folder);
    expect(await write()).toBe(true);
  });

  test('waits for the snapshots folder and does not create it', async () => {
    const dir = path.join(makeFolder(), 'absent');
    const { write, count } = makeReporter(dir, [1]);
    count(1);
    expect(await write()).toBe(false);
    expect(existsSync(dir)).toBe(false);
    mkdirSync(dir);
    expect(await write()).toBe(true);
    expect(daysIn(dir)).toEqual(['1 2026-03-01']);
  });
});

describe('the counts in the file', () => {
  /** For each day, what each run has counted for a key. */
  const countsOf = (snapshotsDir: string, id: number) =>
    reportIn(snapshotsDir).map(({ day, keys }) => [day, keys.get(id)]);
  const used = (requests: number, more: Partial<ReportedUsage> = {}) => ({
    requests,
    refused: 0,
    // All tests but one run at noon.
    lastSecond: requests > 0 ? 12 * 3600 : undefined,
    ...more,
  });

  test('are the sums of all threads', async () => {
    const dir = makeFolder();
    const { write, count } = makeReporter(dir, [1, 2]);
    count(1, 'requests', 3, 0);
    count(1, 'requests', 4, 1);
    count(1, 'refused', 2 ** 40, 0);
    count(1, 'refused', 1, 1);
    await write();
    const sums = used(7, { refused: 2 ** 40 + 1 });
    expect(countsOf(dir, 1)).toEqual([['2026-03-01', sums]]);
    expect(countsOf(dir, 2)).toEqual([['2026-03-01', undefined]]);
  });

  test('have the time at which requests were last found', async () => {
    const dir = makeFolder();
    const { write, count, clock } = makeReporter(dir, [1]);
    clock.wall += 61_999;
    count(1);
    await write();
    clock.wall += 60_000;
    count(1, 'refused');
    await write();
    expect(countsOf(dir, 1)).toEqual([['2026-03-01', used(1, { refused: 1, lastSecond: 43_261 })]]);
  });

  test('belong to the day on which they were read, and are kept for eight days', async () => {
    const dir = makeFolder();
    const { write, count, clock } = makeReporter(dir, [1]);
    for (let day = 1; day <= 10; day++) {
      count(1, 'requests', day);
      await write();
      clock.wall += DAY_MS / 2;
      count(1, 'refused', day, 1);
      await write();
      clock.wall += DAY_MS / 2;
    }
    const days = countsOf(dir, 1);
    expect(days).toHaveLength(8);
    expect(days[0]).toEqual(['2026-03-04', used(4, { refused: 3 })]);
    expect(days.at(-1)).toEqual(['2026-03-11', used(0, { refused: 10 })]);
  });

  test('of each run are kept apart, and survive other runs with the same file', async () => {
    const dir = makeFolder();
    const first = makeReporter(dir, [1]);
    first.count(1, 'requests', 5);
    await first.write();
    const second = makeReporter(dir, [1]);
    expect(await second.write()).toBe(false);
    second.count(1, 'requests', 7);
    await second.write();
    first.count(1);
    await first.write();
    // Each run writes its own counts last.
    expect(countsOf(dir, 1)).toEqual([
      ['2026-03-01', used(7)],
      ['2026-03-01', used(6)],
    ]);
    for (const lost of ['damaged', encodeKeyUsage([])]) {
      writeFileSync(fileIn(dir), lost);
      expect(await second.write()).toBe(true);
      expect(countsOf(dir, 1)).toContainEqual(['2026-03-01', used(7)]);
    }
    // The older run is dropped once there are eight later days.
    for (let day = 1; day <= 8; day++) {
      second.clock.wall += DAY_MS;
      second.count(1);
      await second.write();
    }
    const days = countsOf(dir, 1);
    expect([days.length, days[0]]).toEqual([8, ['2026-03-02', used(1)]]);
  });

  test('do not jump if a key is deleted and comes back, and stay if the clock is wrong for a while', async () => {
    const dir = makeFolder();
    const { write, count, setKeys, clock } = makeReporter(dir, [1]);
    count(1, 'requests', 5);
    await write();
    setKeys([]);
    setKeys([1]);
    count(1, 'requests', 2);
    await write();
    expect(countsOf(dir, 1)).toEqual([['2026-03-01', used(7)]]);
    clock.wall = NOON + 3650 * DAY_MS;
    count(1, 'requests', 3);
    await write();
    clock.wall = NOON;
    count(1, 'requests', 4);
    await write();
    expect(countsOf(dir, 1)).toContainEqual(['2026-03-01', used(11)]);
    clock.wall = NOON - 20_000 * DAY_MS;
    await write();
    expect(countsOf(dir, 1)).toContainEqual(['2026-03-01', used(11)]);
  });
});
