/**
 * Mirrors: one is complete or unchanged, whenever its run is killed, or new generations are published
 * during it; and its proxy sends the same responses as the proxy that it was made from.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { currentId, idsOnDisk } from '../../../store/generations/generations.ts';
import { makeRandom } from '../../catalogue/random.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import {
  filesOf,
  type Origin,
  runMirror,
  startMirror,
  startOrigin,
} from '../../support/mirrors.ts';
import { finish, startProxyProgram, writeKeys } from '../../support/product.ts';
import { expectCurrentVerifies, newSnapshots } from '../../support/wholeness.ts';
import { printFigure, rounds } from '../rounds.ts';

const KILLS = rounds(4, 50);
const PUBLISHED = rounds(3, 20);

const origins: Origin[] = [];

async function start(catalogue = sampleCatalogue()): Promise<Origin> {
  const origin = await startOrigin(catalogue);
  origins.push(origin);
  return origin;
}

afterAll(async () => {
  await Promise.all(origins.map((origin) => origin.close()));
});

test(`a mirror whose runs are killed ${KILLS} times at random moments continues and ends complete`, {
  timeout: 3_600_000,
}, async () => {
  const random = makeRandom(31);
  const origin = await start(seededCatalogue({ games: 2_000, seed: 9, platforms: 12 }));
  // A run takes longer when each reply does, so that most kills hit a transfer.
  origin.faulty.change = async (reply) => {
    await pause(5 + random.next() * 20);
    return reply;
  };
  const figures = { killed: 0, ended: 0, complete: 0 };
  let to = newSnapshots();
  const began = performance.now();
  expect(await runMirror(origin, to)).toMatchObject({ code: 0 });
  const wholeRun = performance.now() - began;
  // A kill after the end of a run proves nothing. If most do, more rounds follow.
  const isDone = (round: number) => round >= KILLS && figures.killed > KILLS / 2;
  for (let round = 0; !isDone(round) && round < 10 * KILLS; round++) {
    // Half of the rounds begin a new mirror, the others bring one up to date.
    if (random.happens(0.5)) to = newSnapshots();
    else await origin.publishChange();
    const before = currentId(to);
    const newest = await origin.settle();
    for (let killsInARow = 1 + random.below(3); killsInARow > 0; killsInARow--) {
      const child = startMirror(origin, to);
      const ended = finish(child);
      await pause(random.next() * wholeRun);
      child.kill('SIGKILL');
      const { signal } = await ended;
      figures[signal === 'SIGKILL' ? 'killed' : 'ended']++;
      if (currentId(to) === undefined) expect(idsOnDisk(to)).toEqual([]);
      else expect([before, newest]).toContain(await expectCurrentVerifies(to));
    }
    const run = await runMirror(origin, to);
    expect(run.code, run.stderr).toBe(0);
    expect(await expectCurrentVerifies(to)).toBe(newest);
    expect(filesOf(to, newest)).toEqual(filesOf(origin.snapshotsDir, newest));
    expect(existsSync(path.join(to, 'pull'))).toBe(false);
    expect(idsOnDisk(to)).toHaveLength(1);
    figures.complete++;
  }
  expect(figures.killed).toBeGreaterThan(KILLS / 2);
  printFigure(
    'A mirror is complete or unchanged (SIGKILL)',
    `${figures.killed} SIGKILLs hit a run, ${figures.ended} came after its end; all ${figures.complete} runs that followed ended complete, 0 incomplete generations`,
  );
});

test(`a mirror of 400 files ends complete while ${PUBLISHED} generations are published`, {
  timeout: 600_000,
}, async () => {
  const origin = await start(seededCatalogue({ games: 1_000, seed: 4, platforms: 200 }));
  let sent = 0;
  let published = 0;
  // The next generation comes whenever the mirror has got a few more files.
  origin.faulty.change = async (reply, { path: asked }) => {
    const isFile = reply.status === 200 && asked.includes('/files/');
    if (isFile && ++sent % 40 === 0 && published < PUBLISHED) {
      published++;
      await origin.publishChange();
    }
    return reply;
  };
  const to = newSnapshots();
  const run = await runMirror(origin, to);
  expect([run.code, published], run.stderr).toEqual([0, PUBLISHED]);
  const newest = currentId(origin.snapshotsDir) as string;
  expect(await expectCurrentVerifies(to)).toBe(newest);
  const files = filesOf(to, newest);
  expect(files).toEqual(filesOf(origin.snapshotsDir, newest));
  printFigure(
    `A mirror while ${PUBLISHED} generations are published`,
    `${sent} transfers of files for the ${files.size} of the newest generation`,
  );
});

test('the proxy of a mirror sends the same bodies, ETags and ids', async () => {
  const origin = await start();
  const to = newSnapshots();
  expect(await runMirror(origin, to)).toMatchObject({ code: 0 });
  writeKeys(to, [{ id: 1, key: origin.key, limit: 1_000_000 }]);
  const mirror = await startProxyProgram(to);
  try {
    const game = '/games/snes/chrono-trigger';
    const manifest = await origin.proxy.get('/snapshot', origin.key);
    const targets = [
      ...['/platforms', '/platforms/snes', '/platforms/snes/games?per_page=3&page=2', '/stats'],
      ...[game, `${game}?include=covers`, `${game}/covers`, '/covers/recent', '/snapshot'],
      ...[
        '/search?q=zelda',
        '/search?q=zeldda&sort=relevance',
        '/search?per_page=100',
        '/games/x/y',
      ],
      ...['/covers/1', '/nothing', '/platforms/snes/covers', '/search?page=0'],
      ...manifest.json.files.map(({ path: name }: { path: string }) => `/snapshot/files/${name}`),
    ];
    const SAME = ['etag', 'link', 'x-snapshot', 'x-search-match', 'content-type', 'cache-control'];
    for (const target of targets) {
      for (const encoding of ['identity', 'gzip']) {
        const headers = { 'accept-encoding': encoding };
        const [ours, theirs] = await Promise.all(
          [mirror, origin.proxy].map((proxy) => proxy.get(target, origin.key, headers)),
        );
        expect(ours?.status, target).toBe(theirs?.status);
        expect(ours?.bytes.equals(theirs?.bytes as Buffer), target).toBe(true);
        for (const name of SAME) expect(ours?.headers[name], target).toBe(theirs?.headers[name]);
      }
    }
    const { etag = '' } = (await origin.proxy.get(game, origin.key)).headers;
    expect((await mirror.get(game, origin.key, { 'if-none-match': etag })).status).toBe(304);
  } finally {
    await mirror.kill();
  }
});
