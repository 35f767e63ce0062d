/**
 * The generator writes `search.json` without MiniSearch, but others load it with MiniSearch. So it
 * must equal what MiniSearch itself would write.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import MiniSearch, { type SearchResult } from 'minisearch';
import { expect, test } from 'vitest';
import { MINISEARCH_OPTIONS_HASH } from '../../../format/index/minisearch-hash.ts';
import { MINISEARCH_OPTIONS } from '../../../format/index/minisearch-options.ts';
import { titledCatalogue } from '../../catalogue/plain.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { gamesInOrder } from './games-in-order.ts';

const DIFFICULT_TITLES = [
  ...['!!!', '…', 'go go go GO gó', `${'na '.repeat(160)}batman`, '__proto__ constructor toString'],
  ...['ドラゴンクエスト ドラゴンクエスト', 'アタックNo.1 アタック', '\u{20000}\u{20001}𠮷野家'],
  ...['3½ 007 7 ７', "Assassin's Creed™ Ⅲ", 'Ærøskøbing ß ẞ İı', '🎮 game 🎮'],
  // Of several readings, the first counts.
  ...['Go & Go', 'S.T.A.L.K.E.R.', 'R.B.I. & C++', 'ゴー & ゴー'],
];

const byTerm = (a: [string, unknown], b: [string, unknown]) => (a[0] < b[0] ? -1 : 1);

function byId(results: readonly SearchResult[]): Map<string, number> {
  const scores = results.map(({ id, score }): [string, number] => [id, score]);
  return new Map(scores.sort(([a], [b]) => (a < b ? -1 : 1)));
}

test.each([
  ['the sample catalogue', sampleCatalogue()],
  ['difficult titles', titledCatalogue(DIFFICULT_TITLES.map((title, i) => [`g${i}`, title]))],
  ['no games', titledCatalogue([])],
])(
  'search.json of %s equals what MiniSearch writes, and gives the same results',
  async (_, catalogue) => {
    const generation = path.join(await makeSnapshots(catalogue), 'current');
    const text = readFileSync(path.join(generation, 'search.json'), 'utf8');
    const documents = gamesInOrder(generation).map(({ slug, ...game }) => {
      return { ...game, path: `${game.platform}/${slug}` };
    });
    // After addAll in title order.
    const built = new MiniSearch(MINISEARCH_OPTIONS);
    built.addAll(documents);
    const written = JSON.parse(text);
    const expected = JSON.parse(JSON.stringify(built));
    written.index.sort(byTerm);
    expected.index.sort(byTerm);
    expect(written).toEqual(expected);

    const loaded = MiniSearch.loadJSON(text, MINISEARCH_OPTIONS);
    expect(loaded.documentCount).toBe(documents.length);
    const queries = documents.slice(0, 40).map(({ title }) => title);
    for (const query of [...queries, 'dragon', 'go', 'ドラゴン', 'constructor']) {
      const found = byId(loaded.search(query, { prefix: true }));
      const wanted = byId(built.search(query, { prefix: true }));
      expect([...found.keys()], query).toEqual([...wanted.keys()]);
      // The terms are in another order, so sums of scores may differ in their last digit.
      for (const [id, score] of wanted) expect(found.get(id), id).toBeCloseTo(score, 6);
    }
    // It must be loaded with these options.
    const manifest = JSON.parse(readFileSync(path.join(generation, 'manifest.json'), 'utf8'));
    expect(manifest.minisearch_options).toBe(MINISEARCH_OPTIONS_HASH);
  },
);
