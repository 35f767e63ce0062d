/** The schedule as a program: when it generates, what it logs, and how it ends. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { Runs } from '#generator/schedule/runs.ts';
import { openDatabase } from '#lib/database/open.ts';
import { currentId, idsOnDisk } from '#lib/generations/generations.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { addTimes } from '#test/generator/reuse/random-changes.ts';
import { startSchedule } from '#test/generator/schedule/start-schedule.ts';
import { runKeys, runProgram } from '#test/support/product.ts';
import { listenOn } from '#test/support/servers/sockets.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

/** What it logs of a run. */
const OF_A_RUN = /"run":|"generated"|under way/;

test('with GENERATE_CRON=off, the schedule exports the keys and never generates', async () => {
  const url = await makeSampleSqlite();
  const dir = newSnapshots();
  expect((await runKeys(url, ['issue', '--note', 'A client'])).code).toBe(0);
  const schedule = startSchedule(url, dir, { GENERATE_CRON: 'off' });
  await schedule.logged('exported the keys');
  expect(await schedule.stop()).toBe(0);
  expect(schedule.log()).not.toMatch(OF_A_RUN);
  expect(idsOnDisk(dir)).toEqual([]);
});

test('with a current generation it waits for the first scheduled time', async () => {
  const never = { CHANGE_POLL_SECONDS: '0' };
  const schedule = startSchedule(await makeSampleSqlite(), await makeSampleSnapshots(), never);
  await schedule.logged('"scheduled"');
  expect(await schedule.stop()).toBe(0);
  expect(schedule.log()).not.toMatch(OF_A_RUN);
});

test.each([
  ['GENERATE_CRON', 'every day', /GENERATE_CRON.*every day/s],
  [
    'DATABASE_URL',
    'mysql://u:p%zz@h/db',
    /mysql address has a password that is not percent-encoded/,
  ],
])('a wrong %s ends the schedule with 2 and an error that says so', async (name, text, fault) => {
  const variables = { DATABASE_URL: 'sqlite:x.db', SNAPSHOTS_DIR: newSnapshots(), ADMIN_PORT: '0' };
  const { code, stderr } = await runProgram('schedule', [], { ...variables, [name]: text });
  expect([code, stderr]).toEqual([2, expect.stringMatching(fault)]);
});

test('it generates at once and then on schedule, logs failed runs and rows left out, and continues', async () => {
  const url = await makeSampleSqlite();
  const database = await openDatabase(url);
  await database.run(
    "INSERT INTO covers (id, game_id, status) VALUES (999999, 88888888, 'approved')",
  );
  await database.run('ALTER TABLE covers RENAME TO elsewhere');
  const dir = newSnapshots();
  const schedule = startSchedule(url, dir, { GENERATE_CRON: '* * * * * *' });
  const failure = JSON.parse(await schedule.logged('the generator failed: '));
  expect(failure).toMatchObject({
    level: 'error',
    msg: expect.stringContaining('the table covers'),
  });
  await database.run('ALTER TABLE elsewhere RENAME TO covers');
  const first = JSON.parse(await schedule.logged('"outcome":"published"'));
  const warnings = schedule.log().match(/^{"level":"warn".*$/gm) ?? [];
  expect(warnings.map((line) => JSON.parse(line).msg)).toContain(
    'Left out: 1 of covers: the game does not exist.',
  );
  await database.run("UPDATE games SET title = 'Changed' WHERE id = 1001");
  await database.close();
  const second = JSON.parse(await schedule.logged('"outcome":"published"', 2));
  expect(idsOnDisk(dir)).toEqual([first.id, second.id]);
  expect(await schedule.stop()).toBe(0);
});

test('a takedown is published without waiting for the next run on schedule', async () => {
  const url = await makeSampleSqlite();
  const database = await openDatabase(url);
  await addTimes(database);
  const dir = newSnapshots();
  const schedule = startSchedule(url, dir, { CHANGE_POLL_SECONDS: '1' });
  // The first poll requests a run, because it does not know what has been published.
  await schedule.logged('"outcome":"unchanged"');
  await database.run(
    `UPDATE covers SET status = 'rejected', updated_at = CURRENT_TIMESTAMP
      WHERE id = (SELECT MIN(id) FROM covers WHERE status = 'approved')`,
  );
  await database.close();
  const published = JSON.parse(await schedule.logged('"outcome":"published"', 2));
  expect(published).toMatchObject({ id: currentId(dir), read_all_because: null });
  expect(await schedule.stop()).toBe(0);
});

test('SIGTERM ends the schedule and the run under way, even if the database does not answer', async () => {
  const sockets: Socket[] = [];
  // One for the keys, one to look for changes, and one of the run.
  const three = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => {});
    if (sockets.push(socket) === 3) three.resolve();
  });
  const port = await listenOn(server);
  const dir = newSnapshots();
  const schedule = startSchedule(`mysql://a:b@127.0.0.1:${port}/c?timeout=600`, dir);
  await three.promise;
  expect(await schedule.stop()).toBe(0);
  expect(schedule.log()).toContain('the run that was under way was stopped');
  // The run has ended, too.
  await Promise.all(sockets.map((socket) => socket.closed || once(socket.resume(), 'close')));
  expect(existsSync(dir)).toBe(false);
});

test('a run gives way and is no failure, but one of recent changes does not; none starts after a stop', async () => {
  const connected: (() => void)[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    connected.shift()?.();
  });
  const port = await listenOn(server);
  vi.stubEnv('DATABASE_URL', `mysql://a:b@127.0.0.1:${port}/c?timeout=600`);
  vi.stubEnv('SNAPSHOTS_DIR', newSnapshots());
  const endings: string[] = [];
  const log = pino({ enabled: false });
  const runs = new Runs(
    () => false,
    ({ outcome }) => endings.push(outcome),
    log,
  );
  const start = async (isRecent: boolean) => {
    const reached = new Promise<void>((resolve) => connected.push(resolve));
    const end = runs.start(isRecent);
    await reached;
    runs.giveWay();
    return { end };
  };
  expect(await (await start(false)).end).toBe('gave way');
  const { end } = await start(true);
  expect(runs.isRunning()).toBe(true);
  const next = runs.startNext(true);
  await runs.stop();
  expect(runs.isRunning()).toBe(false);
  expect([await end, await next]).toEqual(['not read', 'not read']);
  expect(endings).toEqual([]);
  vi.unstubAllEnvs();
});
