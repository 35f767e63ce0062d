/** The filters of a search page, where the API counts at most 50 values, and genres in lower case. */
import { expect, test } from 'vitest';
import type { Body } from '#client/contract-types.ts';
import type { Generation } from '#proxy/snapshot/generation.ts';
import { searchPage } from '#site/explore/search-page.ts';
import { FRAME } from '#test/support/pages.ts';

const PLATFORMS = 60;
const platforms = Array.from({ length: PLATFORMS }, (_, at) => ({
  slug: `p${at}`,
  name: `Platform ${at}`,
  games: at,
}));
const generation = {
  manifest: { counts: { platforms: PLATFORMS, games: 2, covers: 0 } },
  index: { platforms, platformBySlug: new Map(platforms.map(({ slug }, at) => [slug, at])) },
} as unknown as Generation;
const found = {
  data: [],
  ...{ page: 1, per_page: 30, total: 0, total_pages: 0 },
  facets: { platform: [{ value: 'p3', games: 2 }], genre: [{ value: 'rpg', games: 2 }] },
} as Body<'/search'>;

function filtersOf(view: Record<string, string>, games: readonly object[] = []): string {
  const body = { ...found, data: games } as Body<'/search'>;
  const context = {
    frame: FRAME,
    address: '',
    generation,
    call: undefined,
    apiUrl: '',
    imageOrigin: undefined,
  };
  return String(searchPage(view, body, undefined, context)).split('id="filters"')[1];
}
const platformLinks = (html: string) =>
  [...html.matchAll(/href="\/explore\/(p\d+)/g)].map(([, slug]) => slug);

test('without a search, every platform with games is offered, most games first', () => {
  const links = platformLinks(filtersOf({}));
  expect(links).toHaveLength(PLATFORMS - 1);
  expect(links.slice(0, 2)).toEqual(['p59', 'p58']);
});

test('in a search, those that the API has counted', () => {
  expect(platformLinks(filtersOf({ q: 'zelda' }))).toEqual(['p3']);
});

test('a genre is written as in a game of the page, if one has it', () => {
  const platform = { slug: 'p3', name: 'Platform 3' };
  const game = { slug: 'a', title: 'A', genres: 'Action, RPG', platform, cover: null };
  expect(filtersOf({ q: 'a' }, [game])).toMatch(/genre=RPG"[^>]*><span>RPG</);
  expect(filtersOf({ q: 'a' })).toMatch(/genre=rpg"[^>]*><span>Rpg</);
});
