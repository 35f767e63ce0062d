/**
 * Pushes: whenever a pusher is killed, cut off or out of space, and however many push at once, the
 * pointer of the store names a complete generation and never goes back.
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { push } from '../../../../depot/push/push.ts';
import { openRemote } from '../../../../depot/remote/open-remote.ts';
import type { RemoteStore } from '../../../../depot/remote/remote.ts';
import { checkPointer } from '../../../../depot/signatures/check-pointer.ts';
import { currentId } from '../../../../generations/generations.ts';
import { makeRandom } from '../../../catalogue/random.ts';
import { seededCatalogue } from '../../../catalogue/seeded.ts';
import { finish, generate, makeFolder, startProgram } from '../../../support/product.ts';
import { readGeneration, readPointer } from '../../../support/remotes.ts';
import { BUCKET, startS3 } from '../../../support/servers/s3.ts';
import { startTcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { makeChanging, newSnapshots } from '../../../support/wholeness.ts';
import { IS_FULL, printFigure, rounds } from '../../rounds.ts';
import { mountSmallDisk } from '../../support/small-disk.ts';

const KILLS = rounds(2, 30);
const CUTS = rounds(5, 25);
const CONTESTS = rounds(2, 10);
const KINDS = ['folder', 's3'] as const;
const STALL = { stallSeconds: 5 };
const GAMES = { games: IS_FULL ? 1_500 : 300, seed: 9, platforms: 12 };

const watches: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(watches.splice(0).map((watch) => watch.stop()));
});

/** Reads the pointer all the time, as replicas do, and notes every one that they would refuse. */
function watchPointer(remote: RemoteStore) {
  const refusals: string[] = [];
  let isStopped = false;
  let seen = 0;
  const watching = (async () => {
    let last: Awaited<ReturnType<typeof readPointer>>;
    while (!isStopped) {
      const pointer = await readPointer(remote);
      if (pointer !== undefined) {
        const refusal = checkPointer(pointer, [], last);
        if (refusal !== undefined) refusals.push(refusal.message);
        if (pointer.sequence !== last?.sequence) seen++;
        last = pointer;
      }
      await pause(5);
    }
  })();
  const watch = {
    refusals,
    seen: () => seen,
    async stop() {
      isStopped = true;
      await watching;
    },
  };
  watches.push(watch);
  return watch;
}

function startPushing(
  snapshotsDir: string,
  to: string,
  environment: Readonly<Record<string, string>> = {},
) {
  return startProgram('commands/snapshot.ts', ['push', '--to', to], {
    SNAPSHOTS_DIR: snapshotsDir,
    ...environment,
  });
}

function pushHere(remote: RemoteStore, snapshotsDir: string, graceMs = 3_600_000) {
  return push(remote, {
    snapshotsDir,
    signingKeys: [],
    publicKeys: [],
    isForced: false,
    parallel: 4,
    graceMs,
    report: { advance() {}, step() {}, warn() {} },
  });
}

async function makeOrigin() {
  const database = await makeChanging(seededCatalogue(GAMES));
  const snapshotsDir = newSnapshots();
  const publish = async () => {
    await database.change();
    await generate(database.url, snapshotsDir);
    return currentId(snapshotsDir) ?? '';
  };
  await publish();
  return { snapshotsDir, publish };
}

type Origin = Awaited<ReturnType<typeof makeOrigin>>;
/** Each test publishes further generations here, and pushes them to a new store. */
let origin: Origin;
/** The machines of the contests, which have published equally often. */
let machines: readonly [Origin, Origin];

beforeAll(async () => {
  origin = await makeOrigin();
  machines = await Promise.all([makeOrigin(), makeOrigin()]);
});

