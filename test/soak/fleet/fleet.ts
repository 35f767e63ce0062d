/**
 * A whole fleet on loopback, as OPERATIONS.md describes it: an origin with a real database that pushes
 * to a store, edges that each run a replica and a proxy, Redis for the limits of all, and nginx, which
 * balances the load over the proxies. Everything ends with the test file.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { createKeysTables } from '../../../keys/tables/schema.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { makeSqlite } from '../../catalogue/snapshots.ts';
import {
  end,
  makeFolder,
  type ProxyProgram,
  runProgram,
  startProgram,
  startProxyProgram,
} from '../../support/product.ts';
import { type RunningNginx, startNginx } from '../../support/servers/nginx.ts';
import { freePort } from '../../support/servers/ports.ts';
import { type RedisServer, startRedis } from '../../support/servers/redis.ts';
import { BUCKET, type RunningS3 } from '../../support/servers/s3.ts';
import { until } from '../support/until.ts';

export interface Edge {
  readonly snapshotsDir: string;
  proxy: ProxyProgram;
  replica: ChildProcess;
  /** Restarts the replica and the proxy, as an upgrade does. Resolves when the proxy is ready. */
  restart(): Promise<void>;
}

/** Where the origin pushes to: the addresses of both stores, and the variables that they need. */
export interface Stores {
  readonly snapshots: string;
  readonly keys: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Stores in new folders. */
export function storesInFolders(): Stores {
  const [snapshots, keys] = [path.join(makeFolder(), 'store'), path.join(makeFolder(), 'keys')];
  mkdirSync(snapshots);
  mkdirSync(keys);
  return { snapshots, keys, environment: {} };
}

export function storesInS3({ environment }: RunningS3): Stores {
  return { snapshots: `s3://${BUCKET}/public`, keys: `s3://${BUCKET}/private`, environment };
}

export interface Fleet {
  readonly databaseUrl: string;
  readonly edges: readonly Edge[];
  readonly redis: RedisServer;
  readonly nginx: RunningNginx;
  readonly stores: Stores;
  /** Generates from the database and pushes. @returns the id of the generation */
  publish(): Promise<string>;
  /** Runs a verb of `cover-catalogue keys`. @returns its output */
  keys(...args: string[]): Promise<string>;
  startSchedule(): ChildProcess;
}

/** Starts a fleet with two edges, the number of proxies in the shipped nginx configuration. */
export async function startFleet(catalogue: Catalogue, stores = storesInFolders()): Promise<Fleet> {
  const redis = await startRedis();
  const databaseUrl = await makeSqlite(catalogue);
  const database = await openDatabase(databaseUrl);
  await createKeysTables(database);
  await database.close();
  const origin = {
    DATABASE_URL: databaseUrl,
    SNAPSHOTS_DIR: path.join(makeFolder(), 'snapshots'),
    SNAPSHOT_PUSH: stores.snapshots,
    KEYS_STORE: stores.keys,
    ...stores.environment,
    SITE_URL: 'https://covers.example',
    FILES_URL: 'https://files.covers.example',
    PUBLIC_URL: 'https://api.covers.example',
    GENERATE_CRON: 'off',
  };

  async function run(program: string, args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await runProgram(program, args, origin);
    if (code === 0) return stdout.trim();
    throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${stderr}`);
  }
  const publish = async () =>
    (JSON.parse(await run('generator/cli/main.ts', ['--json'])) as { id: string }).id;
  await publish();

  const edges = [await startEdge(stores, redis.url), await startEdge(stores, redis.url)];
  const [first, second] = edges as [Edge, Edge];
  // The line that OPERATIONS.md adds to nginx's upstream when limits are shared.
  const serverLine = ({ proxy }: Edge) =>
    `server 127.0.0.1:${proxy.port} max_fails=3 fail_timeout=1s;`;
  const nginx = await startNginx(
    first.proxy.port,
    [[serverLine(first), `${serverLine(first)}\n${serverLine(second)}`]],
    { backupPort: second.proxy.port },
  );
  const fleet = {
    databaseUrl,
    edges,
    redis,
    nginx,
    stores,
    publish,
    keys: (...args: string[]) => run('keys/cli/main.ts', args),
    startSchedule: () => startQuietly('generator/cli/schedule.ts', [], origin),
  };
  afterAll(async () => {
    await nginx.stop();
    await Promise.all(
      edges.flatMap(({ proxy, replica }) => [proxy.stop(), end(replica, 'SIGTERM')]),
    );
    await redis.stop();
  });
  return fleet;
}

async function startEdge(stores: Stores, limitsUrl: string): Promise<Edge> {
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  const environment = {
    SNAPSHOTS_DIR: snapshotsDir,
    KEYS_STORE: stores.keys,
    LIMITS_URL: limitsUrl,
    PORT: String(await freePort()),
    ADMIN_PORT: String(await freePort()),
    TRUSTED_PROXIES: '127.0.0.1',
  };
  const startReplica = () =>
    startQuietly('commands/replica.ts', ['--from', stores.snapshots], {
      ...environment,
      ...stores.environment,
    });
  const edge = {
    snapshotsDir,
    replica: startReplica(),
    proxy: await startProxyProgram(snapshotsDir, environment),
    async restart() {
      await Promise.all([end(edge.replica, 'SIGTERM'), edge.proxy.stop()]);
      edge.replica = startReplica();
      edge.proxy = await startProxyProgram(snapshotsDir, environment);
      await isReady(edge.proxy);
    },
  };
  return edge;
}

function isReady(proxy: ProxyProgram): Promise<void> {
  return until(async () => (await proxy.readyz()).status === 200);
}

/**
 * Waits until a proxy is ready and has this many keys. It sends no requests with keys: too many with
 * unknown ones would reach the limit of their address.
 */
export async function hasKeys(proxy: ProxyProgram, count: number): Promise<void> {
  await isReady(proxy);
  await until(async () => (await proxy.readyz()).json.keys === count);
}

function startQuietly(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): ChildProcess {
  const child = startProgram(program, args, environment);
  child.stdout?.resume();
  child.stderr?.resume();
  return child;
}
