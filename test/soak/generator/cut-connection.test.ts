/**
 * No partial export is ever published, at whatever byte the connection to the database is cut: a successful run
 * has published every row, and a failed one has published nothing and gives the reason. No run hangs.
 */
import { readdirSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import { currentId, idsOnDisk } from '#lib/generations/generations.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeLoaded } from '#test/catalogue/snapshots.ts';
import { measureWhole, startCutter } from '#test/generator/cut-runs.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';
import { finish } from '#test/support/product.ts';
import type { Cut } from '#test/support/servers/tcp-proxy.ts';
import {
  expectCurrentVerifies,
  expectNoDebris,
  expectOneClearLine,
  newSnapshots,
  startGenerator,
} from '#test/support/wholeness.ts';

const CUTS = rounds(4, 40);

/** A random byte of a run, often one of the first, when connections start, or of the last. */
function pickByte(random: Random, bytes: number): number {
  const share = random.next();
  if (share < 0.25) return 1 + random.below(6_000);
  if (share < 0.35) return bytes - random.below(1_000);
  return 1 + random.below(bytes);
}

test(`a run whose connection is cut publishes all or nothing, ends and gives the reason (${CUTS} cuts)`, async () => {
  const url = await makeLoaded('mysql', seededCatalogue({ games: 400, seed: 12, platforms: 8 }));
  const whole = await measureWhole(url);
  const random = makeRandom(21);
  const figures = { failed: 0, late: 0, whole: 0, slowest: 0 };
  for (let run = 0; run < CUTS; run++) {
    const how = random.pick<Cut>(['end', 'reset', 'silence']);
    const isPermanent = random.happens(0.5);
    const byte = pickByte(random, whole.bytes);
    const [through, proxy] = await startCutter(url, byte);
    const dir = newSnapshots();
    const began = performance.now();
    const child = startGenerator(through, dir);
    void proxy.reached.then(() => proxy.cut(how, isPermanent));
    const ended = await finish(child);
    const { code, stderr } = ended;
    figures.slowest = Math.max(figures.slowest, (performance.now() - began) / 1000);
    await proxy.stop();
    const isPublished = currentId(dir) !== undefined;
    const what = `${how}${isPermanent ? ' permanently' : ''} at byte ${byte}: ${stderr}`;
    // A partial catalogue would have another id.
    expect(idsOnDisk(dir), what).toEqual(isPublished ? [whole.id] : []);
    if (isPublished) await expectCurrentVerifies(dir);
    if (readdirSync(dir).includes('generations')) expectNoDebris(dir);
    figures[code === 0 ? 'whole' : isPublished ? 'late' : 'failed']++;
    if (code === 0) expect(isPublished, what).toBe(true);
    else {
      // The message names the server.
      const fault = expectOneClearLine(ended);
      expect(fault, what).toMatch(/127\.0\.0\.1:\d+/);
    }
    rmSync(dir, { recursive: true });
  }
  expect(figures.failed).toBeGreaterThan(CUTS / 2);
  printFigure(
    'No torn or cut export',
    `${CUTS} cuts over ${whole.bytes} bytes: ${figures.failed} runs failed and published nothing, ${figures.late} failed after publishing, ${figures.whole} succeeded; 0 partial, 0 hangs, the slowest ended after ${figures.slowest.toFixed(1)} s`,
  );
});
