/**
 * No partial export is ever published. The tests cut the connection to the database at any byte, and kill
 * its query. A successful run has published every row; a failed run has published nothing and gives the
 * reason. No run hangs.
 */
import { readdirSync, rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import { openDatabase } from '#lib/database/open.ts';
import { currentId, idsOnDisk } from '#lib/generations/generations.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeLoaded } from '#test/catalogue/snapshots.ts';
import { measureWhole, startCutter } from '#test/generator/cut-runs.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';
import { finish } from '#test/support/product.ts';
import type { Cut, TcpProxy } from '#test/support/servers/tcp-proxy.ts';
import {
  expectCurrentVerifies,
  expectNoDebris,
  expectOneClearLine,
  newSnapshots,
  startGenerator,
} from '#test/support/wholeness.ts';

const GUARANTEE = 'No torn or cut export';

type Source = Awaited<ReturnType<typeof makeSource>>;

/** @param changes statements that are run on the database @returns what a whole run of it gives, too */
async function makeSource(games: number, ...changes: string[]) {
  const catalogue = seededCatalogue({ games, seed: 12, platforms: 8 });
  const url = await makeLoaded('mysql', catalogue, ...changes);
  return { url, ...(await measureWhole(url)) };
}

/**
 * Runs the generator with an empty folder. After `limit` bytes no more pass, and `meddle` is called.
 * @returns how it ended, whether it published, and its error message if it failed
 */
async function runWith(
  { url, id }: Source,
  limit: number,
  meddle: (proxy: TcpProxy) => Promise<void> | void,
) {
  const [through, proxy] = await startCutter(url, limit);
  const dir = newSnapshots();
  const began = performance.now();
  const child = startGenerator(through, dir);
  const [ended] = await Promise.all([
    finish(child),
    Promise.race([
      proxy.reached.then(() => meddle(proxy)),
      new Promise((resolve) => child.once('exit', resolve)),
    ]),
  ]);
  await proxy.stop();
  const seconds = (performance.now() - began) / 1000;
  const isPublished = currentId(dir) !== undefined;
  // A partial catalogue would have another id.
  expect(idsOnDisk(dir), ended.stderr).toEqual(isPublished ? [id] : []);
  if (isPublished) await expectCurrentVerifies(dir);
  if (readdirSync(dir).includes('generations')) expectNoDebris(dir);
  const isWhole = ended.code === 0;
  const fault = isWhole ? '' : expectOneClearLine(ended);
  if (isWhole) expect(isPublished).toBe(true);
  else expect(fault.length, fault).toBeGreaterThan(30);
  rmSync(dir, { recursive: true });
  return { ended, isPublished, isWhole, fault, seconds };
}

/** A random byte of a run, often one of the first, when connections start, or of the last. */
function pickByte(random: Random, bytes: number): number {
  const share = random.next();
  if (share < 0.25) return 1 + random.below(6_000);
  if (share < 0.35) return bytes - random.below(1_000);
  return 1 + random.below(bytes);
}

const CUTS = rounds(4, 40);

test(`a run whose connection is cut publishes all or nothing, ends and gives the reason (${CUTS} cuts)`, async () => {
  const source = await makeSource(400);
  const random = makeRandom(21);
  const figures = { failed: 0, late: 0, whole: 0, slowest: 0 };
  for (let run = 0; run < CUTS; run++) {
    const how = random.pick<Cut>(['end', 'reset', 'silence']);
    const isPermanent = random.happens(0.5);
    const byte = pickByte(random, source.bytes);
    const what = `${how}${isPermanent ? ' permanently' : ''} at byte ${byte}`;
    const cut = (proxy: TcpProxy) => proxy.cut(how, isPermanent);
    const { isPublished, isWhole, fault, seconds } = await runWith(source, byte, cut).catch(
      (cause) => {
        throw new Error(`${what}: ${(cause as Error).message}`, { cause });
      },
    );
    figures.slowest = Math.max(figures.slowest, seconds);
    figures[isWhole ? 'whole' : isPublished ? 'late' : 'failed']++;
    // The message names the server.
    if (!isWhole) expect(fault, what).toMatch(/127\.0\.0\.1:\d+/);
  }
  expect(figures.failed).toBeGreaterThan(CUTS / 2);
  printFigure(
    `${GUARANTEE} (cuts)`,
    `${CUTS} cuts over ${source.bytes} bytes: ${figures.failed} runs failed and published nothing, ${figures.late} failed after publishing, ${figures.whole} succeeded; 0 partial, 0 hangs, the slowest ended after ${figures.slowest.toFixed(1)} s`,
  );
});

const KILLS = rounds(1, 12);

test.each(['KILL CONNECTION', 'KILL QUERY'])(
  `a run publishes all or nothing and ends, if %s hits it while it reads (${KILLS} times)`,
  async (kill) => {
    // Long texts, so that the server has more to send than fits into any buffer.
    const source = await makeSource(2_000, "UPDATE games SET description = REPEAT('x', 8000)");
    const other = await openDatabase(source.url);
    const random = makeRandom(kill.length);
    const faults: string[] = [];
    for (let run = 0; run < KILLS; run++) {
      const byte = Math.floor(source.bytes * (0.05 + 0.45 * random.next()));
      const { isWhole, fault } = await runWith(source, byte, async (proxy) => {
        // The session of the run: the other one of this database, preferably one with a query.
        const [[id] = []] = await other.rows(
          `SELECT id FROM information_schema.processlist
           WHERE db = DATABASE() AND id <> CONNECTION_ID() ORDER BY command = 'Query' DESC LIMIT 1`,
        );
        await other.run(`${kill} ${id}`);
        proxy.resume();
      });
      if (!isWhole) faults.push(fault.replace(/^query of \S+ on \S+: /, ''));
    }
    await other.close();
    expect(faults).not.toEqual([]);
    printFigure(
      `${GUARANTEE} (${kill})`,
      `${KILLS} times: ${faults.length} runs failed and published nothing; 0 partial, 0 hangs. Messages: ${[...new Set(faults)].join(' | ')}`,
    );
  },
);
