/**
 * Replicas as processes: killed at any moment and on a disk that is full, a replica has a whole generation, never goes back to an older one, and leaves nothing behind.
 */
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { checkFind } from '#find/check.ts';
import { sequenceOf } from '#lib/format/layout.ts';
import { currentId, generationDir, idsOnDisk } from '#lib/generations/generations.ts';
import { everything, verifyAndOpen } from '#lib/generations/verify.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';
import { mountSmallDisk } from '#test/soak/support/small-disk.ts';
import { finish, startProgram } from '#test/support/product.ts';
import { filesOf, makeOrigin, newSigningKey } from '#test/support/replicas.ts';
import { type FaultyOrigin, startFaultyOrigin } from '#test/support/servers/faulty-origin.ts';
import { serveFolder } from '#test/support/servers/static-files.ts';
import {
  ageDeadWrites,
  expectCurrentVerifies,
  expectNoDebris,
  newSnapshots,
} from '#test/support/wholeness.ts';

const KILLS = rounds(8, 300);
const FULL_DISKS = rounds(2, 20);

const UNCHANGED: FaultyOrigin['change'] = (reply) => reply;
const key = newSigningKey();

const origin = await makeOrigin(
  key.signingKey,
  seededCatalogue({ games: 2_000, seed: 9, platforms: 12 }),
);
const { origin: files, pathname } = new URL(await serveFolder(origin.folder));
const server = await startFaultyOrigin(files);
const depot = new URL(pathname, server.url).href;

function startReplica(SNAPSHOTS_DIR: string, args: readonly string[] = ['--once']) {
  return startProgram('replica', ['--from', depot, ...args], {
    SNAPSHOTS_DIR,
    SNAPSHOT_PUBLIC_KEYS: key.publicPem,
    LOG_LEVEL: 'warn',
  });
}

/** Waits for a number of requests, but no longer than the replica runs or 3 seconds. */
async function requested(count: number, child: ChildProcess): Promise<void> {
  const before = server.requests.length;
  const began = performance.now();
  while (server.requests.length - before < count) {
    if (child.exitCode !== null || performance.now() - began > 3_000) return;
    await pause(2);
  }
}

async function expectEqualToOrigin(to: string): Promise<void> {
  const id = currentId(origin.snapshotsDir) as string;
  expect(await expectCurrentVerifies(to)).toBe(id);
  expect(filesOf(to, id)).toEqual(filesOf(origin.snapshotsDir, id));
  expect(existsSync(path.join(to, 'pull'))).toBe(false);
  expect(idsOnDisk(to)).toHaveLength(1);
  expectNoDebris(to);
}

test(`a replica that is killed ${KILLS} times at random moments is whole and never goes back`, async () => {
  const random = makeRandom(41);
  server.change = async (reply) => {
    await pause(random.next() * 4);
    return reply;
  };
  const figures = { killed: 0, during: 0, complete: 0, fresh: 0 };
  let to = newSnapshots();
  while (figures.killed < KILLS) {
    const isFresh = figures.killed === 0 || random.happens(0.25);
    if (isFresh) to = newSnapshots();
    else await origin.publish();
    if (isFresh) figures.fresh++;
    for (let killsInARow = 1 + random.below(4); killsInARow > 0; killsInARow--) {
      const before = currentId(to);
      const child = startReplica(to, random.happens(0.5) ? ['--once'] : []);
      const ended = finish(child);
      // Some requests into the pull, then while it reads, verifies or publishes, however slow it is.
      await requested(1 + random.below(isFresh ? 40 : 5), child);
      await pause(random.next() * 60);
      child.kill('SIGKILL');
      const { signal, code, stderr } = await ended;
      ageDeadWrites(to);
      if (signal === 'SIGKILL') figures.killed++;
      else expect(code, stderr).toBe(0);
      const now = currentId(to);
      if (now === undefined) {
        expect(before).toBeUndefined();
        // The kill may come after the first generation got its name, and before it became current.
        for (const id of idsOnDisk(to))
          await verifyAndOpen(generationDir(to, id), everything(checkFind));
        figures.during++;
        continue;
      }
      await expectCurrentVerifies(to);
      expect(sequenceOf(now)).toBeGreaterThanOrEqual(sequenceOf(before ?? now));
      if (now === before && now !== currentId(origin.snapshotsDir)) figures.during++;
    }
    const run = await finish(startReplica(to));
    expect(run.code, run.stderr).toBe(0);
    await expectEqualToOrigin(to);
    figures.complete++;
  }
  server.change = UNCHANGED;
  printFigure(
    'A replica is whole and never goes back (SIGKILL)',
    `${figures.killed} SIGKILLs, ${figures.during} of them before the pull had ended, ${figures.fresh} new replicas; all ${figures.complete} runs that followed ended equal to the origin, 0 incomplete or older generations, 0 files left behind`,
  );
  expect(figures.during).toBeGreaterThan(KILLS / 4);
});

test('a replica on a full disk keeps what it has, and continues when there is room', async (context) => {
  const random = makeRandom(43);
  const size = [
    ...filesOf(origin.snapshotsDir, currentId(origin.snapshotsDir) as string).values(),
  ].reduce((sum, file) => sum + file.length, 0);
  const disk = await mountSmallDisk(Math.ceil((size * 6) / 1024) + 4000);
  if (disk === undefined) return context.skip('mounting is not allowed');
  const figures = { full: 0, enough: 0 };
  try {
    const to = path.join(disk.root, 'snapshots');
    const environment = { SNAPSHOT_PUBLIC_KEYS: key.publicPem };
    const run = () => disk.run('replica', ['--once', '--from', depot], environment);
    expect(await run()).toMatchObject({ code: 0 });
    for (let round = 0; round < FULL_DISKS; round++) {
      const before = currentId(to) as string;
      const { id } = await origin.publish();
      const left = round === 0 ? 0 : random.below((size / 1024) * 0.6);
      const makeRoom = disk.fill(left);
      const { code, stderr } = await run();
      figures[code === 0 ? 'enough' : 'full']++;
      if (code !== 0) expect(stderr).toMatch(/ENOSPC/);
      expect([before, id]).toContain(await expectCurrentVerifies(to));
      makeRoom();
      expect(await run()).toMatchObject({ code: 0 });
      expect(await expectCurrentVerifies(to)).toBe(id);
      expectNoDebris(to);
    }
  } finally {
    await disk.unmount();
  }
  expect(figures.full).toBeGreaterThan(0);
  printFigure(
    'A replica on a full disk',
    `${figures.full} runs failed and kept the old generation, ${figures.enough} had enough space; all ${FULL_DISKS} runs that followed ended equal to the origin`,
  );
});
