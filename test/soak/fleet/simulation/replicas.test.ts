/**
 * Replicas in a simulated world, with links that are cut, bytes that are changed, old releases that are
 * offered again, crashes, full disks and clocks that jump. `SIMULATION_SEED=7 npx vitest run
 * test/soak/fleet/simulation/replicas.test.ts` repeats one history.
 */
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeRandom } from '../../../../demo/catalogue/random.ts';
import { readReplicaState } from '../../../../depot/replica-files.ts';
import { currentId, idsOnDisk } from '../../../../generations/generations.ts';
import { makeFolder } from '../../../support/product.ts';
import { makeOrigin, newSigningKey } from '../../../support/replicas.ts';
import { printFigure, rounds } from '../../rounds.ts';
import { CALM, makeWorld, type Weather } from './replica-world.ts';

const WORLDS = rounds(2, 30);
const EDGES = 4;
const EVENTS = 4;
/** From the end of all faults: the longest pause between two pulls, and one check. */
const RECOVERY_MS = 70_000;
const HOUR_MS = 3_600_000;
const SEED = process.env.SIMULATION_SEED;

const STORMS: Readonly<Record<string, Weather>> = {
  network: { ...CALM, lost: 0.1, cut: 0.1, down: 0.01 },
  disk: { ...CALM, crash: 0.02, full: 0.01 },
  attack: { ...CALM, changed: 0.05, old: 0.3 },
  everything: {
    lost: 0.03,
    cut: 0.03,
    changed: 0.01,
    old: 0.1,
    crash: 0.005,
    full: 0.003,
    down: 0.005,
    jump: 0.02,
  },
};

const key = newSigningKey();
let origin: string;
let ids: string[];

beforeAll(async () => {
  const made = await makeOrigin();
  for (let i = 0; i < EVENTS; i++) await made.publishChange();
  origin = made.snapshotsDir;
  ids = idsOnDisk(origin);
});

afterAll(() => rmSync(worldFolder(), { recursive: true, force: true }));

/** Memory, if the system has such a disk: syncing would only cost time. */
const worldFolder = () =>
  existsSync('/dev/shm')
    ? path.join('/dev/shm', `cover-catalogue-${process.pid}`)
    : path.join(makeFolder(), 'world');

/** One history: a storm with publications and revocations, then calm. */
async function simulate(seed: number) {
  const random = makeRandom(seed);
  const folder = worldFolder();
  const world = makeWorld({ origin, folder, key, random, edges: EDGES });
  await world.publish(ids[0]);
  await world.revokeKey();
  world.setWeather(random.pick(Object.values(STORMS)));
  for (let event = 0; event < EVENTS; event++) {
    await world.runUntil(world.now() + random.next() * 20_000);
    for (const edge of world.edges) await world.checkEdge(edge);
    if (random.happens(0.4)) await world.revokeKey();
    await world.publish(ids[event + 1]);
  }
  world.setWeather(CALM);
  await world.runUntil(world.now() + RECOVERY_MS);
  for (const edge of world.edges) {
    await world.checkEdge(edge);
    expect(currentId(edge.dir)).toBe(currentId(origin));
    expect(world.validKeys(edge)).toHaveLength(20 - world.revoked());
  }
  return world.edges.map(({ counts }) => counts);
}

const seeds = SEED === undefined ? Array.from({ length: WORLDS }, (_, i) => i + 1) : [Number(SEED)];

test(`in ${seeds.length} simulated histories, a replica is never torn, never older, and recovers`, async () => {
  const sum = { requests: 0, bytes: 0, published: 0, crashes: 0 };
  for (const seed of seeds) {
    const counts = await simulate(seed).catch((cause: Error) => {
      throw new Error(`SIMULATION_SEED=${seed}: ${cause.message}`, { cause });
    });
    for (const edge of counts) {
      for (const name of ['requests', 'bytes', 'published', 'crashes'] as const) {
        sum[name] += edge[name];
      }
    }
  }
  expect(sum.published).toBeGreaterThan(seeds.length * EDGES);
  printFigure(
    'Simulated replicas',
    `${seeds.length} histories of ${EDGES} edges: ${sum.requests} requests, ${sum.published} switches, ${sum.crashes} crashes; 0 torn, 0 older than accepted, all equal to the origin ${RECOVERY_MS / 1000} s after the last fault`,
  );
});

test('for an hour without depots, replicas keep what they have, report its age, and then catch up', async () => {
  const random = makeRandom(7);
  const world = makeWorld({ origin, folder: worldFolder(), key, random, edges: EDGES });
  await world.publish(ids[0]);
  await world.revokeKey();
  await world.runUntil(30_000);
  world.setWeather({ ...CALM, lost: 1 });
  const goneAt = world.now();
  await world.publish(ids[1]);
  await world.revokeKey();
  await world.runUntil(goneAt + HOUR_MS);
  for (const edge of world.edges) {
    await world.checkEdge(edge);
    expect(currentId(edge.dir)).toBe(ids[0]);
    expect(world.validKeys(edge)).toHaveLength(19);
    const state = readReplicaState(edge.dir);
    for (const part of [state?.snapshot, state?.keys]) {
      const age = world.wallTime() - Date.parse(part?.current_as_of ?? '');
      expect(Math.abs(age - HOUR_MS)).toBeLessThan(5_000);
      expect(part?.error).toContain('no reply');
    }
  }
  world.setWeather(CALM);
  await world.runUntil(world.now() + RECOVERY_MS);
  for (const edge of world.edges) {
    await world.checkEdge(edge);
    expect(currentId(edge.dir)).toBe(ids[1]);
    expect(world.validKeys(edge)).toHaveLength(18);
  }
});
