/**
 * Keys and their use over several machines: a database with `schedule`, a key store, and two
 * replicas with a proxy each, all as processes.
 */
import { renameSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { hashKey, makeKey } from '../../../format/api-key.ts';
import { createKeysTables } from '../../../keys/tables/schema.ts';
import { makeKeyPair, readSigningKey } from '../../../store/signatures/keys.ts';
import { end, type ProxyProgram, startProgram, startProxyProgram } from '../../support/product.ts';
import { newSnapshots, SETTINGS } from '../../support/wholeness.ts';
import { IS_SOAK, printFigure, rounds } from '../rounds.ts';
import { until } from '../support/until.ts';
import { makeOrigin, newStoreFolder, type ReplicaOrigin } from './make-replicas.ts';

const REVOCATIONS = rounds(2, 50);
/** These tests ask again and again with keys that are not valid yet. */
const LIMITS = { ADDRESS_RATE_LIMIT: '1000000' };
/** The short form runs beside other tests. */
const REVOKED_WITHIN_MS = IS_SOAK ? 5_000 : 15_000;

interface Edge {
  readonly snapshotsDir: string;
  readonly replica: ReturnType<typeof startProgram>;
  proxy: ProxyProgram;
}

const { privateKey, publicKey } = makeKeyPair();
const keysStore = newStoreFolder();
let origin: ReplicaOrigin;
let schedule: ReturnType<typeof startProgram>;
let edges: Edge[];

beforeAll(async () => {
  origin = await makeOrigin([readSigningKey(privateKey)]);
  await inDatabase(createKeysTables);
  schedule = startProgram('generator/cli/schedule.ts', [], {
    DATABASE_URL: origin.databaseUrl,
    SNAPSHOTS_DIR: origin.snapshotsDir,
    ...SETTINGS,
    GENERATE_CRON: 'off',
    KEYS_STORE: keysStore,
    SNAPSHOT_SIGNING_KEY: privateKey,
  });
  edges = await Promise.all(['one', 'two'].map(startEdge));
});
afterAll(async () => {
  await Promise.all(edges.flatMap(({ replica, proxy }) => [end(replica, 'SIGTERM'), proxy.stop()]));
  await end(schedule, 'SIGTERM');
});

async function startEdge(name: string): Promise<Edge> {
  const snapshotsDir = newSnapshots();
  // It starts before there is a snapshot or a key in its folder.
  const replica = startProgram('commands/replica.ts', [], {
    REPLICA_FROM: origin.snapshotsDir,
    REPLICA_NAME: name,
    SNAPSHOTS_DIR: snapshotsDir,
    KEYS_STORE: keysStore,
    SNAPSHOT_PUBLIC_KEYS: publicKey,
    LOG_LEVEL: 'warn',
  });
  replica.stderr?.resume();
  return { snapshotsDir, replica, proxy: await startProxyProgram(snapshotsDir, LIMITS) };
}

async function inDatabase<T>(
  work: (database: Awaited<ReturnType<typeof openDatabase>>) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(origin.databaseUrl);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

async function issueKey(id: number): Promise<string> {
  const key = makeKey();
  await inDatabase((database) =>
    database.run(
      `INSERT INTO api_keys (id, purpose, website_url, state, limit_per_minute, key_hash, requested_at) VALUES (?, '', '', 'approved', 100000, ?, '2026-01-01 00:00:00')`,
      [id, hashKey(key)],
    ),
  );
  return key;
}

/** Waits until every proxy answers with a status. @returns how long that took */
async function everywhere(key: string, status: number): Promise<number> {
  const began = performance.now();
  const isThere = async ({ proxy }: Edge) => (await proxy.get('/stats', key)).status === status;
  await Promise.all(edges.map((edge) => until(() => isThere(edge))));
  return performance.now() - began;
}

test(`a key that is revoked in the database is refused everywhere within ${REVOKED_WITHIN_MS} ms`, {
  timeout: 900_000,
}, async () => {
  const times: number[] = [];
  for (let id = 1; id <= REVOCATIONS; id++) {
    const key = await issueKey(id);
    await everywhere(key, 200);
    // The moment differs from round to round in relation to all intervals.
    await new Promise((resolve) => setTimeout(resolve, (id * 377) % 2000));
    await inDatabase((database) =>
      database.run("UPDATE api_keys SET state = 'revoked' WHERE id = ?", [id]),
    );
    times.push(await everywhere(key, 401));
  }
  times.sort((a, b) => a - b);
  printFigure(
    'A revoked key is refused by all proxies of a fleet',
    `${times.length} revocations, median ${Math.round(times[times.length >> 1])} ms, at most ${Math.round(times.at(-1) as number)} ms`,
  );
  expect(times.at(-1)).toBeLessThan(REVOKED_WITHIN_MS);
});

test('the use of a key at replicas reaches the database, and each request counts once', async () => {
  const key = await issueKey(1_000);
  await everywhere(key, 200);
  const [edge] = edges as [Edge];
  // A proxy reports at its end; otherwise once a minute.
  await edge.proxy.stop();
  const today = new Date().toISOString().slice(0, 10);
  await until(async () => {
    const [row] = await inDatabase((database) =>
      database.rows('SELECT last_used_on FROM api_keys WHERE id = 1000'),
    );
    return row?.[0] === today;
  });
  edge.proxy = await startProxyProgram(edge.snapshotsDir, LIMITS);
  expect((await edge.proxy.get('/stats', key)).status).toBe(200);
  // Two runs of this proxy, and one of the other, with a request each.
  for (const each of edges) {
    await each.proxy.stop();
    each.proxy = await startProxyProgram(each.snapshotsDir, LIMITS);
  }
  const counted = () =>
    inDatabase(async (database) =>
      (
        await database.rows(
          'SELECT COUNT(*), SUM(requests) FROM key_usage WHERE key_id = 1000 GROUP BY key_id',
        )
      ).flat(),
    );
  // Requests that `everywhere` sent before the key had arrived do not count.
  await until(async () => (await counted())[0] === 3);
  expect(await counted()).toEqual([3, 3]);
});

test('without the key store, known keys stay valid and their age is visible', async () => {
  const key = await issueKey(2_000);
  await everywhere(key, 200);
  renameSync(keysStore, `${keysStore}-gone`);
  const [{ proxy }] = edges as [Edge];
  const keysOf = async () => (await proxy.readyz()).json.replica.keys;
  await until(async () => (await keysOf()).error !== null);
  await until(async () => (await keysOf()).age_seconds >= 2);
  expect((await proxy.readyz()).json.replica.keys.error).toContain('does not exist');
  expect((await proxy.get('/stats', key)).status).toBe(200);
  renameSync(`${keysStore}-gone`, keysStore);
  await until(async () => (await keysOf()).error === null);
  expect((await keysOf()).age_seconds).toBeLessThan(2);
  expect(await everywhere(await issueKey(2_001), 200)).toBeLessThan(REVOKED_WITHIN_MS);
});
