/**
 * The generator writes `search.json` without MiniSearch, but others load it with MiniSearch. So it
 * must equal what MiniSearch itself would write.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import MiniSearch, { type SearchResult } from 'minisearch';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Row } from '../../database/database.ts';
import { MINISEARCH_OPTIONS_HASH } from '../../format/index/minisearch-hash.ts';
import { MINISEARCH_OPTIONS } from '../../format/index/minisearch-options.ts';
import { makeCollator } from '../../generator/order/title-order.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { sampleCatalogue } from '../catalogue/sample.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { makeSnapshots } from '../catalogue/snapshots.ts';

interface Document {
  readonly id: number;
  readonly path: string;
  readonly platform: string;
  readonly title: string;
}

/** The games in the packs of a generation, sorted into title order by the collator. */
function documentsOf(generation: string): Document[] {
  const collator = makeCollator();
  return readdirSync(path.join(generation, 'games'))
    .flatMap((name) => JSON.parse(readFileSync(path.join(generation, 'games', name), 'utf8')))
    .map(({ id, slug, title, platform }) => ({
      id,
      path: `${platform.slug}/${slug}`,
      platform: platform.slug as string,
      title,
    }))
    .sort(
      (a, b) =>
        collator.compare(a.title, b.title) ||
        (a.platform < b.platform ? -1 : a.platform > b.platform ? 1 : a.id - b.id),
    );
}

function catalogueOf(titles: readonly string[]): Catalogue {
  return {
    platforms: [[1, 'one', 'One']],
    games: titles.map((title, i): Row => {
      return [i + 1, 1, `g${i}`, title, null, null, null, null, null];
    }),
    // A first generation without covers would be refused.
    covers: titles.slice(0, 1).map((): Row => [1, 1, null, null, 'approved', null]),
    coverFiles: [],
    accounts: [],
  };
}

const byTerm = (a: [string, unknown], b: [string, unknown]) => (a[0] < b[0] ? -1 : 1);

describe.each([
  ['the sample catalogue', sampleCatalogue()],
  ['a seeded catalogue', seededCatalogue({ games: 200, seed: 11 })],
  [
    'difficult titles',
    catalogueOf([
      '!!!',
      '…',
      'go go go GO gó',
      `${'na '.repeat(160)}batman`,
      '__proto__ constructor toString',
      'ドラゴンクエスト ドラゴンクエスト',
      'アタックNo.1 アタック',
      '\u{20000}\u{20001}𠮷野家',
      '3½ 007 7 ７',
      "Assassin's Creed™ Ⅲ",
      'Ærøskøbing ß ẞ İı',
      '🎮 game 🎮',
      // Of several readings, the first counts.
      'Go & Go',
      'S.T.A.L.K.E.R.',
      'R.B.I. & C++',
      'ゴー & ゴー',
    ]),
  ],
  ['no games', catalogueOf([])],
])('search.json of %s', (_, catalogue) => {
  let generation: string;
  let text: string;
  let built: MiniSearch<Document>;
  let documents: Document[];

  beforeAll(async () => {
    generation = path.join(await makeSnapshots(catalogue), 'current');
    text = readFileSync(path.join(generation, 'search.json'), 'utf8');
    documents = documentsOf(generation);
    built = new MiniSearch<Document>(MINISEARCH_OPTIONS);
    built.addAll(documents);
  });

  test('equals what MiniSearch writes after addAll in title order', () => {
    const written = JSON.parse(text);
    const expected = JSON.parse(JSON.stringify(built));
    written.index.sort(byTerm);
    expected.index.sort(byTerm);
    expect(written).toEqual(expected);
  });

  test('gives the same results and scores after MiniSearch has loaded it', () => {
    const loaded = MiniSearch.loadJSON<Document>(text, MINISEARCH_OPTIONS);
    expect(loaded.documentCount).toBe(documents.length);
    const queries = documents.slice(0, 40).map(({ title }) => title);
    for (const query of [...queries, 'dragon', 'go', 'ドラゴン', 'constructor']) {
      const found = byId(loaded.search(query, { prefix: true }));
      const expected = byId(built.search(query, { prefix: true }));
      expect([...found.keys()], query).toEqual([...expected.keys()]);
      // The terms are in another order, so sums of scores may differ in their last digit.
      for (const [id, score] of expected) expect(found.get(id), id).toBeCloseTo(score, 6);
    }
  });

  test('must be loaded with the options in the manifest', () => {
    const manifest = JSON.parse(readFileSync(path.join(generation, 'manifest.json'), 'utf8'));
    expect(manifest.minisearch_options).toBe(MINISEARCH_OPTIONS_HASH);
  });
});

function byId(results: readonly SearchResult[]): Map<string, number> {
  const scores = results.map(({ id, score }): [string, number] => [id, score]);
  return new Map(scores.sort(([a], [b]) => (a < b ? -1 : 1)));
}
