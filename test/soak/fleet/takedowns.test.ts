/**
 * From the database to the API: how long a cover that was rejected, deleted or moved stays visible, and a
 * game that was deleted or made invalid, with the real schedule and the real proxy; and what polling for
 * changes costs the database. The full form uses the real catalogue if this machine has it.
 */
import { lstatSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { TIMED_TABLES } from '../../../database/schema.ts';
import { readTableState } from '../../../generator/schedule/table-state.ts';
import { cpuSeconds } from '../../bench/http/process.ts';
import { median } from '../../bench/part.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { makeRandom } from '../../catalogue/random.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { sharedCatalogue } from '../../catalogue/shared.ts';
import { sharedMariaDb } from '../../support/databases.ts';
import {
  end,
  generate,
  type ProxyProgram,
  runProgram,
  startProgram,
  startProxyProgram,
} from '../../support/product.ts';
import { type MariaDb, type MariaDbAddress, startMariaDb } from '../../support/servers/mariadb.ts';
import { newSnapshots, SETTINGS } from '../../support/wholeness.ts';
import { IS_SOAK, printFigure, rounds } from '../rounds.ts';
import { until } from '../support/until.ts';

const TAKEDOWNS = rounds(6, 100);
/** Times are only compared in the full form, which needs a machine that is not too busy. */
const MEDIAN_MS = IS_SOAK ? 3_000 : 30_000;
const LONGEST_MS = IS_SOAK ? 5_000 : 30_000;
/** Longer than from one run to the next, so that a takedown may come at any time before, in or after one. */
const LONGEST_PAUSE_MS = rounds(500, 12_000);
const IDLE_MS = rounds(0, 60_000);
const POLLS_ALONE = rounds(0, 20);

const DATABASE = 'takedowns';
const random = makeRandom(18);
const snapshotsDir = newSnapshots();
/** In the full form a server of its own, so that its CPU time is that of this test. */
let ownServer: MariaDb | undefined;
let server: MariaDbAddress;
let database: Database;
let schedule: ReturnType<typeof startProgram>;
let proxy: ProxyProgram;
let key: string;

beforeAll(async () => {
  ownServer = IS_SOAK ? await startMariaDb() : undefined;
  server = ownServer ?? (await sharedMariaDb());
  const url = await server.createDatabase(DATABASE);
  database = await openDatabase(url);
  const seeded = () => seededCatalogue({ games: rounds(400, 150_000), seed: 18 });
  await loadCatalogue(database, (IS_SOAK ? sharedCatalogue() : undefined) ?? seeded());
  for (const table of TIMED_TABLES) {
    await database.run(
      `ALTER TABLE ${table} ADD COLUMN updated_at DATETIME NULL
        DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, ADD INDEX (updated_at)`,
    );
    await database.run(`UPDATE ${table} SET updated_at = '2020-01-01 00:00:00'`);
  }
  await generate(url, snapshotsDir);
  schedule = startProgram('generator/cli/schedule.ts', [], {
    ...SETTINGS,
    DATABASE_URL: url,
    SNAPSHOTS_DIR: snapshotsDir,
    GENERATE_CRON: '0 0 1 1 *',
    CHANGE_POLL_SECONDS: String(rounds(1, 2)),
  });
  schedule.stdout?.resume();
  schedule.stderr?.resume();
  const issued = await runProgram('keys/cli/main.ts', ['issue', '--limit', '1000000'], {
    DATABASE_URL: url,
  });
  key = issued.stdout.trim();
  proxy = await startProxyProgram(snapshotsDir);
  await until(async () => (await statusOf('/stats')) === 200);
}, 600_000);

afterAll(async () => {
  await end(schedule, 'SIGTERM');
  await proxy.stop();
  await database.run(`DROP DATABASE ${DATABASE}`);
  await database.close();
  await ownServer?.stop();
});

interface Takedown {
  /** Takes something down. Resolves after the commit. */
  readonly commit: () => Promise<unknown>;
  /** Where the API shows it. */
  readonly target: string;
}

/** A random approved cover that the API shows, with its game. */
async function pickCover() {
  const [[covers = 0] = []] = await database.rows('SELECT COUNT(*) FROM covers');
  for (;;) {
    const [[cover = null, game = null, target = null] = []] = await database.rows(
      `SELECT c.id, g.id, '/games/' || p.slug || '/' || g.slug FROM games g
        JOIN (SELECT id, game_id, status FROM covers ORDER BY id
          LIMIT 1 OFFSET ${random.below(Number(covers))}) c ON c.game_id = g.id AND status = 'approved'
        JOIN platforms p ON p.id = g.platform_id`,
    );
    if ((await statusOf(`/covers/${cover}`)) === 200) return { cover, game, path: String(target) };
  }
}

const KINDS: readonly (() => Promise<Takedown>)[] = [
  async () => {
    const { cover } = await pickCover();
    const sql = "UPDATE covers SET status = 'rejected' WHERE id = ?";
    return { commit: () => database.run(sql, [cover]), target: `/covers/${cover}` };
  },
  async () => {
    const { cover } = await pickCover();
    const commit = () =>
      database.transaction(async ({ run }) => {
        await run('DELETE FROM cover_files WHERE cover_id = ?', [cover]);
        await run('DELETE FROM covers WHERE id = ?', [cover]);
      });
    return { commit, target: `/covers/${cover}` };
  },
  async () => {
    const { game, path: target } = await pickCover();
    const commit = () =>
      database.transaction(async ({ run }) => {
        const covers = '(SELECT id FROM covers WHERE game_id = ?)';
        await run(`DELETE FROM cover_files WHERE cover_id IN ${covers}`, [game]);
        await run('DELETE FROM covers WHERE game_id = ?', [game]);
        await run('DELETE FROM games WHERE id = ?', [game]);
      });
    return { commit, target };
  },
  async () => {
    const { cover } = await pickCover();
    const commit = () =>
      database.transaction(async ({ run }) => {
        await run("UPDATE covers SET status = 'deleted' WHERE id = ?", [cover]);
        await run("UPDATE covers SET status = 'approved' WHERE status = 'pending' LIMIT 1");
      });
    return { commit, target: `/covers/${cover}` };
  },
  async () => {
    const { cover } = await pickCover();
    const sql = 'UPDATE covers SET game_id = 9000000000000000 WHERE id = ?';
    return { commit: () => database.run(sql, [cover]), target: `/covers/${cover}` };
  },
  async () => {
    const { game, path: target } = await pickCover();
    const sql = "UPDATE games SET title = '' WHERE id = ?";
    return { commit: () => database.run(sql, [game]), target };
  },
];

const statusOf = async (target: string) => (await proxy.get(target, key)).status;

/** @returns for each step, how long it took in milliseconds */
async function measure({ commit, target }: Takedown) {
  expect(await statusOf(target), target).toBe(200);
  await commit();
  const committed = Date.now();
  while ((await statusOf(target)) !== 404) await pause(10);
  const gone = Date.now();
  const started = statSync(path.join(snapshotsDir, 'lock.holder')).mtimeMs;
  const published = lstatSync(path.join(snapshotsDir, 'current')).mtimeMs;
  return {
    total: gone - committed,
    poll: started - committed,
    run: published - started,
    switch: gone - published,
  };
}

/** What the programs have used so far: CPU time in seconds, and rows that the server has read. */
async function usage() {
  const counters = await database.rows("SHOW GLOBAL STATUS LIKE 'Handler_read%'");
  return {
    database: cpuSeconds([server.pid]),
    generator: cpuSeconds([Number(schedule.pid)]),
    proxy: cpuSeconds([Number(proxy.child.pid)]),
    rows: counters.reduce((sum, [, value]) => sum + Number(value), 0),
  };
}
type Usage = Awaited<ReturnType<typeof usage>>;

/** What `work` makes the programs use, and how long it takes, in seconds. */
async function during(work: () => Promise<unknown>): Promise<Usage & { seconds: number }> {
  const [before, started] = [await usage(), performance.now()];
  await work();
  const [after, ended] = [await usage(), performance.now()];
  return {
    database: after.database - before.database,
    generator: after.generator - before.generator,
    proxy: after.proxy - before.proxy,
    rows: after.rows - before.rows,
    seconds: (ended - started) / 1000,
  };
}

test(`${TAKEDOWNS} takedowns disappear from the API soon after their commit`, {
  timeout: 7_200_000,
}, async () => {
  // The run that checks for changes after the first one.
  await pause(rounds(0, 30_000));
  const idle = await during(() => pause(IDLE_MS));
  const alone = await during(async () => {
    for (let i = 0; i < POLLS_ALONE; i++) await readTableState(database);
  });
  const times: Awaited<ReturnType<typeof measure>>[] = [];
  const busy = await during(async () => {
    for (let i = 0; i < TAKEDOWNS; i++) {
      await pause(random.next() * LONGEST_PAUSE_MS);
      times.push(await measure(await KINDS[i % KINDS.length]()));
    }
  });
  const totals = times.map(({ total }) => total);
  const longest = Math.max(...totals);
  const [inMiddle, poll, run, change] = (['total', 'poll', 'run', 'switch'] as const).map((step) =>
    Math.round(median(times.map((time) => time[step]))),
  );
  const each = (used: keyof Usage) =>
    (busy[used] - (idle[used] / idle.seconds) * busy.seconds) / TAKEDOWNS;
  const load = IS_SOAK
    ? `. CPU time of each: database ${each('database').toFixed(2)} s, schedule and generator ${each('generator').toFixed(2)} s, proxy ${each('proxy').toFixed(2)} s; the database reads ${Math.round(each('rows'))} rows. ` +
      `Without changes: ${((idle.database / idle.seconds) * 100).toFixed(1)} % of a core and ${Math.round(idle.rows / idle.seconds)} rows a second; ` +
      `a poll takes ${((alone.database / POLLS_ALONE) * 1000).toFixed(0)} ms of CPU time and reads ${Math.round(alone.rows / POLLS_ALONE)} rows`
    : '';
  printFigure(
    'A takedown disappears from the API',
    `${TAKEDOWNS} takedowns: median ${inMiddle} ms, at most ${longest} ms; until the run begins ${poll}, run ${run}, switch ${change} ms (medians)${load}`,
  );
  expect(inMiddle).toBeLessThanOrEqual(MEDIAN_MS);
  expect(longest).toBeLessThanOrEqual(LONGEST_MS);
});
