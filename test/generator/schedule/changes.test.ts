/**
 * The schedule publishes changes in the database: soon, rarely enough, and what was taken down at once.
 * Without `updated_at`, it says that it does not. Its polls take at most a tenth of the time in the long
 * run, and one slow poll delays nothing.
 */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { loadCatalogue } from '#demo/catalogue/load.ts';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { paceRuns, type RunEnd } from '#generator/schedule/pace-runs.ts';
import { pollChanges, TimeShare } from '#generator/schedule/poll-changes.ts';
import { isTakedown, readTableState } from '#generator/schedule/table-state.ts';
import type { Database } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { makeTasks } from '#lib/program/admin/tasks.ts';
import { addIndexes, addTimes } from '#test/generator/reuse/random-changes.ts';
import { run } from '#test/generator/reuse/runs.ts';
import { KINDS, type Kind, makeDatabase } from '#test/support/databases.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { makeLog } from '#test/support/log.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

async function makeSite(kind: Kind = 'sqlite') {
  const url = await makeDatabase(kind);
  const database = await openDatabase(url);
  atEndOfFile(() => database.close());
  await loadCatalogue(database, sampleCatalogue());
  await addTimes(database);
  return { url, database };
}

/** Polls for changes when a test says so. */
function startPolling(databaseUrl: string, snapshotsDir = newSnapshots()) {
  /** The urgencies of the requested runs, and with "recent" those for which recent changes are enough. */
  const requests: string[] = [];
  const log = makeLog();
  let time = 0;
  let isRunning = false;
  const tasks = makeTasks(new Registry());
  const changes = pollChanges({
    databaseUrl,
    snapshotsDir,
    seconds: HOUR,
    tasks,
    log: pino({}, log),
    request: (urgency, isRecent) => requests.push(isRecent ? `${urgency} recent` : urgency),
    isRunning: () => isRunning,
    now: () => time,
  });
  atEndOfFile(changes.stop);
  return {
    log: log.text,
    forget: changes.forget,
    state: () => tasks.states().poll_changes,
    pass: (seconds: number) => {
      time += seconds * 1000;
    },
    setRunning: (running: boolean) => {
      isRunning = running;
    },
    /** Polls the indexes once. @returns as `poll` */
    async pollRecent() {
      await changes.recent();
      return requests.splice(0);
    },
    /** Polls once. @returns what was requested since the last call */
    async poll() {
      await changes.now();
      return requests.splice(0);
    },
  };
}

const HOUR = 3_600;
/** The id of one row of a table, which MySQL lets the statement change. */
const idOf = (table: string, where = 'TRUE', which = 'MIN') =>
  `(SELECT id FROM (SELECT ${which}(id) AS id FROM ${table} WHERE ${where}) AS one)`;
const APPROVED = idOf('covers', "status = 'approved'");
const GAME = idOf('games', "slug <> '' AND title <> ''");
const NOW = 'updated_at = CURRENT_TIMESTAMP';
const reject = ({ run }: Database) =>
  run(`UPDATE covers SET status = 'rejected', ${NOW} WHERE id = ${APPROVED}`);
const describeGame = ({ run }: Database) =>
  run(`UPDATE games SET description = 'New', ${NOW} WHERE id = 1001`);

test('requests a run for each change, which is urgent after a takedown', async () => {
  const { url, database } = await makeSite();
  const { poll, log, forget } = startPolling(url);
  // The first poll does not know what has been published.
  expect(await poll()).toEqual(['run']);
  expect(log()).toContain('changes in the database are published at once');
  expect(await poll()).toEqual([]);
  await describeGame(database);
  expect(await poll()).toEqual(['run']);
  await reject(database);
  expect(await poll()).toEqual(['urgent']);
  expect(await poll()).toEqual([]);
  for (const isUrgent of [true, false]) {
    forget(isUrgent);
    expect(await poll()).toEqual([isUrgent ? 'urgent' : 'run']);
  }
});

/** A site with indexes and a published generation, of which the first poll has been made. */
async function makeIndexedSite() {
  const { url, database } = await makeSite();
  await addIndexes(database);
  const snapshotsDir = newSnapshots();
  await run(database, snapshotsDir);
  const polls = startPolling(url, snapshotsDir);
  expect(await polls.poll()).toEqual(['run']);
  expect(await polls.pollRecent()).toEqual([]);
  return { database, snapshotsDir, ...polls };
}

