/**
 * The schedule publishes changes in the database: soon, rarely enough, and what was taken down at once.
 * Without `updated_at`, it says that it does not.
 */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { paceRuns } from '../../../generator/schedule/pace-runs.ts';
import { pollChanges } from '../../../generator/schedule/poll-changes.ts';
import { isTakedown, readTableState } from '../../../generator/schedule/table-state.ts';
import { makeTasks } from '../../../program/admin/tasks.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { KINDS, type Kind, makeDatabase } from '../../support/databases.ts';
import { atEndOfFile } from '../../support/end-of-file.ts';
import { makeLog } from '../../support/log.ts';
import { addTimes } from '../reuse/random-changes.ts';

async function makeSite(kind: Kind, isTimed = true) {
  const url = await makeDatabase(kind);
  const database = await openDatabase(url);
  await loadCatalogue(database, sampleCatalogue());
  if (isTimed) await addTimes(database);
  return { url, database };
}

/** Polls for changes when a test says so. */
function startPolling(databaseUrl: string) {
  /** Whether each requested run is urgent. */
  const requests: boolean[] = [];
  const log = makeLog();
  let time = 0;
  const changes = pollChanges({
    databaseUrl,
    seconds: HOUR,
    tasks: makeTasks(new Registry()),
    log: pino({}, log),
    request: (isUrgent) => requests.push(isUrgent),
    now: () => time,
  });
  atEndOfFile(changes.stop);
  return {
    log: log.text,
    forget: changes.forget,
    pass: (seconds: number) => {
      time += seconds * 1000;
    },
    /** Polls once. @returns what was requested since the last call */
    async poll() {
      await changes.now();
      return requests.splice(0);
    },
  };
}

const HOUR = 3_600;
const NOW = 'updated_at = CURRENT_TIMESTAMP';
const APPROVED =
  "(SELECT id FROM (SELECT MIN(id) AS id FROM covers WHERE status = 'approved') AS a)";
const PENDING = "(SELECT id FROM (SELECT MAX(id) AS id FROM covers WHERE status = 'pending') AS p)";
const GAME =
  "(SELECT id FROM (SELECT MIN(id) AS id FROM games WHERE slug <> '' AND title <> '') AS g)";
const reject = (database: Database) =>
  database.run(`UPDATE covers SET status = 'rejected', ${NOW} WHERE id = ${APPROVED}`);
const describeGame = (database: Database) =>
  database.run(`UPDATE games SET description = 'New', ${NOW} WHERE id = 1001`);

test('requests a run for each change, which is urgent after a takedown', async () => {
  const { url, database } = await makeSite('sqlite');
  const { poll, log, forget } = startPolling(url);
  // The first poll does not know what has been published.
  expect(await poll()).toEqual([false]);
  expect(log()).toContain('changes in the database are published at once');
  expect(await poll()).toEqual([]);
  await describeGame(database);
  expect(await poll()).toEqual([false]);
  await reject(database);
  expect(await poll()).toEqual([true]);
  expect(await poll()).toEqual([]);
  for (const isUrgent of [true, false]) {
    forget(isUrgent);
    expect(await poll()).toEqual([isUrgent]);
  }
  await database.close();
});

test('requests a run for a commit that changes neither numbers nor latest times, after a minute', async () => {
  const { url, database } = await makeSite('sqlite');
  await database.run("UPDATE games SET updated_at = '2036-01-01 00:00:00' WHERE id = 1002");
  const { poll, pass } = startPolling(url);
  expect(await poll()).toEqual([false]);
  await describeGame(database);
  expect(await poll()).toEqual([]);
  pass(59);
  expect(await poll()).toEqual([]);
  pass(1);
  expect(await poll()).toEqual([false]);
  pass(61);
  expect(await poll()).toEqual([]);
  await database.close();
});

test('while the database cannot be read, requests nothing; then what has changed', async () => {
  const { url, database } = await makeSite('sqlite');
  const { poll, log } = startPolling(url);
  expect(await poll()).toEqual([false]);
  await database.run('ALTER TABLE covers RENAME TO elsewhere');
  expect(await poll()).toEqual([]);
  expect(log()).toContain('the database cannot be asked for changes: ');
  await database.run('ALTER TABLE elsewhere RENAME TO covers');
  await reject(database);
  expect(await poll()).toEqual([true]);
  await database.close();
});

