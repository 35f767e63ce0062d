/** The days of keys' last use: from the windows of the proxy to its file. */
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { encodeKeyUsage, parseKeyUsage } from '../../../format/key-usage.ts';
import { keyUsageFile, PROXY_FOLDER, UNFINISHED_PREFIX } from '../../../format/layout.ts';
import { makeRollingWindow } from '../../../proxy/limits/rolling-window.ts';
import { makeInstanceFiles } from '../../../proxy/state/instance-files.ts';
import { makeKeyUsage } from '../../../proxy/state/key-usage.ts';
import { makeFolder } from '../../support/product.ts';

const NAME = keyUsageFile(8080);
const DAY_MS = 24 * 3600 * 1000;
const NOON = Date.parse('2026-03-01T12:00:00Z');

describe('the file', () => {
  test('contains a day for each key, in the order of their ids', () => {
    const days = new Map([
      [12, '2026-03-01'],
      [7, '2026-02-28'],
    ]);
    const text = encodeKeyUsage(days);
    expect(text).toBe(
      '{"version":1,"keys":[\n{"id":7,"day":"2026-02-28"},\n{"id":12,"day":"2026-03-01"}\n]}\n',
    );
    expect([...parseKeyUsage(text, NAME)]).toEqual([...days].toReversed());
    expect(parseKeyUsage(encodeKeyUsage(new Map()), NAME).size).toBe(0);
  });

  test.each([
    ['{"version":1,"keys":[', 'key-usage-8080.json is damaged: it is not JSON.'],
    ['{"version":2,"keys":[]}', 'key-usage-8080.json has version 2; this program reads version 1.'],
    ['null', 'has version undefined'],
    ['{"version":1}', '"keys" is not a list'],
    ['{"version":1,"keys":[{"id":1,"day":"2026-01-01"},null]}', 'entry 2 is not a day of a key'],
    ['{"version":1,"keys":[{"id":1,"day":"\' OR 1=1"}]}', 'entry 1 is not a day of a key'],
    ['{"version":1,"keys":[{"id":"1","day":"2026-01-01"}]}', 'entry 1 is not a day of a key'],
  ])('is refused if it is %s', (text, fault) => {
    expect(() => parseKeyUsage(text, NAME)).toThrow(fault);
  });
});

/** Writes key usage like a proxy with the port of {@link NAME}, with clocks that the test sets. */
function makeReporter(snapshotsDir: string, ids: readonly number[], name = NAME) {
  const records = ids.map((id) => ({ id, window: makeRollingWindow(10) }));
  const clock = { now: 1_000, wall: NOON };
  const usage = makeKeyUsage(
    makeInstanceFiles(snapshotsDir),
    name,
    () => records,
    () => clock.now,
    () => clock.wall,
  );
  return {
    usage,
    clock,
    /** Admits a request of a key, and lets time pass. */
    use(id: number, milliseconds = 0) {
      records.find((record) => record.id === id)?.window.admit(10, clock.now);
      clock.now += milliseconds;
      clock.wall += milliseconds;
    },
  };
}

const contentOf = (snapshotsDir: string, name = NAME) => {
  const file = path.join(snapshotsDir, PROXY_FOLDER, name);
  return [...parseKeyUsage(readFileSync(file, 'utf8'), name)].toSorted(([a], [b]) => a - b);
};

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
    writeFileSync(file, encodeKeyUsage(new Map([[2, '2026-03-01']])));
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
