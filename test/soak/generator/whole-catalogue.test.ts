/**
 * A whole catalogue from end to end: it is loaded into a real MariaDB, generated and served, and the
 * test reads every page of every platform and the covers of the games. It uses the real catalogue if
 * this machine has it, and the seeded one otherwise. The quick form has fewer games, and reads the covers of some.
 */
import path from 'node:path';
import { Pool } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Row } from '../../../database/database.ts';
import { getOrAdd } from '../../../generator/get-or-add.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { sharedCatalogue } from '../../catalogue/shared.ts';
import { makeLoaded } from '../../catalogue/snapshots.ts';
import {
  generatorVariables,
  makeFolder,
  type ProxyProgram,
  runProgram,
  startProxyProgram,
  testKey,
  writeKeys,
} from '../../support/product.ts';
import {
  compareTitles,
  type ReferenceGame,
  referenceGames,
} from '../proxy/search/reference/games.ts';
import { IS_FULL, printFigure } from '../rounds.ts';

const PAGE_SIZES = IS_FULL ? [100, 17] : [100];
/** The covers of one in this many games are read. */
const STEP = IS_FULL ? 1 : 20;
const CONNECTIONS = 8;
const MOST_MEMORY_MB = 300;

const key = testKey(1);
let catalogue: Catalogue;
let snapshotsDir: string;
let databaseUrl: string;
let proxy: ProxyProgram;
let pool: Pool;
let byPlatform: Map<string, ReferenceGame[]>;

beforeAll(async () => {
  const seeded = () => seededCatalogue({ games: IS_FULL ? 150_000 : 10_000, seed: 1 });
  catalogue = (IS_FULL ? sharedCatalogue() : undefined) ?? seeded();
  databaseUrl = await makeLoaded('mysql', catalogue);
  snapshotsDir = path.join(makeFolder(), 'snapshots');

  byPlatform = new Map([...catalogue.platforms].map(([, slug]) => [String(slug), []]));
  for (const game of referenceGames(catalogue)) byPlatform.get(game.platform)?.push(game);
});

afterAll(() => pool?.close());

test('a whole catalogue is generated within 300 MB', async () => {
  // As a program: the memory of this process includes the tests.
  const variables = generatorVariables(databaseUrl, snapshotsDir);
  const { stdout, stderr, code } = await runProgram('generator/cli/main.ts', ['--json'], variables);
  expect(code, stderr).toBe(0);
  const memory: number = JSON.parse(stdout).peak_memory_mb;
  printFigure('A whole catalogue', `generated with ${memory} MB`);
  expect(memory).toBeLessThanOrEqual(MOST_MEMORY_MB);
});

describe('the proxy', () => {
  beforeAll(async () => {
    writeKeys(snapshotsDir, [key]);
    proxy = await startProxyProgram(snapshotsDir);
    pool = new Pool(proxy.url, { connections: CONNECTIONS });
  }, 120_000);

  test.each(PAGE_SIZES)(
    'lists every game of every platform exactly once, in title order, with %i per page',
    async (perPage) => {
      await inParallel([...byPlatform], ([platform, games]) =>
        expectListed(`/platforms/${platform}/games`, games, perPage),
      );
    },
  );

  test('lists all games in title order through /search', () =>
    expectListed('/search', [...byPlatform.values()].flat().sort(compareTitles), 100));

  test('serves every approved cover with its files, and no other', async () => {
    const slugOf = new Map([...catalogue.games].map(([id, , slug]) => [String(id), String(slug)]));
    const games = [...byPlatform.values()].flat().filter((_, index) => index % STEP === 0);
    const read = new Set(games.map(({ id }) => id));
    const covers = [...catalogue.covers];
    const isApproved = ([, , , , status]: Row) => status === 'approved';
    const files = new Map<string, number>();
    for (const [, cover] of catalogue.coverFiles) {
      files.set(String(cover), (files.get(String(cover)) ?? 0) + 1);
    }
    /** For each game, its covers with how many files each has. */
    const wanted = new Map<string, Map<string, number>>();
    for (const [id, game] of covers.filter(isApproved)) {
      if (!read.has(String(game))) continue;
      getOrAdd(wanted, String(game), () => new Map()).set(String(id), files.get(String(id)) ?? 0);
    }
    await inParallel(games, async ({ id, platform }) => {
      const { data } = await get(`/games/${platform}/${slugOf.get(id)}/covers`);
      const found = data.map((cover: { id: number; files: unknown[] }) => {
        return [String(cover.id), cover.files.length];
      });
      expect(found, `the covers of game ${id}`).toHaveLength(wanted.get(id)?.size ?? 0);
      expect(new Map(found), `the covers of game ${id}`).toEqual(wanted.get(id) ?? new Map());
    });
    expect(wanted.size).toBeGreaterThan(0);
    expect((await get('/stats')).covers).toBe(covers.filter(isApproved).length);
  });

  test('does not serve pending or rejected covers', async () => {
    const hidden = [...catalogue.covers].filter(([, , , , status]) => status !== 'approved');
    const shown: string[] = [];
    await inParallel(hidden, async ([id]) => {
      const { statusCode } = await request(`/covers/${id}`);
      if (statusCode !== 404) shown.push(`${id}: ${statusCode}`);
    });
    expect(hidden.length).toBeGreaterThan(0);
    expect(shown).toEqual([]);
  });
});

/** Fails unless the pages of a list have exactly these games, in this order. */
async function expectListed(target: string, games: readonly ReferenceGame[], perPage: number) {
  const pages = Math.max(1, Math.ceil(games.length / perPage));
  const found: string[] = [];
  await inParallel(
    Array.from({ length: pages }, (_, i) => i + 1),
    async (page) => {
      const { data, total } = await get(`${target}?page=${page}&per_page=${perPage}`);
      expect(total, target).toBe(games.length);
      for (const [i, game] of data.entries()) found[(page - 1) * perPage + i] = String(game.id);
    },
  );
  // Compares only ids: a difference would be hard to find in whole pages.
  const wrong = games.findIndex(({ id }, index) => found[index] !== id);
  expect(wrong, `${target}: the index of the first wrong game`).toBe(-1);
  expect(found.length, target).toBe(games.length);
}

async function request(target: string): Promise<{ statusCode: number; text: string }> {
  const { statusCode, body } = await pool.request({
    method: 'GET',
    path: `/api/v1${target}`,
    headers: { 'x-api-key': key.key },
  });
  return { statusCode, text: await body.text() };
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of several shapes
async function get(target: string): Promise<any> {
  const { statusCode, text } = await request(target);
  if (statusCode !== 200) throw new Error(`${target} was answered with ${statusCode}: ${text}`);
  return JSON.parse(text);
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++]);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}
