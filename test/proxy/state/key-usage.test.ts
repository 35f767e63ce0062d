/** Key usage: from the windows and counts of the proxy to its file. */
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { encodeKeyUsage, parseKeyUsage } from '../../../format/key-usage.ts';
import { keyUsageFile, PROXY_FOLDER, UNFINISHED_PREFIX } from '../../../format/layout.ts';
import {
  countUse,
  dayNumber,
  newUseCounts,
  USE,
  useCountsOf,
} from '../../../proxy/keys/use-counts.ts';
import { makeRollingWindow } from '../../../proxy/limits/rolling-window.ts';
import { makeInstanceFiles } from '../../../proxy/state/instance-files.ts';
import { makeKeyUsage } from '../../../proxy/state/key-usage.ts';
import { makeFolder } from '../../support/product.ts';

const NAME = keyUsageFile(8080);
const THREADS = 2;
const DAY_MS = 24 * 3600 * 1000;
const RUN = '0123456789abcdef';
const NOON = Date.parse('2026-03-01T12:00:00Z');

describe('the file', () => {
  test('contains days and counts of each key, in the order of their ids', () => {
    const days = new Map([
      [12, '2026-03-01'],
      [7, '2026-02-28'],
    ]);
    const keys = new Map([
      [12, { requests: 5, notModified: 2, refused: 1, bytes: 678 }],
      [7, { requests: 0, notModified: 0, refused: 3, bytes: 96 }],
    ]);
    const report = { days, counts: [{ run: RUN, day: '2026-03-01', keys }] };
    const text = encodeKeyUsage(report);
    expect(text).toBe(
      `{"version":1,"keys":[
{"id":7,"day":"2026-02-28"},
{"id":12,"day":"2026-03-01"}
],"counts":[
{"run":"0123456789abcdef","day":"2026-03-01","keys":[[7,0,0,3,96],[12,5,2,1,678]]}
]}
`,
    );
    expect(parseKeyUsage(text, NAME)).toEqual(report);
    const nothing = { days: new Map(), counts: [] };
    expect(parseKeyUsage(encodeKeyUsage(nothing), NAME)).toEqual(nothing);
  });

  test('of an older version has no counts', () => {
    const text = '{"version":1,"keys":[{"id":7,"day":"2026-02-28"}]}';
    expect(parseKeyUsage(text, NAME)).toEqual({ days: new Map([[7, '2026-02-28']]), counts: [] });
  });

  test.each([
    ['{"version":1,"keys":[', 'key-usage-8080.json is damaged: it is not JSON.'],
    ['{"version":2,"keys":[]}', 'key-usage-8080.json has version 2; this program reads version 1.'],
    ['null', 'it is not an object'],
    ['{"version":1}', '"keys" is not a list'],
    ['{"version":1,"keys":[{"id":1,"day":"2026-01-01"},null]}', 'entry 2 is not a day of a key'],
    ['{"version":1,"keys":[{"id":1,"day":"\' OR 1=1"}]}', 'entry 1 is not a day of a key'],
    ['{"version":1,"keys":[{"id":"1","day":"2026-01-01"}]}', 'entry 1 is not a day of a key'],
    ['{"version":1,"keys":[],"counts":{}}', '"counts" is not a list'],
    ...[
      null,
      { run: RUN, day: '2026-03-01' },
      { run: 'x', day: '2026-03-01', keys: [] },
      { run: RUN, day: 'today', keys: [] },
      { run: RUN, day: '2026-03-01', keys: [[1, 2, 3, 4]] },
      { run: RUN, day: '2026-03-01', keys: [[1, 2, 3, 4, -5]] },
      { run: RUN, day: '2026-03-01', keys: [[1, 2, 3, 4, '5']] },
    ].map((entry) => [
      JSON.stringify({ version: 1, keys: [], counts: [entry] }),
      'entry 1 of "counts" is not the use of a day',
    ]),
  ])('is refused if it is %s', (text, fault) => {
    expect(() => parseKeyUsage(text, NAME)).toThrow(fault);
  });
});

/** Writes key usage like a proxy with the port of {@link NAME}, with clocks that the test sets. */
function makeReporter(snapshotsDir: string, ids: readonly number[], name = NAME) {
  const records = ids.map((id) => ({ id, window: makeRollingWindow(10) }));
  const uses = new Map(ids.map((id) => [id, newUseCounts(THREADS)]));
  const clock = { now: 1_000, wall: NOON };
  const usage = makeKeyUsage(
    makeInstanceFiles(snapshotsDir),
    name,
    { all: () => records, uses: () => uses },
    () => clock.now,
    () => clock.wall,
  );
  return {
    usage,
    clock,
    uses,
    /** Counts what a request of a key uses, in one of the threads. */
    count(id: number, use: keyof typeof USE, amount = 1, thread = 0) {
      const memory = uses.get(id) ?? newUseCounts();
      countUse(useCountsOf(memory, thread), USE[use], amount, dayNumber(clock.wall));
    },
    /** Admits a request of a key, and lets time pass. */
    use(id: number, milliseconds = 0) {
      records.find((record) => record.id === id)?.window.admit(10, clock.now);
      clock.now += milliseconds;
      clock.wall += milliseconds;
    },
  };
}

