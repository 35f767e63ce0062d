/**
 * When all rows are read: if what the earlier run has left cannot be relied on, and once a day, which finds what
 * `updated_at` cannot show.
 */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import type { RunOptions } from '#generator/generate.ts';
import type { Database } from '#lib/database/database.ts';
import { EARLIER_RUN } from '#lib/format/layout.ts';
import { makeChanges } from '#test/generator/reuse/random-changes.ts';
import { makeTimed, makeTimedSite, run, SETTINGS } from '#test/generator/reuse/runs.ts';
import { catalogueHash, newSnapshots } from '#test/support/wholeness.ts';

const fileIn = (dir: string) => path.join(dir, EARLIER_RUN);
const flipBit = (file: string) => {
  const bytes = fs.readFileSync(file);
  bytes[bytes.length >> 1] ^= 4;
  fs.writeFileSync(file, bytes);
};
/** Lets a day pass, until the end of the test. */
const waitADay = () => vi.setSystemTime(Date.now() + 25 * 3_600_000);
afterEach(() => void vi.useRealTimers());

const DAMAGED = 'earlier-run is damaged';
const OTHER = 'the last run read another database, or a table or view was altered';
const OTHER_SETTINGS =
  'the last run had another SITE_URL, SITE_LANGUAGE, FILES_URL, GAME_URL, PLATFORM_URL or FRONT_TYPES';
const A_DAY = 'the last full run was not within 24 hours';

type Damage = [
  what: string,
  reason: unknown,
  damage: (dir: string, database: Database) => unknown,
  changes?: Partial<RunOptions>,
];

test.each<Damage>([
  ['nothing is left of it', 'nothing is known of the last run', (dir) => fs.rmSync(fileIn(dir))],
  ['what it left is truncated', DAMAGED, (dir) => fs.truncateSync(fileIn(dir), 1_000)],
  ['one bit of it is wrong', DAMAGED, (dir) => flipBit(fileIn(dir))],
  [
    'a named pipe is in its place',
    DAMAGED,
    (dir) => {
      fs.rmSync(fileIn(dir));
      execFileSync('mkfifo', [fileIn(dir)]);
    },
  ],
  [
    'it is of another database',
    OTHER,
    async (dir) => {
      const other = await makeTimedSite('sqlite', 12);
      fs.cpSync(fileIn(other.dir), fileIn(dir));
    },
  ],
  [
    'another program has published since',
    'the last run did not write the current generation',
    async (dir, database) => {
      const before = fs.readFileSync(fileIn(dir));
      await database.run("UPDATE games SET title = 'Unseen'");
      await run(database, dir, { isFull: true });
      fs.writeFileSync(fileIn(dir), before);
    },
  ],
  ['a table was altered', OTHER, (_, { run }) => run('ALTER TABLE games ADD COLUMN note TEXT')],
  [
    'the settings have changed',
    OTHER_SETTINGS,
    () => {},
    { settings: { site_url: 'https://x.example', site_language: 'de', files_url: 'https://y' } },
  ],
  ...[
    { game_url: '{site}/{id}' },
    { platform_url: '{site}/{id}' },
    { front_types: ['back', 'front'] },
  ].map(
    (own): Damage => [
      `${Object.keys(own)} has changed`,
      OTHER_SETTINGS,
      () => {},
      { settings: { ...SETTINGS, ...own } },
    ],
  ),
  [
    'a platform has changed',
    expect.stringContaining('the platforms have changed'),
    (_, { run }) =>
      run("UPDATE platforms SET name = 'Renamed' WHERE name = (SELECT MIN(name) FROM platforms)"),
  ],
  [
    'packs of the current generation are damaged',
    expect.stringMatching(/of the current generation was touched$/),
    (dir) => {
      for (const file of fs.globSync('current/{games,covers}/*.json', { cwd: dir }))
        flipBit(path.join(dir, file));
    },
  ],
  [
    'a table has no updated_at any more',
    'the database does not have covers.updated_at',
    (_, { run }) => run('ALTER TABLE covers DROP COLUMN updated_at'),
  ],
  ['of --full', 'a full run was requested', () => {}, { isFull: true }],
  ['24 hours have passed', A_DAY, waitADay],
])('all rows are read if %s', async (_, reason, damage, changes = {}) => {
  const { database, dir } = await makeTimedSite('sqlite', 12);
  await makeChanges(makeRandom(5)).change(database);
  await damage(dir, database);
  const { readAllBecause } = await run(database, dir, changes);
  const other = newSnapshots();
  await run(database, other, changes);
  expect(catalogueHash(dir)).toBe(catalogueHash(other));
  expect(readAllBecause).toEqual(reason);
});

test('a change that does not change updated_at is found by the daily full run', async () => {
  const { database, dir } = await makeTimedSite('sqlite', 12);
  await database.run("UPDATE games SET description = 'Hidden'");
  expect((await run(database, dir)).outcome).toBe('unchanged');
  waitADay();
  expect(await run(database, dir)).toMatchObject({ outcome: 'published', readAllBecause: A_DAY });
});

test('a full run that is due waits for a run of recent changes', async () => {
  const { database, dir } = await makeTimedSite('sqlite', 12);
  await database.run("UPDATE games SET description = 'New', updated_at = CURRENT_TIMESTAMP");
  waitADay();
  expect(await run(database, dir, { isRecent: true })).toMatchObject({
    outcome: 'published',
    readAllBecause: null,
  });
  expect(await run(database, dir)).toMatchObject({ outcome: 'unchanged', readAllBecause: A_DAY });
});

test('only the owner may read what a run leaves, even in a shared folder', async () => {
  const database = await makeTimed('sqlite', 12);
  const dir = newSnapshots();
  fs.mkdirSync(dir);
  fs.chmodSync(dir, 0o2750);
  await run(database, dir);
  expect(fs.statSync(fileIn(dir)).mode & 0o7777).toBe(0o600);
});

test('a run that is refused leaves it as it was, and one that cannot write it publishes', async () => {
  const { database, dir } = await makeTimedSite('sqlite', 60);
  const approved = "SELECT id FROM covers WHERE status = 'approved' ORDER BY id";
  const covers = await database.rows(approved);
  const middle = covers[covers.length >> 1][0];
  const setStatus = (status: string, operator: string) =>
    database.run(
      `UPDATE covers SET status = ?, updated_at = CURRENT_TIMESTAMP WHERE id ${operator} ?`,
      [status, middle],
    );
  await setStatus('rejected', '<=');
  await expect(run(database, dir, { isForced: false })).rejects.toThrow('by more than 20 %');
  await setStatus('approved', '<=');
  await setStatus('rejected', '=');
  expect(await run(database, dir, { isForced: false })).toMatchObject({
    outcome: 'published',
    readAllBecause: null,
  });
  fs.rmSync(fileIn(dir));
  fs.mkdirSync(path.join(fileIn(dir), 'in the way'), { recursive: true });
  await setStatus('approved', '=');
  expect(await run(database, dir)).toMatchObject({ outcome: 'published' });
});
