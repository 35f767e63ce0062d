/**
 * A fleet behind the real nginx: everything behind its edges goes away, and clients notice nothing; keys are
 * revoked.
 */
import { renameSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runGenerator } from '#cli/generate.ts';
import { createKeysTables } from '#keys/tables/schema.ts';
import { openDatabase } from '#lib/database/open.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { IS_FULL, printFigure, rounds } from '#test/soak/rounds.ts';
import { median } from '#test/soak/support/median.ts';
import { until } from '#test/soak/support/until.ts';
import { change } from '#test/support/databases.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import type { Texts } from '#test/support/processes.ts';
import {
  generatorVariables,
  type ProxyProgram,
  runCommand,
  runKeys,
  startLogged,
  startProxyProgram,
} from '#test/support/product.ts';
import { newDepotFolder } from '#test/support/replicas.ts';
import { underLoad as frontUnderLoad } from '#test/support/servers/front-clients.ts';
import { startNginx } from '#test/support/servers/nginx.ts';
import { startRedis } from '#test/support/servers/redis.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

/** The proxy of a replica. */
interface Edge {
  readonly proxy: ProxyProgram;
}

/**
 * Starts a whole fleet on loopback, as operations/replicas.md describes it: an origin with a database and `schedule`, which
 * pushes to depots; edges that each run a replica and a proxy; Redis for the limits of all; and nginx.
 * It has two edges, the number of proxies in the shipped nginx configuration.
 */
async function startFleet() {
  const redis = await startRedis();
  atEndOfFile(redis.stop);
  const databaseUrl = await makeSqlite(seededCatalogue({ games: 2_000, seed: 6 }));
  const database = await openDatabase(databaseUrl);
  await createKeysTables(database);
  await database.close();
  const [snapshots, keys] = [newDepotFolder(), newDepotFolder()];
  const origin = {
    ...generatorVariables(databaseUrl, newSnapshots()),
    SNAPSHOT_PUSH: snapshots,
    KEYS_DEPOT: keys,
    GENERATE_CRON: 'off',
  };
  const publish = async (): Promise<string> => {
    const { stdout, stderr } = await runCommand(runGenerator, ['--json'], origin);
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout).id;
  };
  await publish();
  const environment = { KEYS_DEPOT: keys, LIMITS_URL: redis.url, TRUSTED_PROXIES: '127.0.0.1' };
  const edges = [
    await startEdge(snapshots, environment),
    await startEdge(snapshots, environment),
  ] as const;
  // The line that operations/replicas.md adds to nginx's upstream when limits are shared.
  const [first, second] = edges.map(
    ({ proxy }) => `server 127.0.0.1:${proxy.port} max_fails=3 fail_timeout=1s;`,
  );
  const nginx = await startNginx(edges[0].proxy.port, [[`${first}`, `${first}\n${second}`]], {
    backupPort: edges[1].proxy.port,
  });
  atEndOfFile(nginx.stop);
  let issued = 0;
  return {
    databaseUrl,
    edges,
    redis,
    nginx,
    /** The folders to which the origin pushes. */
    depots: [snapshots, keys],
    /** Generates from the database and pushes. @returns the id of the generation */
    publish,
    /** Issues a key, and waits until all proxies have it. */
    async issue(limit = 1_000_000): Promise<string> {
      const { stdout } = await runKeys(databaseUrl, ['issue', '--limit', `${limit}`]);
      issued++;
      // A request with a key that is not known yet would count as a guess.
      for (const { proxy } of edges) {
        await until(async () => (await proxy.readyz()).json.keys === issued);
      }
      return stdout.trim();
    },
    startSchedule: () => startLogged('schedule', [], origin),
  };
}

/** Starts a replica and its proxy. @param from the depot of the snapshots */
async function startEdge(from: string, environment: Texts): Promise<Edge> {
  const variables = { ...environment, SNAPSHOTS_DIR: newSnapshots() };
  startLogged('replica', ['--from', from], variables);
  return { proxy: await startProxyProgram(variables.SNAPSHOTS_DIR, variables) };
}

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
  return frontUnderLoad(fleet.nginx, requests, 15, work);
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
