/**
 * A whole catalogue from end to end: it is loaded into a real MariaDB, generated and served, and the
 * test reads every page of every platform and the covers of the games. It uses the real catalogue if
 * this machine has it, and the seeded one otherwise. The quick form has fewer games, and reads the covers of some.
 */
import { Pool } from 'undici';
import { afterAll, expect, test } from 'vitest';
import { getOrAdd } from '#lib/program/get-or-add.ts';
import { makeLoaded } from '#test/catalogue/snapshots.ts';
import { type ReferenceGame, referenceGames } from '#test/soak/find/search/reference/games.ts';
import { IS_FULL, printFigure } from '#test/soak/rounds.ts';
import { wholeCatalogue } from '#test/soak/support/whole-catalogue.ts';
import {
  generatorVariables,
  runProgram,
  startProxyProgram,
  testKey,
  writeKeys,
} from '#test/support/product.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

const PER_PAGE = 100;
/** The covers of one in this many games are read. */
const STEP = IS_FULL ? 1 : 20;
const CONNECTIONS = 8;

const key = testKey(1);

const { catalogue } = wholeCatalogue({ full: 150_000, quick: 10_000 });
/** In title order. */
const games = referenceGames(catalogue);
const snapshotsDir = newSnapshots();
// As a program: the memory of this process includes the tests.
const variables = generatorVariables(await makeLoaded('mysql', catalogue), snapshotsDir);
const { stdout, stderr, code } = await runProgram('generate', ['--json'], variables);
expect(code, stderr).toBe(0);
printFigure('A whole catalogue', `generated with ${JSON.parse(stdout).peak_memory_mb} MB`);
writeKeys(snapshotsDir, [key]);
const pool = new Pool((await startProxyProgram(snapshotsDir)).url, { connections: CONNECTIONS });
afterAll(() => pool?.close());

test('every game of every platform is listed exactly once, in title order', async () => {
  const byPlatform = Map.groupBy(games, ({ platform }) => platform);
  await inParallel([...catalogue.platforms], ([, slug]) =>
    expectListed(`/platforms/${slug}/games`, byPlatform.get(String(slug)) ?? []),
  );
});

test('/search lists all games in title order', () => expectListed('/search', games));

test('every approved cover is served with its files, and no other', async () => {
  const files = new Map<string, number>();
  for (const [, cover] of catalogue.coverFiles) {
    files.set(String(cover), (files.get(String(cover)) ?? 0) + 1);
  }
  /** For each game, its covers with how many files each has. */
  const wanted = new Map<string, Map<string, number>>();
  const hidden: string[] = [];
  let approved = 0;
  for (const [number, game, , , status] of catalogue.covers) {
    const id = String(number);
    if (status !== 'approved') hidden.push(id);
    else {
      getOrAdd(wanted, String(game), () => new Map()).set(id, files.get(id) ?? 0);
      approved++;
    }
  }
  const some = games.filter((_, index) => index % STEP === 0);
  await inParallel(some, async ({ id, platform, slug }) => {
    const { data } = await get(`/games/${platform}/${slug}/covers`);
    const found = data.map((cover: { id: number; files: unknown[] }) => {
      return [String(cover.id), cover.files.length];
    });
    expect(found, `the covers of game ${id}`).toHaveLength(wanted.get(id)?.size ?? 0);
    expect(new Map(found), `the covers of game ${id}`).toEqual(wanted.get(id) ?? new Map());
  });
  expect([(await get('/stats')).covers, approved > 0]).toEqual([approved, true]);
  expect(hidden.length).toBeGreaterThan(0);
  await inParallel(hidden, (id) => get(`/covers/${id}`, 404));
});

/** Fails unless the pages of a list have exactly these games, in this order. */
async function expectListed(target: string, listed: readonly ReferenceGame[]) {
  const pages = Math.max(1, Math.ceil(listed.length / PER_PAGE));
  const found: string[] = [];
  await inParallel([...Array(pages).keys()], async (page) => {
    const { data, total } = await get(`${target}?page=${page + 1}&per_page=${PER_PAGE}`);
    expect(total, target).toBe(listed.length);
    for (const [i, game] of data.entries()) found[page * PER_PAGE + i] = String(game.id);
  });
  // Compares only ids: a difference would be hard to find in whole pages.
  const wrong = listed.findIndex(({ id }, index) => found[index] !== id);
  expect(wrong, `${target}: the index of the first wrong game`).toBe(-1);
  expect(found.length, target).toBe(listed.length);
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of several shapes
async function get(target: string, expected = 200): Promise<any> {
  const { statusCode, body } = await pool.request({
    method: 'GET',
    path: `/api/v1${target}`,
    headers: { 'x-api-key': key.key },
  });
  const text = await body.text();
  if (statusCode !== expected) throw new Error(`${target}: ${statusCode}, ${text}`);
  return JSON.parse(text);
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}
