/**
 * The judged queries: their files, the figures computed from them, and the product's figures
 * through a real proxy. `judged/README.md` says how the set is made and used.
 */
import { describe, expect, test } from 'vitest';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { sharedCatalogue } from '../../catalogue/shared.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { startProxy, testKey, writeKeys } from '../../support/product.ts';
import {
  HALVES,
  halfOf,
  JUDGED_CATALOGUES,
  type JudgedQuery,
  parseJudgedQueries,
  readJudgedQueries,
} from './judged/judged-queries.ts';
import { findInProduct } from './judged/product-search.ts';
import { judge, qualityByKind, qualityOf } from './judged/quality.ts';

/** The least share of queries with a wanted game among the first five. */
const LEAST_SUCCESS_AT_5 = { sample: 0.95, real: 0.85 };
const LEAST_QUERIES = { sample: 200, real: 250 };
const CATALOGUES: Record<keyof typeof LEAST_QUERIES, () => Catalogue | undefined> = {
  sample: sampleCatalogue,
  real: sharedCatalogue,
};

function bothHalves(catalogue: keyof typeof LEAST_QUERIES): JudgedQuery[] {
  return HALVES.flatMap((half) => readJudgedQueries(catalogue, half));
}

/** `<platform slug>/<game slug>` of every game. */
function gamesOf({ platforms, games }: Catalogue): Set<string> {
  const slugs = new Map([...platforms].map(([id, slug]) => [id, slug]));
  return new Set([...games].map(([, platform, slug]) => `${slugs.get(platform)}/${slug}`));
}

describe.each(JUDGED_CATALOGUES)('the judged queries of the %s catalogue', (name) => {
  test('are enough, in two halves of about the same size and with the same kinds', () => {
    const [tuning, heldOut] = HALVES.map((half) => readJudgedQueries(name, half));
    expect(tuning.length + heldOut.length).toBeGreaterThanOrEqual(LEAST_QUERIES[name]);
    expect(heldOut.length / tuning.length).toBeGreaterThan(0.8);
    expect(heldOut.length / tuning.length).toBeLessThan(1.25);
    const kinds = [tuning, heldOut].map((half) => [...new Set(half.map(({ kind }) => kind))]);
    expect(kinds[0]).toEqual(kinds[1]);
  });

  test('want games that exist', ({ skip }) => {
    const catalogue = CATALOGUES[name]();
    if (catalogue === undefined) return skip('The real catalogue is not on this machine.');
    const games = gamesOf(catalogue);
    const missing = bothHalves(name).flatMap(({ q, wanted }) =>
      wanted.filter((game) => !games.has(game)).map((game) => `${q} | ${game}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('a file of judged queries', () => {
  const read = (...lines: string[]) => parseJudgedQueries(lines.join('\n'), 'tuning', 'x.txt');

  test('gives each query with its kind and its games', () => {
    expect(halfOf('tetris')).toBe('tuning');
    expect(read('= plain titles', 'tetris | nes/tetris game-boy/tetris')).toEqual([
      { kind: 'plain titles', q: 'tetris', wanted: ['nes/tetris', 'game-boy/tetris'] },
    ]);
  });

  test.each([
    ['a query before the first kind', ['tetris | nes/tetris'], 'line 1: expected "= kind"'],
    ['a line without games', ['= a', 'tetris'], 'line 2: expected "= kind" or "query | games"'],
    ['a game without a platform', ['= a', 'tetris | tetris'], 'line 2: expected platform/game'],
    ['a query twice', ['= a', 'tetris | a/b', 'tetris | a/c'], 'line 3: the query appears twice'],
    ['a query of the other half', ['= a', 'tetirs | nes/tetris'], 'belongs to held-out'],
  ])('is refused with %s', (_, lines, message) => {
    expect(() => read(...lines)).toThrow(message);
  });
});

test('success at 5 and mean reciprocal rank are computed from the first ten answers', async () => {
  const queries = ['first', 'fifth', 'tenth', 'eleventh'].map((q, index) => ({
    kind: index < 2 ? 'high' : 'low',
    q,
    wanted: ['x/other', 'x/wanted'],
  }));
  const before: Readonly<Record<string, number>> = { first: 0, fifth: 4, tenth: 9, eleventh: 10 };
  const judgements = await judge(queries, (q) => [
    ...Array.from({ length: before[q] }, (_, index) => `x/unwanted-${index}`),
    'x/wanted',
    'x/other',
  ]);
  expect(judgements.map(({ position }) => position)).toEqual([1, 5, 10, undefined]);
  expect(qualityOf(judgements)).toEqual({
    queries: 4,
    successAt5: 0.5,
    reciprocalRank: (1 + 1 / 5 + 1 / 10) / 4,
  });
  expect([...qualityByKind(judgements)]).toEqual([
    ['high', { queries: 2, successAt5: 1, reciprocalRank: (1 + 1 / 5) / 2 }],
    ['low', { queries: 2, successAt5: 0, reciprocalRank: 1 / 10 / 2 }],
  ]);
});

describe.each(JUDGED_CATALOGUES)('the product, over the %s catalogue,', (name) => {
  const least = LEAST_SUCCESS_AT_5[name];
  test(`finds a wanted game among the first five for at least ${least * 100} % of the judged queries`, {
    timeout: 600_000,
  }, async ({ skip }) => {
    const catalogue = CATALOGUES[name]();
    if (catalogue === undefined) return skip('The real catalogue is not on this machine.');
    const snapshotsDir = await makeSnapshots(catalogue);
    const key = testKey(1);
    writeKeys(snapshotsDir, [key]);
    const proxy = await startProxy(snapshotsDir);
    try {
      const judgements = await judge(bothHalves(name), findInProduct(proxy.url, key.key));
      expect(qualityOf(judgements).successAt5).toBeGreaterThanOrEqual(least);
    } finally {
      await proxy.stop();
    }
  });
});