describe.each(KINDS)('in a store of the kind %s', (kind) => {
  async function openNew() {
    if (kind === 'folder') {
      const folder = makeFolder();
      return { to: folder, environment: {}, remote: openRemote(folder, STALL), folder };
    }
    const { environment } = await startS3();
    const to = `s3://${BUCKET}/site`;
    return {
      to,
      environment,
      remote: openRemote(to, { ...STALL, environment }),
      folder: undefined,
    };
  }

  test(`${KILLS} SIGKILLs of pushers leave complete generations, and no leftovers`, async () => {
    const random = makeRandom(kind === 's3' ? 5 : 6);
    const figures = { killed: 0, ended: 0 };
    const { to, environment, remote, folder } = await openNew();
    const began = performance.now();
    expect((await finish(startPushing(origin.snapshotsDir, to, environment))).code).toBe(0);
    const wholePush = performance.now() - began;
    const watch = watchPointer(remote);
    // A fast machine ends some pushes before their kill.
    for (let round = 0; figures.killed < KILLS && round < 10 * KILLS; round++) {
      // Sometimes much has to be sent again, because the store has lost objects.
      if (random.happens(0.3)) {
        for (const object of await remote.list('generations/')) await remote.remove(object.path);
        for (const object of await remote.list('files/')) await remote.remove(object.path);
        await pushHere(remote, origin.snapshotsDir);
      }
      const before = (await readPointer(remote))?.id;
      const newest = await origin.publish();
      for (let killsInARow = 1 + random.below(2); killsInARow > 0; killsInARow--) {
        const child = startPushing(origin.snapshotsDir, to, environment);
        const ended = finish(child);
        await pause((0.2 + 0.8 * random.next()) * wholePush);
        child.kill('SIGKILL');
        figures[(await ended).signal === 'SIGKILL' ? 'killed' : 'ended']++;
        const { pointer } = await readGeneration(remote);
        expect([before, newest]).toContain(pointer.id);
      }
      if (random.happens(0.5)) {
        await pushHere(remote, origin.snapshotsDir, 0);
        expect((await readGeneration(remote)).pointer.id).toBe(newest);
      }
    }
    await pushHere(remote, origin.snapshotsDir, 0);
    await watch.stop();
    expect(watch.refusals).toEqual([]);
    if (folder !== undefined) {
      const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
      expect(names.filter((name) => path.basename(name).startsWith('.'))).toEqual([]);
    }
    const manifests = (await remote.list('generations/')).length;
    expect(manifests).toBeLessThanOrEqual(2 * 5);
    remote.close();
    expect(figures.killed).toBeGreaterThanOrEqual(KILLS);
    printFigure(
      `Pushes to a store of the kind ${kind} (SIGKILL)`,
      `${figures.killed} SIGKILLs hit a push, ${figures.ended} came after its end; every pointer named a complete generation, ${watch.seen()} pointers were seen and none was older than the one before`,
    );
  });

  test(`${CONTESTS} contests of three pushers end with a complete generation`, async () => {
    const [one, other] = machines;
    const { remote } = await openNew();
    const watch = watchPointer(remote);
    const outcomes: Record<string, number> = {};
    for (let contest = 0; contest < CONTESTS; contest++) {
      const ids = await Promise.all([one.publish(), other.publish()]);
      // Two of them push from the same folder, the third is another machine.
      const ends = await Promise.all(
        [one, one, other].map(({ snapshotsDir }) =>
          pushHere(remote, snapshotsDir).then(
            ({ outcome }) => outcome,
            (error: Error) => error.name,
          ),
        ),
      );
      for (const outcome of ends) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      expect(ids).toContain((await readGeneration(remote)).pointer.id);
    }
    await watch.stop();
    remote.close();
    const { pushed = 0, unchanged = 0, PushRefusedError = 0 } = outcomes;
    expect(pushed).toBeGreaterThanOrEqual(CONTESTS);
    expect(pushed + unchanged + PushRefusedError).toBe(3 * CONTESTS);
    // Between machines there is no lock. A replica refuses an older pointer, until the next push.
    expect(watch.refusals.length).toBeLessThanOrEqual(CONTESTS / 2);
    printFigure(
      `Three pushers on two machines at once, ${CONTESTS} times, in a store of the kind ${kind}`,
      `${JSON.stringify(outcomes)}; every pointer named a complete generation, ${watch.seen()} pointers were seen, ${watch.refusals.length} were older than the one before`,
    );
  });
});

test(`${CUTS} cut connections to S3 do not fail a push, or fail it without harm`, async () => {
  const random = makeRandom(7);
  const { environment, port } = await startS3();
  const proxy = await startTcpProxy(port);
  const through = { ...environment, AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${proxy.port}` };
  const to = `s3://${BUCKET}/site`;
  const remote = openRemote(to, { ...STALL, environment });
  await pushHere(remote, origin.snapshotsDir);
  const watch = watchPointer(remote);
  const figures = { pushed: 0, failed: 0, cuts: 0 };
  let passed = 0;
  // On a slow machine, a push may be cut more often than it tries again.
  const isDone = () => figures.cuts >= CUTS && figures.pushed > 0;
  for (let round = 0; !isDone() && round < 2 * CUTS; round++) {
    const newest = await origin.publish();
    const pushing = finish(startPushing(origin.snapshotsDir, to, through));
    let isEnded = false;
    const ended = pushing.finally(() => {
      isEnded = true;
    });
    while (!isEnded) {
      await pause(20 + random.next() * 300);
      if (proxy.bytes() > passed) figures.cuts++;
      passed = proxy.bytes();
      proxy.cut('reset', false);
    }
    const { code } = await ended;
    figures[code === 0 ? 'pushed' : 'failed']++;
    const { pointer } = await readGeneration(remote);
    if (code === 0) expect(pointer.id).toBe(newest);
  }
  await watch.stop();
  await proxy.stop();
  remote.close();
  expect(watch.refusals).toEqual([]);
  expect(figures.pushed).toBeGreaterThan(0);
  expect(figures.cuts).toBeGreaterThanOrEqual(CUTS);
  printFigure(
    'Pushes with cut connections',
    `${figures.cuts} cuts; ${figures.pushed} pushes ended well, ${figures.failed} failed; every pointer named a complete generation`,
  );
});

test('a full disk of the store fails the push, and the next one continues', async () => {
  const disk = await mountSmallDisk(3_000);
  if (disk === undefined) {
    process.stdout.write('A small disk cannot be mounted here.\n');
    expect(disk).toBeUndefined();
    return;
  }
  const folder = path.join(disk.root, 'store');
  mkdirSync(folder);
  const remote = openRemote(folder, STALL);
  const pushOnDisk = () =>
    disk.run('commands/snapshot.ts', ['push', '--to', path.join(disk.folder, 'store')], {
      SNAPSHOTS_DIR: origin.snapshotsDir,
    });
  expect(await pushOnDisk()).toMatchObject({ code: 0 });
  const before = await readGeneration(remote);
  const newest = await origin.publish();
  const filler = path.join(disk.root, 'filler');
  try {
    for (;;) writeFileSync(filler, Buffer.alloc(4096), { flag: 'a' });
  } catch {
    // Full.
  }
  const failed = await pushOnDisk();
  expect(failed.code).toBe(1);
  expect(failed.stderr).toMatch(/ENOSPC/);
  expect((await readGeneration(remote)).pointer).toEqual(before.pointer);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  expect(names.filter((name) => path.basename(name).startsWith('.'))).toEqual([]);
  rmSync(filler);
  expect((await pushOnDisk()).code).toBe(0);
  expect((await readGeneration(remote)).pointer.id).toBe(newest);
  remote.close();
  await disk.unmount();
});
