/**
 * From the database to the API: how long a cover that was rejected, deleted or moved stays visible, and a
 * game that was deleted or made invalid, with the real schedule and the real proxy. The full form uses the
 * real catalogue if this machine has it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { openDatabase } from '#lib/database/open.ts';
import { TIMED_TABLES } from '#lib/database/schema.ts';
import { SITE } from '#test/catalogue/make-sample.ts';
import { makeLoaded } from '#test/catalogue/snapshots.ts';
import { startSchedule } from '#test/generator/schedule/start-schedule.ts';
import { IS_FULL, printFigure, rounds } from '#test/soak/rounds.ts';
import { median } from '#test/soak/support/median.ts';
import { until } from '#test/soak/support/until.ts';
import { wholeCatalogue } from '#test/soak/support/whole-catalogue.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { generate, runKeys, startProxyProgram } from '#test/support/product.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

const TAKEDOWNS = rounds(6, 20);
/** Times are only compared in the full form, which needs a machine that is not too busy. */
const limit = (ms: number) => (IS_FULL ? ms : 30_000);
/** Longer than from one run to the next, so that a takedown may come at any time before, in or after one. */
const LONGEST_PAUSE_MS = IS_FULL ? 6_000 : 500;

const random = makeRandom(18);
const snapshotsDir = newSnapshots();

const { catalogue } = wholeCatalogue({ full: 150_000, quick: 400 });
const url = await makeLoaded('mysql', catalogue);
const database = await openDatabase(url);
atEndOfFile(database.close);
for (const table of TIMED_TABLES) {
  await database.run(
    `ALTER TABLE ${table} ADD COLUMN updated_at DATETIME NULL
      DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, ADD INDEX (updated_at)`,
  );
  await database.run(`UPDATE ${table} SET updated_at = '2020-01-01 00:00:00'`);
}
await generate(url, snapshotsDir);
const CHANGE_POLL_SECONDS = IS_FULL ? '2' : '1';
startSchedule(url, snapshotsDir, { ...SITE, CHANGE_POLL_SECONDS });
const key = (await runKeys(url, ['issue', '--limit', '1000000'])).stdout.trim();
const proxy = await startProxyProgram(snapshotsDir);
await until(async () => (await proxy.get('/stats', key)).status === 200);

/** What is taken down, and the statements of the transaction. */
const KINDS: readonly (readonly ['cover' | 'game', ...string[]])[] = [
  ['cover', "UPDATE covers SET status = 'rejected' WHERE id = ?"],
  ['cover', 'DELETE FROM cover_files WHERE cover_id = ?', 'DELETE FROM covers WHERE id = ?'],
  [
    'game',
    'DELETE FROM cover_files WHERE cover_id IN (SELECT id FROM covers WHERE game_id = ?)',
    'DELETE FROM covers WHERE game_id = ?',
    'DELETE FROM games WHERE id = ?',
  ],
  [
    'cover',
    "UPDATE covers SET status = 'deleted' WHERE id = ?",
    "UPDATE covers SET status = 'approved' WHERE status = 'pending' LIMIT 1",
  ],
  ['cover', 'UPDATE covers SET game_id = 9000000000000000 WHERE id = ?'],
  ['game', "UPDATE games SET title = '' WHERE id = ?"],
];

/** A random approved cover that the API shows, with its game; and where it shows them. */
async function pick() {
  const [[covers = 0] = []] = await database.rows('SELECT COUNT(*) FROM covers');
  for (;;) {
    const [[cover = null, game = null, path = null] = []] = await database.rows(
      `SELECT c.id, g.id, '/games/' || p.slug || '/' || g.slug FROM games g
        JOIN (SELECT id, game_id, status FROM covers ORDER BY id
          LIMIT 1 OFFSET ${random.below(Number(covers))}) c ON c.game_id = g.id AND status = 'approved'
        JOIN platforms p ON p.id = g.platform_id`,
    );
    const target = `/covers/${cover}`;
    if ((await statusOf(target)) !== 200) continue;
    return { cover: { id: cover, target }, game: { id: game, target: String(path) } };
  }
}

const statusOf = async (target: string) => (await proxy.get(target, key)).status;

/** Takes something down. @returns how long the API still showed it, in milliseconds */
async function measure([of, ...statements]: (typeof KINDS)[number]): Promise<number> {
  const { id, target } = (await pick())[of];
  expect(await statusOf(target), target).toBe(200);
  await database.transaction(async ({ run }) => {
    for (const sql of statements) await run(sql, sql.includes('?') ? [id] : []);
  });
  const committed = performance.now();
  while ((await statusOf(target)) !== 404) await pause(10);
  return performance.now() - committed;
}

/** The times of some takedowns, and their greatest median and greatest time, in milliseconds. */
interface Measured {
  readonly kind: string;
  readonly times: number[];
  readonly most: readonly [median: number, longest: number];
}

test(`${TAKEDOWNS} takedowns disappear from the API soon after their commit`, async () => {
  // An index on updated_at shows those whose status changed. The others wait for a run of all changes, which may begin
  // ten seconds after the one before, and takes some seconds itself (operations/database.md).
  const byStatus: Measured = { kind: 'whose status changed', times: [], most: [2_500, 5_000] };
  const others: Measured = { kind: 'of another kind', times: [], most: [6_000, 15_000] };
  for (let i = 0; i < TAKEDOWNS; i++) {
    await pause(random.next() * LONGEST_PAUSE_MS);
    const kind = KINDS[i % KINDS.length];
    const isStatus = kind[1].includes('SET status');
    (isStatus ? byStatus : others).times.push(await measure(kind));
  }
  for (const { kind, times, most } of [byStatus, others]) {
    const [middle, longest] = [median(times), Math.max(...times)].map(Math.round);
    printFigure(
      `A takedown ${kind} disappears from the API`,
      `${times.length} takedowns: median ${middle} ms, at most ${longest} ms`,
    );
    expect(middle).toBeLessThanOrEqual(limit(most[0]));
    expect(longest).toBeLessThanOrEqual(limit(most[1]));
  }
});
