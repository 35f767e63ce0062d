/**
 * From publishing to all replicas: how long it takes until every proxy serves a new generation, and how
 * many bytes a replica receives for one change.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { makeKeyPair } from '../../../depot/signatures/keys.ts';
import { currentId } from '../../../generations/generations.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSqlite } from '../../catalogue/snapshots.ts';
import { filesOf } from '../../support/mirrors.ts';
import {
  end,
  generate,
  makeFolder,
  type ProxyProgram,
  runProgram,
  startProgram,
  startProxyProgram,
} from '../../support/product.ts';
import { newSnapshots } from '../../support/wholeness.ts';
import { IS_FULL, printFigure } from '../rounds.ts';

const GAMES = IS_FULL ? 150_000 : 4_000;
const REPLICAS = IS_FULL ? 8 : 3;
const CHANGES = [
  ["description = 'Changed'", 'description'],
  ['release_year = 1977', 'year'],
  ["title = 'Aardvark, changed'", 'title'],
] as const;
/** On a machine that runs everything. A test of many programs in short form may be disturbed. */
const SERVED_WITHIN_MS = IS_FULL ? 10_000 : 20_000;
const LARGEST_SHARE = 0.02;
/** Asking eight proxies every 20 ms would take a fifth of a core from the replicas. */
const ASK_MS = 100;

const { privateKey, publicKey } = makeKeyPair();
const store = path.join(makeFolder(), 'store');
const origin = newSnapshots();
let databaseUrl: string;
let edges: { replica: ReturnType<typeof startProgram>; log: () => string; proxy: ProxyProgram }[];

beforeAll(async () => {
  mkdirSync(store, { mode: 0o700 });
  databaseUrl = await makeSqlite(seededCatalogue({ games: GAMES, seed: 4, platforms: 190 }));
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
  const run = await runProgram('commands/snapshot.ts', ['push', '--to', store], {
    SNAPSHOTS_DIR: origin,
    SNAPSHOT_SIGNING_KEY: privateKey,
  });
  expect(run.code, run.stderr).toBe(0);
  return published;
}

async function startEdge() {
  const snapshotsDir = newSnapshots();
  const replica = startProgram('commands/replica.ts', ['--from', store], {
    SNAPSHOTS_DIR: snapshotsDir,
    SNAPSHOT_PUBLIC_KEYS: publicKey,
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

test(`one change of ${GAMES} games is served by ${REPLICAS} replicas soon, for few bytes`, async () => {
  const figures: string[] = [];
  const size = [...filesOf(origin, currentId(origin) as string).values()].reduce(
    (sum, file) => sum + file.length,
    0,
  );
  for (const [change, name] of CHANGES) {
    const database = await openDatabase(databaseUrl);
    await database.run(
      `UPDATE games SET ${change} WHERE id = (SELECT id FROM games ORDER BY slug LIMIT 1 OFFSET ${GAMES / 2})`,
      [],
    );
    await database.close();
    const published = await publish();
    const pushed = performance.now();
    await served();
    const now = performance.now();
    const most = Math.max(...received()) / size;
    figures.push(
      `${name}: pushed after ${((pushed - published) / 1000).toFixed(1)} s, served by all after ${((now - published) / 1000).toFixed(1)} s, ${(most * 100).toFixed(2)} % of the bytes`,
    );
    expect(now - published, figures.join('; ')).toBeLessThan(SERVED_WITHIN_MS);
    expect(most, figures.join('; ')).toBeLessThan(LARGEST_SHARE);
  }
  printFigure(`${GAMES} games and ${REPLICAS} replicas on one machine`, figures.join('; '));
});
