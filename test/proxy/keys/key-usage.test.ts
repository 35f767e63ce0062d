/** Key usage: from the windows and counts of the proxy to its file. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { encodeKeyUsage, parseKeyUsage } from '../../../format/key-usage.ts';
import { keyUsageFile, PROXY_FOLDER } from '../../../format/layout.ts';
import { countUse, newUseCounts, USE, useCountsOf } from '../../../proxy/keys/key-table.ts';
import { makeKeyUsage } from '../../../proxy/keys/key-usage.ts';
import { makeFolder } from '../../support/product.ts';

const PORT = 8080;
const NAME = keyUsageFile(PORT);
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
    ['{"version":1,"keys":[],"counts":{}}', '"counts" is not a list'],
    ...[
      null,
      { run: RUN, day: '2026-03-01' },
      { run: 'x', day: '2026-03-01', keys: [] },
      { run: RUN, day: 'today', keys: [] },
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

/** Writes key usage like a proxy with two threads, with a clock that the test sets. */
function makeReporter(snapshotsDir: string, ids: readonly number[]) {
  const uses = new Map(ids.map((id) => [id, newUseCounts(2)]));
  const clock = { wall: NOON };
  const { write } = makeKeyUsage(
    snapshotsDir,
    PORT,
    () => uses,
    () => clock.wall,
  );
  return {
    write,
    clock,
    uses,
    /** Counts what a request of a key uses, in one of the threads. */
    count(id: number, use: keyof typeof USE = 'requests', amount = 1, thread = 0) {
      const memory = uses.get(id) ?? newUseCounts(2);
      countUse(useCountsOf(memory, thread), USE[use], amount);
    },
  };
}

const fileIn = (snapshotsDir: string) => path.join(snapshotsDir, PROXY_FOLDER, NAME);
const reportIn = (snapshotsDir: string) =>
  parseKeyUsage(readFileSync(fileIn(snapshotsDir), 'utf8'), NAME);
const daysIn = (snapshotsDir: string) =>
  [...reportIn(snapshotsDir).days].toSorted(([a], [b]) => a - b);

describe('the proxy', () => {
  test('writes its file only if a key was used', async () => {
    const dir = makeFolder();
    const { write, count, clock } = makeReporter(dir, [1, 2]);
    expect(await write()).toBe(false);
    expect(existsSync(fileIn(dir))).toBe(false);
    count(1);
    expect(await write()).toBe(true);
    expect(daysIn(dir)).toEqual([[1, '2026-03-01']]);
    expect(await write()).toBe(false);
    clock.wall += DAY_MS;
    // A refused request is not a use.
    count(1, 'refused');
    count(2);
    expect(await write()).toBe(true);
    expect(daysIn(dir)).toEqual([
      [1, '2026-03-01'],
      [2, '2026-03-02'],
    ]);
  });

  test('keeps what an earlier process or another proxy wrote into the same file', async () => {
    const dir = makeFolder();
    const first = makeReporter(dir, [1, 2, 3]);
    first.count(1);
    first.count(2);
    await first.write();
    const second = makeReporter(dir, [1, 2, 3]);
    second.clock.wall += DAY_MS;
    second.count(2);
    second.count(3);
    await second.write();
    const both = [
      [1, '2026-03-01'],
      [2, '2026-03-02'],
      [3, '2026-03-02'],
    ];
    expect(daysIn(dir)).toEqual(both);
    // If two processes write at once, one may overwrite what the other added.
    const older = encodeKeyUsage({ days: new Map([[2, '2026-03-01']]), counts: [] });
    for (const lost of [older, 'damaged by a power cut']) {
      writeFileSync(fileIn(dir), lost);
      await second.write();
      expect(daysIn(dir)).toEqual(both);
    }
  });

  test('removes days in the future after a wrong clock was corrected', async () => {
    const dir = makeFolder();
    const { write, count, clock } = makeReporter(dir, [1]);
    clock.wall += 400 * DAY_MS;
    count(1);
    await write();
    expect(daysIn(dir)).toEqual([[1, '2027-04-05']]);
    clock.wall = NOON;
    await write();
    expect(daysIn(dir)).toEqual([]);
    count(1);
    await write();
    expect(daysIn(dir)).toEqual([[1, '2026-03-01']]);
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
    expect(daysIn(dir)).toEqual([[1, '2026-03-01']]);
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

  test('are the sums of all threads', async () => {
    const dir = makeFolder();
    const { write, count } = makeReporter(dir, [1, 2]);
    count(1, 'requests', 3, 0);
    count(1, 'requests', 4, 1);
    count(1, 'notModified', 2, 1);
    count(1, 'refused', 1, 0);
    count(1, 'bytes', 2 ** 40, 0);
    await write();
    const sums = used(7, { notModified: 2, refused: 1, bytes: 2 ** 40 });
    expect(countsOf(dir, 1)).toEqual([['2026-03-01', sums]]);
    expect(countsOf(dir, 2)).toEqual([['2026-03-01', undefined]]);
  });

  test('belong to the day on which they were read, and are kept for eight days', async () => {
    const dir = makeFolder();
    const { write, count, clock } = makeReporter(dir, [1]);
    for (let day = 1; day <= 10; day++) {
      count(1, 'requests', day);
      await write();
      clock.wall += DAY_MS / 2;
      count(1, 'bytes', day, 1);
      await write();
      clock.wall += DAY_MS / 2;
    }
    const days = countsOf(dir, 1);
    expect(days).toHaveLength(8);
    expect(days[0]).toEqual(['2026-03-04', used(4, { bytes: 3 })]);
    expect(days.at(-1)).toEqual(['2026-03-11', used(0, { bytes: 10 })]);
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
    for (const lost of ['damaged', encodeKeyUsage({ days: new Map(), counts: [] })]) {
      writeFileSync(fileIn(dir), lost);
      expect(await second.write()).toBe(true);
      expect(countsOf(dir, 1)).toContainEqual(['2026-03-01', used(7)]);
    }
    // The older run is dropped once its day is too long ago.
    second.clock.wall += 8 * DAY_MS;
    second.count(1);
    await second.write();
    expect(countsOf(dir, 1)).toEqual([['2026-03-09', used(1)]]);
  });

  test('do not jump if a key is deleted and comes back, or if the clock is wrong for a while', async () => {
    const dir = makeFolder();
    const { write, count, uses, clock } = makeReporter(dir, [1]);
    count(1, 'requests', 5);
    await write();
    uses.set(1, newUseCounts(2));
    count(1, 'requests', 2);
    await write();
    expect(countsOf(dir, 1)).toEqual([['2026-03-01', used(7)]]);
    clock.wall += 30 * DAY_MS;
    count(1, 'requests', 3);
    await write();
    clock.wall = NOON;
    count(1, 'requests', 4);
    await write();
    expect(countsOf(dir, 1)).toEqual([['2026-03-01', used(4)]]);
  });
});