test('polls of indexes see a change at once, which is urgent if it hides a public cover', async () => {
  const { database, poll, pollRecent } = await makeIndexedSite();
  await describeGame(database);
  expect(await pollRecent()).toEqual(['run recent']);
  expect(await pollRecent()).toEqual([]);
  // The state of the tables shows it again, which must not delay the next change.
  expect(await poll()).toEqual(['owed']);
  await reject(database);
  expect(await pollRecent()).toEqual(['urgent recent']);
  const add = (status: string) =>
    database.run(
      `INSERT INTO covers (id, game_id, status, updated_at) VALUES (9000000, 1001, '${status}', CURRENT_TIMESTAMP)`,
    );
  await add('pending');
  expect(await pollRecent()).toEqual(['run recent']);
  const setStatus = (status: string) =>
    database.run(`UPDATE covers SET status = '${status}' WHERE id = 9000000`);
  await setStatus('approved');
  expect(await pollRecent()).toEqual(['run recent']);
  // A run may be publishing it.
  await setStatus('rejected');
  expect(await pollRecent()).toEqual(['urgent recent']);
});

test('a takedown that indexes have shown is not urgent again, but another one is', async () => {
  const { database, poll, setRunning } = await makeIndexedSite();
  await reject(database);
  expect(await poll()).toEqual(['urgent recent', 'owed']);
  await database.run(`DELETE FROM covers WHERE id = ${APPROVED}`);
  setRunning(true);
  expect(await poll()).toEqual([]);
  setRunning(false);
  expect(await poll()).toEqual(['urgent']);
  await database.run(`UPDATE games SET title = '', ${NOW} WHERE id = ${GAME}`);
  expect(await poll()).toEqual(['run recent', 'urgent']);
  // Without a time, as by a program that does not set it.
  await database.run(`UPDATE covers SET status = 'rejected' WHERE id = ${APPROVED}`);
  expect(await poll()).toEqual(['urgent']);
});

test('indexes are used once they are there, and no longer once they are gone', async () => {
  const { url, database } = await makeSite();
  const { poll, pollRecent, pass, log } = startPolling(url);
  await poll();
  expect(log()).toContain(
    'found sooner with indexes on games.updated_at, covers.updated_at, cover_files.updated_at',
  );
  await describeGame(database);
  expect(await pollRecent()).toEqual([]);
  await addIndexes(database);
  pass(301);
  await poll();
  await reject(database);
  expect(await pollRecent()).toEqual(['run recent']);
  await database.run('DROP INDEX games_updated_at');
  pass(301);
  await poll();
  await reject(database);
  expect(await pollRecent()).toEqual([]);
  expect(await poll()).toEqual(['urgent']);
});

test('a run that is requested during a poll is not forgotten', async () => {
  const { url } = await makeSite();
  const { poll, forget } = startPolling(url);
  expect(await poll()).toEqual(['run']);
  // At each of the moments at which a poll waits.
  for (let turns = 0; turns < 40; turns++) {
    const polled = poll();
    for (let i = 0; i < turns; i++) await undefined;
    forget(true);
    expect([...(await polled), ...(await poll())], `after ${turns} turns`).toEqual(['urgent']);
  }
});

test('requests a run for a commit that changes neither numbers nor latest times, after a minute', async () => {
  const { url, database } = await makeSite();
  await database.run("UPDATE games SET updated_at = '2036-01-01 00:00:00' WHERE id = 1002");
  const { poll, pass } = startPolling(url);
  expect(await poll()).toEqual(['run']);
  await describeGame(database);
  expect(await poll()).toEqual([]);
  pass(59);
  expect(await poll()).toEqual([]);
  pass(1);
  expect(await poll()).toEqual(['run']);
  pass(61);
  expect(await poll()).toEqual([]);
});

test('while the database cannot be read, requests nothing; then what has changed', async () => {
  const { url, database } = await makeSite();
  const { poll, log } = startPolling(url);
  expect(await poll()).toEqual(['run']);
  await database.run('ALTER TABLE covers RENAME TO elsewhere');
  expect(await poll()).toEqual([]);
  expect(log()).toContain('cannot poll the database for changes: ');
  await database.run('ALTER TABLE elsewhere RENAME TO covers');
  await reject(database);
  expect(await poll()).toEqual(['urgent']);
});

