/**
 * A fleet behind the real nginx: everything behind its edges goes away, and clients notice nothing; keys are
 * revoked.
 */
import { renameSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { IS_FULL, printFigure, rounds } from '#test/soak/rounds.ts';
import { median } from '#test/soak/support/median.ts';
import { until } from '#test/soak/support/until.ts';
import { change } from '#test/support/databases.ts';
import { underLoad as frontUnderLoad } from '#test/support/servers/front-clients.ts';
import { type Edge, startFleet } from './fleet.ts';

const REVOCATIONS = rounds(2, 15);
/** The rest of the machine is busy with the quick form. */
const REVOKED_WITHIN_MS = IS_FULL ? 5_000 : 15_000;
const GONE_MS = IS_FULL ? 60_000 : 6_000;

const fleet = await startFleet();
let schedule = fleet.startSchedule();

const stateOf = async ({ proxy }: Edge) => (await proxy.readyz()).json;

/** Does some work while clients compare all responses. @returns how many there were */
async function underLoad(work: () => Promise<unknown>): Promise<number> {
  const headers = { 'x-api-key': await fleet.issue() };
  const requests = [
    { method: 'GET', path: '/api/v1/stats', headers },
    { method: 'GET', path: '/api/v1/search?per_page=100', headers },
    { method: 'HEAD', path: '/api/v1/platforms', headers },
  ] as const;
  return frontUnderLoad(fleet.nginx, requests, { connections: 10, streams: 5 }, work);
}

// First, because the others would wait a minute for proxies that have been replaced.
test('without origin, depots and Redis no read fails, ages grow, and everything recovers', async () => {
  const { edges, depots } = fleet;
  for (const edge of edges) {
    await until(async () => (await stateOf(edge)).limits.mode === 'shared');
  }
  const requests = await underLoad(async () => {
    await schedule.kill();
    await fleet.redis.kill();
    for (const folder of depots) renameSync(folder, `${folder}-gone`);
    await pause(GONE_MS);
    const least = expect.toSatisfy((seconds: number) => seconds >= GONE_MS / 1000 - 2);
    for (const edge of edges) {
      expect(await stateOf(edge)).toMatchObject({
        ready: true,
        limits: { mode: 'local' },
        snapshot_age_seconds: least,
        keys_age_seconds: least,
        replica: { keys: { error: expect.stringContaining('does not exist') } },
      });
    }
    for (const folder of depots) renameSync(`${folder}-gone`, folder);
    await fleet.redis.restart();
    schedule = fleet.startSchedule();
  });
  await change(fleet.databaseUrl, "UPDATE games SET title = 'After the outage' WHERE id = 1");
  const id = await fleet.publish();
  for (const edge of edges) {
    await until(async () => {
      const { snapshot, limits, keys_age_seconds } = await stateOf(edge);
      return snapshot === id && limits.mode === 'shared' && keys_age_seconds < 15;
    });
  }
  printFigure(
    'A fleet without its origin, depots and Redis',
    `${GONE_MS / 1000} s, ${requests} reads: 0 failed`,
  );
});

test('a key that is revoked in the database is refused at all edges within seconds', async () => {
  const times: number[] = [];
  for (let round = 0; round < REVOCATIONS; round++) {
    const key = await fleet.issue();
    // The moment differs from round to round in relation to all intervals.
    await pause((round * 377) % 2000);
    const newest = '(SELECT MAX(id) FROM api_keys)';
    await change(fleet.databaseUrl, `UPDATE api_keys SET state = 'revoked' WHERE id = ${newest}`);
    const revoked = performance.now();
    for (const { proxy } of fleet.edges) {
      await until(async () => (await proxy.get('/stats', key)).status === 401);
    }
    times.push(performance.now() - revoked);
  }
  const most = Math.max(...times);
  printFigure(
    'A revoked key is refused by all proxies of a fleet',
    `${REVOCATIONS} revocations, median ${median(times).toFixed(0)} ms, at most ${most.toFixed(0)} ms`,
  );
  expect(most).toBeLessThan(REVOKED_WITHIN_MS);
});