const reportIn = (snapshotsDir: string, name = NAME) => {
  const file = path.join(snapshotsDir, PROXY_FOLDER, name);
  return parseKeyUsage(readFileSync(file, 'utf8'), name);
};
const contentOf = (snapshotsDir: string) =>
  [...reportIn(snapshotsDir).days].toSorted(([a], [b]) => a - b);

describe('the proxy', () => {
  test('writes its file only if a key was used on a new day', async () => {
    const dir = makeFolder();
    const { usage, use } = makeReporter(dir, [1, 2]);
    expect(await usage.write()).toBe(false);
    expect(existsSync(path.join(dir, PROXY_FOLDER, NAME))).toBe(false);
    use(1);
    expect(await usage.write()).toBe(true);
    expect(contentOf(dir)).toEqual([[1, '2026-03-01']]);
    use(1, 60_000);
    expect(await usage.write()).toBe(false);
    use(0, DAY_MS);
    // The day is that of the use, although it is written later.
    use(2, DAY_MS);
    expect(await usage.write()).toBe(true);
    expect(contentOf(dir)).toEqual([
      [1, '2026-03-01'],
      [2, '2026-03-02'],
    ]);
  });

  test('keeps what an earlier process or another proxy wrote into the same file', async () => {
    const dir = makeFolder();
    const first = makeReporter(dir, [1, 2, 3]);
    first.use(1);
    first.use(2);
    await first.usage.write();
    const second = makeReporter(dir, [1, 2, 3]);
    second.use(0, DAY_MS);
    second.use(2);
    second.use(3);
    await second.usage.write();
    const both = [
      [1, '2026-03-01'],
      [2, '2026-03-02'],
      [3, '2026-03-02'],
    ];
    expect(contentOf(dir)).toEqual(both);
    // If two processes write at once, one may overwrite what the other added.
    const file = path.join(dir, PROXY_FOLDER, NAME);
    writeFileSync(file, encodeKeyUsage({ days: new Map([[2, '2026-03-01']]), counts: [] }));
    await first.usage.write();
    await second.usage.write();
    expect(contentOf(dir)).toEqual(both);
    writeFileSync(file, 'damaged by a power cut');
    await second.usage.write();
    expect(contentOf(dir)).toEqual(both);
  });

  test('removes days in the future after a wrong clock was corrected', async () => {
    const dir = makeFolder();
    const { usage, use, clock } = makeReporter(dir, [1]);
    clock.wall += 400 * DAY_MS;
    use(1);
    await usage.write();
    expect(contentOf(dir)).toEqual([[1, '2027-04-05']]);
    clock.wall -= 400 * DAY_MS;
    await usage.write();
    expect(contentOf(dir)).toEqual([[1, '2026-03-01']]);
  });

  test('removes unfinished files of a killed process', async () => {
    const dir = makeFolder();
    const { usage, use } = makeReporter(dir, [1]);
    use(1);
    await usage.write();
    const left = path.join(dir, PROXY_FOLDER, `${UNFINISHED_PREFIX}${NAME}-1`);
    const fresh = path.join(dir, PROXY_FOLDER, `${UNFINISHED_PREFIX}${NAME}-2`);
    for (const file of [left, fresh]) writeFileSync(file, '');
    const twoMinutesAgo = new Date(Date.now() - 120_000);
    utimesSync(left, twoMinutesAgo, twoMinutesAgo);
    await usage.write();
    expect([existsSync(left), existsSync(fresh)]).toEqual([false, true]);
  });

  test('reports that it cannot write, and tries again', async () => {
    const dir = makeFolder();
    const { usage, use } = makeReporter(dir, [1]);
    use(1);
    const folder = path.join(dir, PROXY_FOLDER);
    writeFileSync(folder, 'in the way');
    const fault = `Cannot write to ${folder}: `;
    await expect(usage.write()).rejects.toThrow(fault);
    await expect(usage.write()).rejects.toThrow(fault);
    rmSync(folder);
    expect(await usage.write()).toBe(true);
  });

  test('waits for the snapshots folder and does not create it', async () => {
    const dir = path.join(makeFolder(), 'absent');
    const { usage, use } = makeReporter(dir, [1]);
    use(1);
    expect(await usage.write()).toBe(false);
    expect(existsSync(dir)).toBe(false);
    mkdirSync(dir);
    expect(await usage.write()).toBe(true);
    expect(contentOf(dir)).toEqual([[1, '2026-03-01']]);
  });
});

