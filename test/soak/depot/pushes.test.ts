/** Whenever a pusher is killed, the release in the depot names a complete generation and never goes back. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import type { WritableDepot } from '#depot/depot.ts';
import { openWritableDepot } from '#depot/open.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { IS_FULL, printFigure, rounds } from '#test/soak/rounds.ts';
import type { Texts } from '#test/support/processes.ts';
import { finish, startProgram } from '#test/support/product.ts';
import { newDepotFolder, pushTo, readDepot, readStoredRelease } from '#test/support/replicas.ts';
import { BUCKET, startS3 } from '#test/support/servers/s3.ts';
import { makeChanging, newSnapshots } from '#test/support/wholeness.ts';

const KILLS = rounds(2, 150);
const KINDS = ['folder', 's3'] as const;
const GAMES = { games: IS_FULL ? 1_500 : 300, platforms: 12 };

const startPushing = (SNAPSHOTS_DIR: string, to: string, environment: Texts = {}) =>
  startProgram('push', ['--to', to], { SNAPSHOTS_DIR, ...environment });

async function makeOrigin() {
  const database = await makeChanging(seededCatalogue({ ...GAMES, seed: 9 }));
  const snapshotsDir = newSnapshots();
  const publish = () => database.publish(snapshotsDir);
  await publish();
  return { snapshotsDir, publish };
}

const origin = await makeOrigin();

/** Reads the release all the time, as replicas do, and counts those that are older than the one before. */
function watchRelease(depot: WritableDepot) {
  const counts = { seen: 0, older: 0 };
  let isStopped = false;
  const watching = (async () => {
    for (let last = 0; !isStopped; await pause(5)) {
      const { sequence } = await readStoredRelease(depot).catch(() => ({ sequence: last }));
      if (sequence < last) counts.older++;
      if (sequence !== last) counts.seen++;
      last = sequence;
    }
  })();
  return async () => {
    isStopped = true;
    await watching;
    expect(counts.older).toBe(0);
    return counts.seen;
  };
}

describe.each(KINDS)('a depot of the kind %s', (kind) => {
  async function openNew() {
    if (kind === 'folder') {
      const to = newDepotFolder();
      return { to, environment: {}, depot: openWritableDepot(to), folder: to };
    }
    const { environment } = await startS3();
    const to = `s3://${BUCKET}/site`;
    return { to, environment, depot: openWritableDepot(to, { environment }), folder: undefined };
  }

  test(`${KILLS} SIGKILLs of pushers leave a complete generation, and nothing behind`, async () => {
    const random = makeRandom(6);
    const figures = { killed: 0, ended: 0 };
    const { to, environment, depot, folder } = await openNew();
    const began = performance.now();
    expect((await finish(startPushing(origin.snapshotsDir, to, environment))).code).toBe(0);
    const wholePush = performance.now() - began;
    const stopWatching = watchRelease(depot);
    // A fast machine ends some pushes before their kill.
    for (let round = 0; figures.killed < KILLS && round < 10 * KILLS; round++) {
      const before = (await readStoredRelease(depot)).id;
      const newest = await origin.publish();
      for (let killsInARow = 1 + random.below(2); killsInARow > 0; killsInARow--) {
        const child = startPushing(origin.snapshotsDir, to, environment);
        const ended = finish(child);
        await pause((0.2 + 0.8 * random.next()) * wholePush);
        child.kill('SIGKILL');
        figures[(await ended).signal === 'SIGKILL' ? 'killed' : 'ended']++;
        expect([before, newest]).toContain((await readDepot(depot)).release.id);
      }
      if (random.happens(0.3)) {
        await pushTo(depot, origin.snapshotsDir);
        expect((await readDepot(depot)).release.id).toBe(newest);
      }
    }
    await pushTo(depot, origin.snapshotsDir);
    const seen = await stopWatching();
    if (folder !== undefined) expect(readdirSync(path.join(folder, 'unfinished'))).toEqual([]);
    expect(await depot.list('generations/')).toHaveLength(1);
    depot.close();
    expect(figures.killed).toBeGreaterThanOrEqual(KILLS);
    printFigure(
      `Pushes to a depot of the kind ${kind} (SIGKILL)`,
      `${figures.killed} SIGKILLs hit a push, ${figures.ended} came after its end; every release named a complete generation, ${seen} were seen and none was older than the one before, nothing was left over`,
    );
  });
});