test.each(KINDS)(
  'tells a takedown from other changes, also beside an approval, on %s',
  async (kind) => {
    const { database } = await makeSite(kind);
    // Some of them are approved below.
    await database.run("UPDATE covers SET status = 'pending' WHERE id % 2 = 0");
    let second = 0;
    /** @returns whether the changes, which are later than those before, are a takedown */
    const isUrgent = async (...changes: string[]) => {
      const before = await readTableState(database);
      for (const change of changes) {
        const time = `updated_at = '2036-01-01 00:00:${10 + second++}'`;
        const sql = change.replace('SET ', `SET ${time}, `);
        expect(await database.run(sql), change).toMatchObject({ changes: 1 });
      }
      const after = await readTableState(database);
      expect(after.all).not.toBe(before.all);
      return isTakedown(database, before, after);
    };
    const setCover = (values: string) => `UPDATE covers SET ${values} WHERE id = ${APPROVED}`;
    const setGame = (values: string) => `UPDATE games SET ${values} WHERE id = ${GAME}`;
    const pending = idOf('covers', "status = 'pending'", 'MAX');
    const approve = `UPDATE covers SET status = 'approved' WHERE id = ${pending}`;
    const harmless = [setGame("description = 'New'"), setCover("region = 'Antarctica'"), approve];
    for (const change of harmless) expect(await isUrgent(change), change).toBe(false);
    const hidden = ['rejected', 'deleted', 'Approved', 'pending'];
    for (const change of [
      ...hidden.map((text) => setCover(`status = '${text}'`)),
      ...[1, 999_999_999].map((more) => setCover(`game_id = game_id + ${more}`)),
      ...['platform_id = platform_id + 1', "slug = ''", "title = ''"].map(setGame),
      `DELETE FROM covers WHERE id = ${APPROVED}`,
      `DELETE FROM games WHERE id = ${GAME}`,
      `DELETE FROM cover_files WHERE id = ${idOf('cover_files')}`,
    ]) {
      expect(await isUrgent(change), change).toBe(true);
      expect(await isUrgent(approve, change), `an approval and ${change}`).toBe(true);
    }
    const before = await readTableState(database);
    await database.run("UPDATE platforms SET slug = 'moved' WHERE id = 1");
    expect(await isTakedown(database, before, await readTableState(database))).toBe(true);
  },
);

test('without updated_at, says that it does nothing; once the column is there, publishes changes', async () => {
  const { url, database } = await makeSite();
  const tables = ['games', 'covers'];
  const drop = async () => {
    for (const table of tables) await database.run(`ALTER TABLE ${table} DROP COLUMN updated_at`);
  };
  await drop();
  const { poll, log, state } = startPolling(url);
  const reason = 'the database does not have games.updated_at, covers.updated_at';
  expect(await poll()).toEqual([]);
  expect(state()).toEqual({ last_success: null, error: null, idle: reason });
  expect(log()).toContain(`only at the times of GENERATE_CRON: ${reason}`);

  for (const table of tables) {
    await database.run(`ALTER TABLE ${table} ADD COLUMN updated_at DATETIME NULL`);
  }
  expect(await poll()).toEqual(['run']);
  expect(state()).toEqual({ last_success: expect.any(String), error: null, idle: null });
  await reject(database);
  expect(await poll()).toEqual(['urgent']);

  await drop();
  expect(await poll()).toEqual([]);
  expect(state()?.error).toContain('updated_at');
  expect(await poll()).toEqual([]);
  expect(state()).toMatchObject({ error: null, idle: reason });
});

