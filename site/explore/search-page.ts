/** The page of a search, or of a platform: the search box, the filters, and a grid of games. */
import type { Body, Game, Platform } from '../../client/contract-types.ts';
import { VALUE_FACETS } from '../../find/search/value-filters.ts';
import { findPlatform, type PlatformEntry } from '../../lib/format/index/record-index.ts';
import { type Html, html } from '../../lib/pages/html.ts';
import { capitalise, countOf, shownNumber } from '../../lib/pages/shown-values.ts';
import type { Generation } from '../../proxy/snapshot/generation.ts';
import {
  EXPLORE,
  FILTERS,
  type FilterName,
  MATCH,
  pathOf,
  type SearchView,
  SORT_NAMES,
  searchPath,
} from './address.ts';
import {
  apiCall,
  card,
  coverOf,
  crumbs,
  explorerPage,
  gameImage,
  type PageContext,
  previewOf,
  siteLink,
} from './page.ts';

type Found = Body<'/search'>;

/** How many images are on the first screen. The others are loaded when they come near it. */
const FIRST_IMAGES = 6;
const SMALL = { sizes: '(max-width: 40rem) 45vw, 12rem', width: 192 };

/** @param step the value of `X-Search-Match` */
export function searchPage(
  view: SearchView,
  found: Found,
  step: string | undefined,
  context: PageContext,
): Html {
  const { generation } = context;
  const platform = findPlatform(generation.index, view.platform ?? '');
  const title = platform?.name ?? 'Explore the covers';
  const { q } = view;
  const games = found.data.map((game, index) => gameCard(game, index, view, context));
  const filters = filterLists(view, found, generation);
  return explorerPage(
    context.frame,
    q === undefined ? title : `${q} · ${title}`,
    html`${platform !== undefined && crumbs()}
<h1>${title}</h1>
<p class="lead">${platform === undefined ? html`${summary(context)} Or <a href="${MATCH}">match your files</a>.` : html`${countOf(platform.games, 'game')}, ${countOf(platform.covers, 'cover')}. ${websiteOf(platform)}`}</p>
${searchForm(view, platform?.name)}
<p class="faint" id="found" role="status">${foundText(view, found.total, step)}</p>
<div id="results">
  ${filtersInUse(view, generation)}
  ${filters.length > 0 && html`<p class="to-side"><a href="#filters">Filter these games</a></p>`}
  <div class="sided">
    <div>
      ${games.length === 0 ? nothingFound(view) : html`<ul class="grid">${games}</ul>`}
      ${paging(view, found)}
    </div>
    <nav id="filters" aria-label="Filters">
      ${filters}
    </nav>
  </div>
  ${apiCall(context)}
</div>`,
    summary(context),
    found.data.map(coverOf).find(previewOf),
  );
}

/** The link to a platform on the website of the catalogue. */
function websiteOf({ record }: PlatformEntry): Html | undefined {
  const { url }: Platform = JSON.parse(record.toString());
  const link = siteLink(url);
  return link && html`See it on ${link}.`;
}

function summary({ generation }: PageContext): string {
  const { platforms, games, covers } = generation.manifest.counts;
  return `${countOf(covers, 'cover')} of ${countOf(games, 'game')} on ${countOf(platforms, 'platform')}. Search them by title, or choose a platform.`;
}

function searchForm(view: SearchView, platform: string | undefined): Html {
  const kept = VALUE_FACETS.map((name) => [name, view[name]] as const);
  const action = view.platform === undefined ? EXPLORE : pathOf(view.platform);
  return html`<form class="inline" role="search" action="${action}" data-search>
  <label class="unseen" for="q">${platform === undefined ? 'Search games by title' : `Search the games of ${platform}`}</label>
  <input id="q" name="q" type="search" value="${view.q ?? ''}" maxlength="100" placeholder="Search by title" autocomplete="off" spellcheck="false">
  <label class="unseen" for="sort">Order</label>
  <select id="sort" name="sort">
    ${Object.entries(SORT_NAMES).map(
      ([value, name]) =>
        html`<option value="${value}"${value === (view.sort ?? 'relevance') && html` selected`}>${name}</option>`,
    )}
  </select>
  ${kept.map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}
  <button>Search</button>
</form>`;
}

/** How many games were found, and what had to be ignored in the search to find them. */
function foundText({ q }: SearchView, total: number, step: string | undefined): string {
  const count = countOf(total, 'game');
  if (q === undefined) return count;
  switch (step) {
    case 'near':
      return `No exact match for “${q}”. Showing ${count} with a similar spelling.`;
    case 'platform':
      return `${count} for “${q}”, read as a title and a platform.`;
    case 'partial':
      return `No title has all words of “${q}”. Showing ${count} with all but one.`;
    default:
      return `${count} for “${q}”`;
  }
}

function nothingFound(view: SearchView): Html {
  const { q, page = '1', ...filters } = view;
  if (page !== '1') {
    return html`<h2>There are no more games</h2>
  <p>This page is after the last one.</p>
  <p><a href="${searchPath({ ...view, page: undefined })}">Go to the first page</a></p>`;
  }
  const hasFilters = FILTERS.some((name) => filters[name] !== undefined);
  const unfiltered = searchPath({ q, sort: view.sort });
  return html`<h2>No games found</h2>
  <p>${adviceOf(q, hasFilters)}</p>
  ${hasFilters && html`<p><a href="${unfiltered}">Remove all filters</a></p>`}`;
}

