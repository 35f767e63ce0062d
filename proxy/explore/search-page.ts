/** The page of a search, or of a platform: the search box, the filters, and a grid of games. */
import type { Body, Game } from '../../client/contract-types.ts';
import { type Html, html } from '../../pages/html.ts';
import { countOf, shownNumber } from '../../pages/shown-values.ts';
import {
  EXPLORE,
  FILTERS,
  MATCH,
  pathOf,
  type SearchView,
  SORT_NAMES,
  searchPath,
} from './address.ts';
import { activeFilters, type Filter, filterLists } from './filters.ts';
import { apiCall, card, coverImage, crumbs, explorerPage, type PageContext } from './page.ts';

export interface SearchResult {
  readonly found: Body<'/search'>;
  readonly filters: readonly Filter[];
  /** The value of `X-Search-Match`. */
  readonly step: string | undefined;
}

/** How many images are on the first screen. The others are loaded when they come near it. */
const FIRST_IMAGES = 6;
const SMALL = { sizes: '(max-width: 40rem) 45vw, 12rem', width: 192 };

export function searchPage(view: SearchView, result: SearchResult, context: PageContext): Html {
  const { platforms, platformBySlug } = context.generation.index;
  const platform = platforms[platformBySlug.get(view.platform ?? '') ?? -1];
  const title = platform?.name ?? 'Explore the covers';
  const { q } = view;
  const games = result.found.data.map((game, index) =>
    gameCard(game, index, view, context.imageOrigin),
  );
  return explorerPage(
    q === undefined ? title : `${q} · ${title}`,
    html`${platform !== undefined && crumbs()}
<h1>${title}</h1>
<p class="lead">${platform === undefined ? html`${summary(context)} Or <a href="${MATCH}">match your files</a>.` : `${countOf(platform.games, 'game')}, ${countOf(platform.covers, 'cover')}.`}</p>
${searchForm(view, platform?.name)}
<p class="faint" id="found" role="status">${foundText(view, result)}</p>
<div id="results">
  ${activeFilters(view, result.filters, context.generation)}
  ${result.filters.some(({ values }) => values.length > 0) && html`<p class="to-side"><a href="#filters">Filter these games</a></p>`}
  <div class="sided">
    <div>
      ${games.length === 0 ? nothingFound(view) : html`<ul class="grid">${games}</ul>`}
      ${paging(view, result.found)}
    </div>
    ${filterLists(view, result.filters)}
  </div>
  ${apiCall(context)}
</div>`,
  );
}

function summary({ generation }: PageContext): string {
  const { platforms, games, covers } = generation.manifest.counts;
  return `${countOf(covers, 'cover')} of ${countOf(games, 'game')} on ${countOf(platforms, 'platform')}. Search them by title, or choose a platform.`;
}

function searchForm(view: SearchView, platform: string | undefined): Html {
  const { region, type, genre } = view;
  const kept = Object.entries({ region, type, genre });
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
function foundText({ q }: SearchView, { found, step }: SearchResult): string {
  const count = countOf(found.total, 'game');
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

function gameCard(game: Game, index: number, { platform }: SearchView, origin?: string): Html {
  const { title, slug, cover, release_year: year } = game;
  const isFirst = index < FIRST_IMAGES;
  const image = cover ? coverImage(cover, { ...SMALL, origin, isFirst }) : undefined;
  const facts = [platform === undefined && game.platform.name, year].filter(Boolean).join(' · ');
  return card(pathOf(game.platform.slug, slug), image, 'No cover yet', title, facts);
}

function paging(view: SearchView, { page, total_pages: last }: Body<'/search'>): Html | undefined {
  if (last < 2 || page > last) return undefined;
  const link = (to: number, text: string, rel: string) =>
    to < 1 || to > last
      ? html`<span></span>`
      : html`<a class="button quiet" rel="${rel} nofollow" href="${searchPath({ ...view, page: String(to) })}">${text}</a>`;
  return html`<nav class="actions" aria-label="Pages">
  ${link(page - 1, 'Previous', 'prev')}
  <span class="faint">Page ${shownNumber(page)} of ${shownNumber(last)}</span>
  ${link(page + 1, 'Next', 'next')}
</nav>`;
}