describe('runs', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1_000);

  function makePace(seconds = 1, end: RunEnd = 'read') {
    const [times, failures]: [number[], boolean[]] = [[], []];
    const runs: string[] = [];
    const start = performance.now();
    const second = () => Math.round((performance.now() - start) / 1000);
    let interrupt: (() => void) | undefined;
    const pace = paceRuns({
      milliseconds: 10_000,
      async run(isRecent) {
        times.push(second());
        const given = Promise.withResolvers<RunEnd>();
        interrupt = isRecent ? undefined : () => given.resolve('gave way');
        const ended = new Promise<RunEnd>((resolve) => {
          setTimeout(() => resolve(end), isRecent ? 1_000 : seconds * 1000);
        });
        const how = await Promise.race([given.promise, ended]);
        interrupt = undefined;
        runs.push(`${isRecent ? 'recent' : 'whole'}${how === 'gave way' ? ' gave way' : ''}`);
        return how;
      },
      giveWay: () => interrupt?.(),
      onFailure: (isUrgent) => failures.push(isUrgent),
    });
    return { ...pace, times, failures, runs };
  }

  test('start at once, then at most every ten seconds, and once more after the last change', async () => {
    const { request, times } = makePace();
    request('run', false);
    for (let second = 0; second < 15; second++) {
      await pass(1);
      request('run', false);
    }
    await pass(60);
    expect(times).toEqual([0, 10, 20, 30]);
  });

  test('do not wait if they are urgent, but never overlap', async () => {
    const { request, stop, times } = makePace(4);
    request('run', false);
    await pass(1);
    request('urgent', false);
    request('run', false);
    await pass(4);
    expect(times).toEqual([0, 4]);
    stop();
  });

  test('of recent changes are followed by whole ones, which find what has changed since', async () => {
    const { request, runs } = makePace();
    for (let second = 0; second < 25; second++) {
      request('run', true);
      await pass(1);
    }
    await pass(60);
    expect(runs).toEqual(['recent', 'whole', 'whole', 'whole', 'whole']);
  });

  test('do not wait for ten seconds after one that followed another', async () => {
    const { request, runs, times } = makePace(4);
    request('run', true);
    await pass(11);
    request('run', true);
    await pass(30);
    expect(runs).toEqual(['recent', 'whole', 'recent', 'whole']);
    expect(times).toEqual([0, 10, 14, 24]);
  });

  test('that are whole give way to an urgent one three times, and then end first', async () => {
    const { request, runs } = makePace(30);
    request('run', false);
    for (let time = 1; time <= 4; time++) {
      await pass(1);
      request('urgent', true);
      await pass(12);
    }
    const gaveWay = ['whole gave way', 'recent'];
    expect(runs).toEqual([...gaveWay, ...gaveWay, ...gaveWay]);
    await pass(30);
    expect(runs.slice(6)).toEqual(['whole', 'recent']);
    await pass(60);
    expect(runs.slice(8)).toEqual(['whole']);
  });

  test('that are whole begin after ten seconds of urgent ones, or after three more', async () => {
    const { request, runs } = makePace();
    for (let time = 0; time < 10; time++) {
      request('urgent', true);
      await pass(4);
    }
    const recent = (count: number) => Array(count).fill('recent');
    expect(runs).toEqual([...recent(6), 'whole', ...recent(3)]);
  });

  test('that fail are reported, and are not followed by another one', async () => {
    const { request, times, failures } = makePace(1, 'not read');
    request('run', false);
    await pass(60);
    expect([times, failures]).toEqual([[0], [false]]);
  });

  test('that are urgent and fail stay urgent, unless they fail again and again', async () => {
    const { request, failures } = makePace(1, 'not read');
    for (let i = 0; i < 12; i++) {
      request('urgent', false);
      await pass(1);
    }
    expect(failures).toEqual([...Array(9).fill(true), false, false, false]);
  });
});

/** Polls `count` times, at least every two seconds. @returns how long each pause was, in milliseconds */
function pausesOf(durations: readonly number[]): number[] {
  let time = 0;
  const share = new TimeShare(() => time);
  return durations.map((milliseconds) => {
    time += milliseconds;
    share.use(milliseconds);
    const pause = Math.max(2_000, share.pause());
    time += pause;
    return pause;
  });
}

test('a slow poll now and then is followed by the usual pause', () => {
  const durations = Array.from({ length: 300 }, (_, i) => (i % 20 === 0 ? 1_500 : 1));
  expect(new Set(pausesOf(durations))).toEqual(new Set([2_000]));
});

test('polls that are always slow take a tenth of the time', () => {
  const durations = Array.from({ length: 300 }, () => 500);
  const paused = pausesOf(durations).reduce((sum, pause) => sum + pause, 0);
  const polled = 300 * 500;
  // At the start, two seconds are saved up.
  expect((polled - 2_000) / (polled + paused)).toBeCloseTo(1 / 10, 3);
});