function adviceOf(q: string | undefined, hasFilters: boolean): string {
  if (q !== undefined)
    return `Check the spelling, or use fewer words${hasFilters ? ' or filters' : ''}.`;
  return hasFilters ? 'No game passes all of these filters.' : 'The catalogue has no games yet.';
}

function gameCard(
  game: Game,
  index: number,
  { platform }: SearchView,
  { imageOrigin: origin, generation: { frontTypes } }: PageContext,
): Html {
  const { title, slug, release_year: year } = game;
  const isFirst = index < FIRST_IMAGES;
  const cover = coverOf(game);
  const image = cover && gameImage(cover, { ...SMALL, origin, isFirst, frontTypes });
  const missing = cover === undefined ? 'No cover yet' : 'No preview';
  const facts = [platform === undefined && game.platform.name, year].filter(Boolean).join(' · ');
  return card(pathOf(game.platform.slug, slug), image, missing, title, facts);
}

function paging(view: SearchView, { page, total_pages: last }: Found): Html | undefined {
  if (last < 2 || page > last) return undefined;
  const link = (to: number, text: string, rel: string) =>
    to < 1 || to > last
      ? html`<span></span>`
      : html`<a class="button quiet" rel="${rel} nofollow" href="${searchPath({ ...view, page: String(to) })}">${text}</a>`;
  return html`<nav class="pager" aria-label="Pages">
  ${link(page - 1, 'Previous', 'prev')}
  <span class="faint">Page ${shownNumber(page)} of ${shownNumber(last)}</span>
  ${link(page + 1, 'Next', 'next')}
</nav>`;
}

// The filters: those in use, and the values to choose from, as links with the number of games that the search
// would find with each.

const FILTER_TITLES: Readonly<Record<FilterName, string>> = {
  platform: 'Platform',
  region: 'Region',
  type: 'Type of cover',
  genre: 'Genre',
};
/** How many values of a filter are shown before the others are folded away. */
const MOST_SHOWN = 8;

/** The filters in use, each with a link that removes it. */
function filtersInUse(view: SearchView, generation: Generation): Html | undefined {
  const used = FILTERS.filter((name) => view[name] !== undefined);
  if (used.length === 0) return undefined;
  return html`<ul class="actions" aria-label="Filters in use">
  ${used.map(
    (name) =>
      html`<li><a class="button quiet small" href="${withValue(view, name, undefined)}" rel="nofollow"><span class="unseen">Remove the filter </span>${labelOf(name, view[name] ?? '', generation)}<span aria-hidden="true"> ×</span></a></li>`,
  )}
</ul>`;
}

function filterLists(view: SearchView, found: Found, generation: Generation): Html[] {
  return FILTERS.flatMap((name) => {
    const items = countsOf(name, view, found, generation).map(({ value, games }) => {
      const isChosen = view[name]?.toLowerCase() === value.toLowerCase();
      const path = withValue(view, name, isChosen ? undefined : value);
      const current = isChosen && html` aria-current="true"`;
      return html`<li><a href="${path}" rel="nofollow"${current}><span>${labelOf(name, value, generation)}</span> <span class="faint">${shownNumber(games)}</span></a></li>`;
    });
    const folded = items.slice(MOST_SHOWN);
    if (items.length === 0) return [];
    return html`<section>
  <h2 id="filter-${name}">${FILTER_TITLES[name]}</h2>
  <ul aria-labelledby="filter-${name}">${items.slice(0, MOST_SHOWN)}</ul>
  ${folded.length > 0 && html`<details><summary>${folded.length} more</summary><ul>${folded}</ul></details>`}
</section>`;
  });
}

/** The values of a filter with the numbers of their games, most games first. The API counts up to 50. */
function countsOf(
  name: FilterName,
  view: SearchView,
  { data, facets = {} }: Found,
  { index }: Generation,
): readonly { readonly value: string; readonly games: number }[] {
  const counts = facets[name] ?? [];
  const asked = [view.q, ...VALUE_FACETS.map((facet) => view[facet])];
  if (name === 'platform' && asked.every((each) => each === undefined)) {
    // Without a search, all platforms: no other page lists them.
    return index.platforms
      .filter(({ games }) => games > 0)
      .map(({ slug, games }) => ({ value: slug, games }))
      .sort((a, b) => b.games - a.games);
  }
  if (name !== 'genre') return counts;
  // The API counts genres in lower case. The games on the page show how the catalogue writes most of them.
  const written = data.flatMap(({ genres }) => genres?.split(',').map((each) => each.trim()) ?? []);
  const spellings = new Map(written.map((each) => [each.toLowerCase(), each]));
  return counts.map(({ value, games }) => ({ value: spellings.get(value) ?? value, games }));
}

function labelOf(name: FilterName, value: string, { index }: Generation): string {
  // Regions are often codes, such as "PT".
  if (name === 'region') return value;
  if (name !== 'platform') return capitalise(value);
  return findPlatform(index, value)?.name ?? value;
}

/** The same search with another value of a filter, from its first page on. */
function withValue(view: SearchView, name: FilterName, value: string | undefined): string {
  return searchPath({ ...view, [name]: value, page: undefined });
}
