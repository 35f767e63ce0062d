/**
 * A whole fleet on loopback, as OPERATIONS.md describes it: an origin with a database and `schedule`, which
 * pushes to depots; edges that each run a replica and a proxy; Redis for the limits of all; and nginx, which
 * balances the load over the proxies. Everything ends with the test file.
 */

import { runGenerator } from '#cli/generate.ts';
import { createKeysTables } from '#keys/tables/schema.ts';
import { openDatabase } from '#lib/database/open.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { until } from '#test/soak/support/until.ts';
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
import { startNginx } from '#test/support/servers/nginx.ts';
import { startRedis } from '#test/support/servers/redis.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

/** The proxy of a replica. */
export interface Edge {
  readonly proxy: ProxyProgram;
}

/** Starts a fleet with two edges, the number of proxies in the shipped nginx configuration. */
export async function startFleet() {
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
  // The line that OPERATIONS.md adds to nginx's upstream when limits are shared.
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
