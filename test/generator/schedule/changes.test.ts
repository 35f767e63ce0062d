/**
 * The schedule publishes changes in the database: soon, rarely enough, and what was taken down at once.
 * Without `updated_at`, it says that it does not.
 */
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { paceRuns } from '../../../generator/schedule/pace-runs.ts';
import { pollChanges } from '../../../generator/schedule/poll-changes.ts';
import { isTakedown, readTableState } from '../../../generator/schedule/table-state.ts';
import { makeTasks } from '../../../program/admin/tasks.ts';
import { makeLog } from '../../../program/log.ts';
import { currentId } from '../../../store/generations/generations.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { KINDS, type Kind, makeDatabase } from '../../support/databases.ts';
import { end, makeFolder, startProgram, until } from '../../support/product.ts';
import { addTimes } from '../reuse/random-changes.ts';

async function makeSite(kind: Kind, isTimed = true) {
  const url = await makeDatabase(kind);
  const database = await openDatabase(url);
  await loadCatalogue(database, sampleCatalogue());
  if (isTimed) await addTimes(database);
  return { url, database };
}

function startSchedule(url: string, environment: Readonly<Record<string, string>> = {}) {
  const dir = path.join(makeFolder(), 'snapshots');
  const child = startProgram('generator/cli/schedule.ts', [], {
    DATABASE_URL: url,
    SNAPSHOTS_DIR: dir,
    GENERATE_CRON: '0 0 1 1 *',
    ...environment,
  });
  let log = '';
  child.stdout?.resume();
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    log += text;
  });
  return { dir, log: () => log, stop: () => end(child, 'SIGTERM') };
}

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

describe.each(KINDS)('on %s', (kind) => {
  test('publishes a takedown without waiting for PUBLISH_AT_MOST_EVERY', async () => {
    const { url, database } = await makeSite(kind);
    const schedule = startSchedule(url, {
      CHANGE_POLL_SECONDS: '1',
      PUBLISH_AT_MOST_EVERY: '3600',
    });
    // The first poll requests a run, because it does not know what has been published.
    await until(() => schedule.log().includes('"outcome":"unchanged"'));
    expect(schedule.log()).toContain('changes in the database are published at once');
    const first = currentId(schedule.dir);
    await describeGame(database);
    await pause(2_500);
    expect(currentId(schedule.dir)).toBe(first);
    await reject(database);
    await until(() => currentId(schedule.dir) !== first);
    const ofTakedown = new RegExp(`"id":"${currentId(schedule.dir)}".*"read_all_because":null`);
    await until(() => ofTakedown.test(schedule.log()));
    expect(await schedule.stop()).toBe(0);
    await database.close();
  });

  test('requests a run for a commit that changes neither numbers nor latest times', async () => {
    const { url, database } = await makeSite(kind);
    await database.run("UPDATE games SET updated_at = '2036-01-01 00:00:00' WHERE id = 1002");
    const requests: boolean[] = [];
    const changes = pollChanges({
      databaseUrl: url,
      seconds: 0.2,
      tasks: makeTasks(new Registry()),
      log: makeLog('silent'),
      request: (isUrgent) => requests.push(isUrgent),
      longestTrust: 3_000,
    });
    await until(() => requests.length > 0);
    // InnoDB's time of the commits above counts as recent for two seconds.
    await pause(3_500);
    const before = requests.length;
    await describeGame(database);
    await until(() => requests.length > before);
    expect(requests).not.toContain(true);
    await changes.stop();
    await database.close();
  });

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
  const schedule = startSchedule(url);
  await until(() =>
    schedule.log().includes('the database does not have games.updated_at, covers.updated_at'),
  );
  expect(await schedule.stop()).toBe(0);
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
    const pace = paceRuns({
      milliseconds: 10_000,
      run: async () => {
        started.push(Math.round(performance.now() / 1000));
        await vi.advanceTimersByTimeAsync(0);
        await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
        return hasRead;
      },
      onFailure: (isUrgent) => failures.push(isUrgent),
    });
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