describe('the counts in the file', () => {
  /** For each day, what each run has counted for a key. */
  const countsOf = (snapshotsDir: string, id: number) =>
    reportIn(snapshotsDir).counts.map(({ day, keys }) => [day, keys.get(id)]);
  const used = (requests: number, more: { [name in keyof typeof USE]?: number } = {}) => ({
    requests,
    notModified: 0,
    refused: 0,
    bytes: 0,
    ...more,
  });

  test('are the sums of all threads, and are written when one has grown', async () => {
    const dir = makeFolder();
    const { usage, count } = makeReporter(dir, [1, 2]);
    count(1, 'requests', 3, 0);
    count(1, 'requests', 4, 1);
    count(1, 'notModified', 2, 1);
    count(1, 'refused', 1, 0);
    count(1, 'bytes', 2 ** 40, 0);
    expect(await usage.write()).toBe(true);
    const first = used(7, { notModified: 2, refused: 1, bytes: 2 ** 40 });
    expect(countsOf(dir, 1)).toEqual([['2026-03-01', first]]);
    expect(countsOf(dir, 2)).toEqual([['2026-03-01', undefined]]);
    expect(await usage.write()).toBe(false);
    count(1, 'requests', 1, 1);
    expect(await usage.write()).toBe(true);
    expect(countsOf(dir, 1)).toEqual([['2026-03-01', { ...first, requests: 8 }]]);
  });

  test('belong to the day on which they were counted, and are kept for eight days', async () => {
    const dir = makeFolder();
    const { usage, count, use } = makeReporter(dir, [1]);
    for (let day = 1; day <= 10; day++) {
      count(1, 'requests', day);
      // Read only after midnight, as at most once a day.
      if (day % 3 !== 0) await usage.write();
      use(0, DAY_MS / 2);
      count(1, 'bytes', day, 1);
      // The new day may begin between two readings.
      use(0, DAY_MS / 2);
      count(1, 'requests', 100);
      await usage.write();
    }
    const days = countsOf(dir, 1);
    expect(days).toHaveLength(8);
    expect(days[0]).toEqual(['2026-03-04', used(104, { bytes: 3 })]);
    expect(days.at(-1)).toEqual(['2026-03-11', used(100, { bytes: 10 })]);
  });

  test('of each run are kept apart, and survive other runs with the same file', async () => {
    const dir = makeFolder();
    const first = makeReporter(dir, [1]);
    first.count(1, 'requests', 5);
    await first.usage.write();
    const second = makeReporter(dir, [1]);
    expect(await second.usage.write()).toBe(false);
    second.count(1, 'requests', 7);
    await second.usage.write();
    first.count(1, 'requests', 1);
    await first.usage.write();
    // Each run writes its own counts last.
    expect(countsOf(dir, 1)).toEqual([
      ['2026-03-01', used(7)],
      ['2026-03-01', used(6)],
    ]);
    const file = path.join(dir, PROXY_FOLDER, NAME);
    for (const lost of ['damaged', encodeKeyUsage({ days: new Map(), counts: [] })]) {
      writeFileSync(file, lost);
      expect(await second.usage.write()).toBe(true);
      expect(countsOf(dir, 1)).toContainEqual(['2026-03-01', used(7)]);
    }
    // The older run is dropped once its day is too long ago.
    second.use(0, 8 * DAY_MS);
    second.count(1, 'requests');
    await second.usage.write();
    expect(countsOf(dir, 1)).toEqual([['2026-03-09', used(1)]]);
  });

  test('do not jump if a key is deleted and comes back, or if the clock is wrong for a while', async () => {
    const dir = makeFolder();
    const { usage, count, uses, clock } = makeReporter(dir, [1]);
    count(1, 'requests', 5);
    await usage.write();
    uses.delete(1);
    await usage.write();
    uses.set(1, newUseCounts(THREADS));
    count(1, 'requests', 2);
    await usage.write();
    expect(countsOf(dir, 1)).toEqual([['2026-03-01', used(7)]]);
    clock.wall += 30 * DAY_MS;
    count(1, 'requests', 3);
    await usage.write();
    clock.wall -= 30 * DAY_MS;
    count(1, 'requests', 4);
    await usage.write();
    expect(countsOf(dir, 1)).toEqual([['2026-03-01', used(4)]]);
  });
});
