/** The product's figures for the judged queries, through a real proxy. README.md says how they are made. */
import { describe, expect, test } from 'vitest';
import type { Catalogue } from '../../../../catalogue/catalogue.ts';
import { sampleCatalogue } from '../../../../catalogue/sample.ts';
import { sharedCatalogue } from '../../../../catalogue/shared.ts';
import { makeSnapshots } from '../../../../catalogue/snapshots.ts';
import { startProxy, testKey, writeKeys } from '../../../../support/product.ts';
import {
  HALVES,
  JUDGED_CATALOGUES,
  type JudgedQuery,
  readJudgedQueries,
} from './judged-queries.ts';
import { findInProduct } from './product-search.ts';
import { judge, qualityOf } from './quality.ts';

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

describe.each(JUDGED_CATALOGUES)('the product, over the %s catalogue,', (name) => {
  const least = LEAST_SUCCESS_AT_5[name];
  test(`finds a wanted game among the first five for at least ${least * 100} % of the judged queries`, async ({
    skip,
  }) => {
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
