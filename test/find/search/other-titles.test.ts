/** A search over titles of something else, which nobody has generated, published or served: find/search alone. */
import { expect, test } from 'vitest';
import { makePlatformNames } from '#find/names/platform-names.ts';
import { Search } from '#find/search/find.ts';
import { openSearch } from '#find/search/open.ts';
import { prepareSearch } from '#find/search/prepare-search.ts';
import { forEachFilter } from '#find/search/value-filters.ts';
import { makeWords } from '#find/search/write.ts';
import { makeFilters } from '#find/search/write-filters.ts';
import { queryVariantsOf, variantsOf } from '#find/text/variants.ts';
import { encodeColumns, openColumns } from '#lib/columns/container.ts';

test('a thousand books are found by their words, near spellings and years', () => {
  const topics = 'Gardens Rivers Engines Theatre Whales Bridges Clocks Maps Bread Winds'.split(' ');
  const titles = Array.from({ length: 1000 }, (_, i) => {
    return `The ${['Little', 'Great'][i % 2]} Book of ${topics[i % 10]}, Volume ${1 + Math.floor(i / 10)}`;
  }).sort();
  const words = makeWords(titles.length, undefined);
  for (const [rank, title] of titles.entries()) words.add(rank, variantsOf(title), undefined);
  const years = Int32Array.from(titles, (_, rank) => 1900 + (rank % 100));
  const values = forEachFilter(() => ({ texts: [], forEach() {} }));
  const open = (columns: object, name: string) =>
    openColumns(new Uint8Array(Buffer.concat([...encodeColumns(columns, 1)])), name, 1);
  const filters = open(makeFilters({ years, values }), 'filters');
  const index = openSearch({ words: open(words.finish().columns, 'words'), filters }, 1000);
  const platforms = [{ slug: 'books', name: 'Books', firstGame: 0, games: 1000 }];
  const ranks = Uint32Array.from(titles.keys()) as never;
  const games = { rank: ranks, gameOfRank: ranks, firstCover: new Uint32Array(1001) };
  const catalogue = { platforms, games };
  const names = makePlatformNames(platforms);
  const search = new Search(index, prepareSearch(index, catalogue), catalogue, names, []);
  const find = (q: string, year?: number) => {
    const others = { platform: undefined, has_cover: undefined, ...forEachFilter(() => undefined) };
    const range = year === undefined ? undefined : ([year, year] as const);
    const query = {
      variants: queryVariantsOf(q),
      year: range,
      sort: 'relevance',
      ...others,
    } as const;
    const { step, ranks, total } = search.find(query, 0, 1);
    return [step, total, titles[ranks[0] ?? -1]];
  };
  expect(find('whales VII')).toEqual(['exact', 1, 'The Little Book of Whales, Volume 7']);
  expect(find('theater 12')).toEqual(['near', 1, 'The Great Book of Theatre, Volume 12']);
  expect(find('great book', 1903)).toEqual(['exact', 5, expect.stringContaining('Great')]);
});
