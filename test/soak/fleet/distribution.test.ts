/**
 * From publishing to all replicas: how long it takes until every proxy serves a new generation, and how
 * many bytes a replica receives for one change.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { currentId } from '../../../generations/generations.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { sharedCatalogue } from '../../catalogue/shared.ts';
import { makeSqlite } from '../../catalogue/snapshots.ts';
import {
  end,
  generate,
  makeFolder,
  type ProxyProgram,
  runProgram,
  startProgram,
  startProxyProgram,
} from '../../support/product.ts';
import { filesOf, newSigningKey } from '../../support/replicas.ts';
import { newSnapshots } from '../../support/wholeness.ts';
import { IS_FULL, printFigure, rounds } from '../rounds.ts';
import { median } from '../support/median.ts';

const REPLICAS = IS_FULL ? 8 : 3;
const ROUNDS = rounds(2, 10);
/** The statement of each round: another cover or game, in the middle of the catalogue. */
const CHANGES = {
  'a rejected cover': (round: number) =>
    `UPDATE covers SET status = 'rejected' WHERE id = (SELECT id FROM covers WHERE status = 'approved' ORDER BY id LIMIT 1 OFFSET ${1000 + round})`,
  'a changed title': (round: number) =>
    `UPDATE games SET title = 'Aardvark, changed ${round}' WHERE id = (SELECT id FROM games ORDER BY slug LIMIT 1 OFFSET ${2000 + round})`,
};
/** Asking eight proxies every 20 ms would take a fifth of a core from the replicas. */
const ASK_MS = 100;

const { privatePem, publicPem } = newSigningKey();
const depot = path.join(makeFolder(), 'depot');
const origin = newSnapshots();
let databaseUrl: string;
let edges: { replica: ReturnType<typeof startProgram>; log: () => string; proxy: ProxyProgram }[];

beforeAll(async () => {
  mkdirSync(depot, { mode: 0o700 });
  const seeded = () => seededCatalogue({ games: 4_000, seed: 4, platforms: 190 });
  databaseUrl = await makeSqlite((IS_FULL ? sharedCatalogue() : undefined) ?? seeded());
  await publish();
  edges = await Promise.all(Array.from({ length: REPLICAS }, startEdge));
  await served();
});
afterAll(async () => {
  await Promise.all(edges.flatMap(({ replica, proxy }) => [end(replica, 'SIGTERM'), proxy.stop()]));
});

/** @returns when the generation became current at the origin */
async function publish(): Promise<number> {
  await generate(databaseUrl, origin);
  const published = performance.now();
  const run = await runProgram('commands/push.ts', ['--to', depot], {
    SNAPSHOTS_DIR: origin,
    SNAPSHOT_SIGNING_KEY: privatePem,
  });
  expect(run.code, run.stderr).toBe(0);
  return published;
}

async function startEdge() {
  const snapshotsDir = newSnapshots();
  const replica = startProgram('commands/replica.ts', ['--from', depot], {
    SNAPSHOTS_DIR: snapshotsDir,
    SNAPSHOT_PUBLIC_KEYS: publicPem,
  });
  let log = '';
  replica.stderr?.setEncoding('utf8').on('data', (text) => {
    log += text;
  });
  return { replica, log: () => log, proxy: await startProxyProgram(snapshotsDir) };
}

/** Waits until every proxy serves the current generation of the origin. */
async function served(): Promise<void> {
  const id = currentId(origin);
  const isServed = async (proxy: ProxyProgram) => (await proxy.readyz()).json.snapshot === id;
  for (;;) {
    const all = await Promise.all(edges.map(({ proxy }) => isServed(proxy)));
    if (all.every(Boolean)) return;
    await new Promise((resolve) => setTimeout(resolve, ASK_MS));
  }
}

/** How many bytes each replica received for its last pull. */
const received = () =>
  edges.map(({ log }): number => {
    const line = log()
      .split('\n')
      .findLast((text) => text.includes('published a generation'));
    return JSON.parse(line ?? '{}').received;
  });

test(`one change is served by ${REPLICAS} replicas`, async () => {
  const files = [...filesOf(origin, currentId(origin) as string).values()];
  const size = files.reduce((sum, file) => sum + file.length, 0);
  const figures: string[] = [];
  for (const [name, statement] of Object.entries(CHANGES)) {
    const times: Record<'pushed' | 'served' | 'bytes', number[]> = {
      pushed: [],
      served: [],
      bytes: [],
    };
    for (let round = 0; round < ROUNDS; round++) {
      const database = await openDatabase(databaseUrl);
      await database.run(statement(round), []);
      await database.close();
      const published = await publish();
      times.pushed.push(performance.now() - published);
      await served();
      times.served.push(performance.now() - published);
      times.bytes.push(Math.max(...received()));
      expect(times.bytes.at(-1)).toBeLessThan(size);
    }
    const seconds = (values: number[]) => (median(values) / 1000).toFixed(1);
    const megabytes = (median(times.bytes) / 1e6).toFixed(2);
    figures.push(
      `${name}: pushed after ${seconds(times.pushed)} s, served by all after ${seconds(times.served)} s, ${megabytes} of ${(size / 1e6).toFixed(0)} MB fetched by each`,
    );
  }
  printFigure(`${REPLICAS} replicas on one machine, median of ${ROUNDS}`, figures.join('; '));
});
