/**
 * A fleet that loses everything behind its edges: the origin, the snapshot store, the key store
 * and Redis. Reads continue, the age of what is served is visible, and all recovers by itself.
 */
import { renameSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { end } from '../../support/product.ts';
import { startFrontClients } from '../../support/servers/front-clients.ts';
import { printFigure, rounds } from '../rounds.ts';
import { until } from '../support/until.ts';
import { type Edge, type Fleet, hasKeys, startFleet } from './fleet.ts';

const PROMISE = 'Fleet without its origin, stores and Redis';
const GONE_MS = rounds(6_000, 300_000);
const RECENT = expect.toSatisfy((seconds: number) => seconds <= 15, 'at most 15');
const CLIENTS = { connections: 8, streams: 4 };

let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet(seededCatalogue({ games: 2_000, seed: 6 }));
});

const stateOf = async ({ proxy }: Edge) => (await proxy.readyz()).json;

test('no read fails, ages grow, and everything recovers by itself', {
  timeout: GONE_MS + 180_000,
}, async () => {
  const { edges, stores } = fleet;
  const schedule = fleet.startSchedule();
  const key = await fleet.keys('issue', '--limit', '1000000');
  for (const { proxy } of edges) await hasKeys(proxy, 1);
  await until(async () => (await stateOf(edges[0])).limits.mode === 'shared');
  const headers = { 'x-api-key': key };
  const clients = await startFrontClients(
    fleet.nginx,
    ['/api/v1/stats', '/api/v1/search?q=the', '/api/v1/platforms'].map((path) => ({
      method: 'GET',
      path,
      headers,
    })),
    CLIENTS,
  );

  await end(schedule, 'SIGKILL');
  await fleet.redis.kill();
  const folders = [stores.snapshots, stores.keys];
  for (const folder of folders) renameSync(folder, `${folder}-gone`);
  await pause(GONE_MS);
  const during = await Promise.all(edges.map(stateOf));
  for (const { ready, snapshot_age_seconds, keys_age_seconds, limits, replica } of during) {
    expect(ready).toBe(true);
    expect(limits.mode).toBe('local');
    const least = GONE_MS / 1000 - 2;
    expect(snapshot_age_seconds).toBeGreaterThanOrEqual(least);
    expect(keys_age_seconds).toBeGreaterThanOrEqual(least);
    expect(replica).not.toBeNull();
  }

  for (const folder of folders) renameSync(`${folder}-gone`, folder);
  await fleet.redis.restart();
  fleet.startSchedule();
  await clients.stop();
  expect(clients.faults().slice(0, 20)).toEqual([]);
  const database = await openDatabase(fleet.databaseUrl);
  await database.run("UPDATE games SET title = 'After the outage' WHERE id = 1", []);
  await database.close();
  const id = await fleet.publish();
  for (const edge of edges) {
    await expect
      .poll(() => stateOf(edge), { timeout: 90_000, interval: 100 })
      .toMatchObject({
        snapshot: id,
        limits: { mode: 'shared', error: null },
        keys_age_seconds: RECENT,
      });
  }
  printFigure(PROMISE, `${GONE_MS / 1000} s, ${clients.count()} reads: 0 failed`);
});
