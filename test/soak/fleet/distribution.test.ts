/**
 * From publishing to all replicas: how long it takes until every proxy serves a new generation, and how
 * many bytes a replica receives for one change.
 */
import { lstatSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { sharedCatalogue } from '#test/catalogue/shared.ts';
import { IS_FULL, printFigure, rounds } from '#test/soak/rounds.ts';
import { median } from '#test/soak/support/median.ts';
import { filesOf, makeOrigin, newSigningKey } from '#test/support/replicas.ts';
import { type Edge, startEdge } from './fleet.ts';

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

const seeded = () => seededCatalogue({ games: 4_000, seed: 4, platforms: 190 });
const { signingKey, publicPem } = newSigningKey();
const origin = await makeOrigin(signingKey, (IS_FULL ? sharedCatalogue() : undefined) ?? seeded());
const variables = { SNAPSHOT_PUBLIC_KEYS: publicPem };
const all = Array.from({ length: REPLICAS }, () => startEdge(origin.folder, variables));
const edges = await Promise.all(all);
await served();

/** Waits until every proxy serves the current generation of the origin. */
async function served(): Promise<void> {
  const isServed = async ({ proxy }: Edge) =>
    (await proxy.readyz()).json.snapshot === origin.current();
  while (!(await Promise.all(edges.map(isServed))).every(Boolean)) await pause(ASK_MS);
}

/** How many bytes each replica received for its last pull. */
const received = () =>
  edges.map(({ replica }): number => {
    const lines = replica.log().split('\n');
    const line = lines.findLast((text) => text.includes('published a generation'));
    return JSON.parse(line ?? '{}').received;
  });

test(`one change is served by ${REPLICAS} replicas`, async () => {
  const files = [...filesOf(origin.snapshotsDir, origin.current()).values()];
  const size = files.reduce((sum, file) => sum + file.length, 0);
  const figures: string[] = [];
  for (const [name, statement] of Object.entries(CHANGES)) {
    const times = { pushed: [] as number[], served: [] as number[], bytes: [] as number[] };
    for (let round = 0; round < ROUNDS; round++) {
      await origin.publish(statement(round));
      const published = lstatSync(path.join(origin.snapshotsDir, 'current')).mtimeMs;
      times.pushed.push(Date.now() - published);
      await served();
      times.served.push(Date.now() - published);
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