describe.each(KINDS)('on %s', (kind) => {
  test('tells a takedown from other changes, also beside an approval', async () => {
    const { database } = await makeSite(kind);
    // Later than all rows, as the time of a real change is.
    let second = 0;
    const now = () => `updated_at = '2036-01-01 00:00:${String(++second).padStart(2, '0')}'`;
    const setCover = (set: string) => `UPDATE covers SET ${set}, ${now()} WHERE id = ${APPROVED}`;
    const setGame = (set: string) => `UPDATE games SET ${set}, ${now()} WHERE id = ${GAME}`;
    const approve = () => `UPDATE covers SET status = 'approved', ${now()} WHERE id = ${PENDING}`;
    const harmless = [
      () => setGame("description = 'New'"),
      () => setCover("region = 'Antarctica'"),
      approve,
    ];
    const takedowns = [
      () => setCover("status = 'rejected'"),
      () => setCover("status = 'deleted'"),
      () => setCover("status = 'Approved'"),
      () => setCover("status = 'pending'"),
      () => `DELETE FROM covers WHERE id = ${APPROVED}`,
      () => setCover('game_id = game_id + 1'),
      () => setCover('game_id = game_id + 999999999'),
      () => `DELETE FROM games WHERE id = ${GAME}`,
      () => setGame('platform_id = platform_id + 1'),
      () => setGame("slug = ''"),
      () => setGame("title = ''"),
      () =>
        'DELETE FROM cover_files WHERE id = (SELECT id FROM (SELECT MIN(id) AS id FROM cover_files) AS f)',
      () => `UPDATE platforms SET slug = 'moved-${++second}' WHERE id = 1`,
    ];
    const isUrgent = async (...changes: string[]) => {
      const before = await readTableState(database);
      for (const change of changes)
        expect(await database.run(change)).toMatchObject({ changes: 1 });
      const after = await readTableState(database);
      expect(after.all).not.toBe(before.all);
      return isTakedown(database, before, after);
    };
    // Some of them are approved below.
    await database.run("UPDATE covers SET status = 'pending' WHERE id % 2 = 0");
    for (const change of harmless) expect(await isUrgent(change()), change.toString()).toBe(false);
    for (const change of takedowns) {
      expect(await isUrgent(change()), change.toString()).toBe(true);
      expect(await isUrgent(approve(), change()), `an approval and ${change}`).toBe(true);
    }
    await database.close();
  });
});

test('without updated_at, says that it publishes at the times of GENERATE_CRON only', async () => {
  const { url, database } = await makeSite('sqlite', false);
  await database.close();
  const { poll, log } = startPolling(url);
  expect(await poll()).toEqual([]);
  expect(log()).toContain('the database does not have games.updated_at, covers.updated_at');
});

describe('runs', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function makePace(seconds = 1) {
    const started: number[] = [];
    const failures: boolean[] = [];
    let hasRead = true;
    const run = async () => {
      started.push(Math.round(performance.now() / 1000));
      await vi.advanceTimersByTimeAsync(0);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
      return hasRead;
    };
    const pace = paceRuns(10_000, run, (isUrgent) => failures.push(isUrgent));
    const start = Math.round(performance.now() / 1000);
    return {
      pace,
      failures,
      fail: () => {
        hasRead = false;
      },
      times: () => started.map((at) => at - start),
    };
  }

  test('start at once, then at most every ten seconds, and once more after the last change', async () => {
    const { pace, times } = makePace();
    pace.request(false);
    for (let second = 0; second < 15; second++) {
      await vi.advanceTimersByTimeAsync(1_000);
      pace.request(false);
    }
    await vi.advanceTimersByTimeAsync(60_000);
    expect(times()).toEqual([0, 10, 20, 30]);
  });

  test('do not wait if they are urgent, but never overlap', async () => {
    const { pace, times } = makePace(4);
    pace.request(false);
    await vi.advanceTimersByTimeAsync(1_000);
    pace.request(true);
    pace.request(false);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(times()).toEqual([0, 4]);
    pace.stop();
  });

  test('that fail are reported, and are not followed by another one', async () => {
    const { pace, times, failures, fail } = makePace();
    fail();
    pace.request(false);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(failures).toEqual([false]);
    expect(times()).toEqual([0]);
  });

  test('that are urgent and fail stay urgent, unless they fail again and again', async () => {
    const { pace, failures, fail } = makePace();
    fail();
    for (let i = 0; i < 12; i++) {
      pace.request(true);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(failures).toEqual([...Array(9).fill(true), false, false, false]);
  });
});
