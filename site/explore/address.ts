/**
 * The addresses of the explorer: what the path and the query of a page mean, the call of the API whose
 * result the page shows, and the links to other pages. No part of a path becomes a file name.
 */
import { forEachFilter, VALUE_FACETS } from '../../find/search/value-filters.ts';
import type { SampleCall } from '../../lib/pages/files/call-samples.js';
import { decodePart } from '../../proxy/api/routes/find-route.ts';

export const EXPLORE = '/explore';
/** The page that matches names of files. It is not below EXPLORE, where platforms have their names. */
export const MATCH = '/match';
const GAMES_PER_PAGE = '30';

export const SORT_NAMES = {
  relevance: 'Best match',
  title_asc: 'Title, A to Z',
  title_desc: 'Title, Z to A',
  year_desc: 'Newest first',
  year_asc: 'Oldest first',
} as const;
const DEFAULT_SORT = 'relevance';
/** The parameters of a search page, in the order of its links. The platform is part of the path. */
const PARAMETERS = ['q', ...VALUE_FACETS, 'sort', 'page'] as const;
/** The filters that a page offers: those whose values are counted. */
export const FILTERS = ['platform', ...VALUE_FACETS] as const;
export type FilterName = (typeof FILTERS)[number];

/** The page of a search, as its address describes it: undefined stands for the default. */
export type SearchView = Readonly<
  Partial<Record<(typeof PARAMETERS)[number] | FilterName, string | undefined>>
>;

/** The page that matches files: without a platform or names, only its form. */
export interface MatchView {
  readonly kind: 'match';
  readonly platform: string | undefined;
  readonly names: readonly string[];
  readonly prefer: string | undefined;
}

interface GameAddress {
  readonly platform: string;
  readonly slug: string;
}

export type View =
  | MatchView
  | ({ readonly kind: 'search' } & SearchView)
  | ({ readonly kind: 'game' } & GameAddress)
  | ({ readonly kind: 'cover'; readonly id: string } & GameAddress);

/** @returns undefined if the explorer has no such page */
export function readView(path: string, queryString: string): View | undefined {
  const query = new URLSearchParams(queryString);
  if (path === MATCH) return matchView(query);
  const parts = path.split('/').slice(2).map(decodePart);
  const [platform, slug, id, ...others] = parts;
  // A slug has no slash, so a part with an encoded one names nothing.
  if (others.length > 0 || parts.some((part) => !part || part.includes('/'))) return undefined;
  if (platform === undefined || slug === undefined) return searchView(platform, query);
  if (id === undefined) return { kind: 'game', platform, slug };
  return /^\d{1,20}$/.test(id) ? { kind: 'cover', platform, slug, id } : undefined;
}

/** Paths count as names of files: the API gets what follows the last slash. */
function matchView(query: URLSearchParams): MatchView {
  const lines = query.get('names')?.split(/[\r\n]+/) ?? [];
  return {
    kind: 'match',
    platform: query.get('platform') || undefined,
    names: lines.map((line) => line.trim().replace(/^.*[/\\](?=.)/, '')).filter(Boolean),
    prefer: query.get('prefer')?.trim() || undefined,
  };
}

/** Unknown parameters are ignored: other sites add theirs to links, such as those of campaigns. */
function searchView(platform: string | undefined, query: URLSearchParams): View {
  const values = PARAMETERS.map((name) => [name, query.get(name)?.trim() || undefined]);
  return { kind: 'search', platform, ...Object.fromEntries(values) };
}

/** The call of the API whose result the page shows; undefined if it shows none. */
export function callOf(view: View): SampleCall | undefined {
  if (view.kind === 'match') {
    const { platform, names, prefer } = view;
    if (platform === undefined || names.length === 0) return undefined;
    return {
      path: '/match',
      query: { platform, names: names.join('/'), prefer, include: 'cover' },
    };
  }
  if (view.kind === 'search') {
    const { q, platform, sort = DEFAULT_SORT, page } = view;
    const filters = { q, platform, ...forEachFilter((name) => view[name], VALUE_FACETS), sort };
    const facets = FILTERS.join(',');
    const shown = { include: 'cover,covers', facets, per_page: GAMES_PER_PAGE, page };
    return { path: '/search', query: { ...filters, ...shown } };
  }
  if (view.kind === 'cover') return { path: '/covers/{coverId}', pathValues: { coverId: view.id } };
  return {
    path: '/games/{platformSlug}/{gameSlug}',
    pathValues: { platformSlug: view.platform, gameSlug: view.slug },
    query: { include: 'covers' },
  };
}

/** The path and query of a search. */
export function searchPath(view: SearchView): string {
  const path = view.platform === undefined ? EXPLORE : pathOf(view.platform);
  const query = new URLSearchParams();
  for (const name of PARAMETERS) {
    const value = view[name];
    const isDefault =
      (name === 'sort' && value === DEFAULT_SORT) || (name === 'page' && value === '1');
    if (value !== undefined && !isDefault) query.set(name, value);
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

/** The path of a platform, a game or a cover. */
export function pathOf(...parts: readonly (string | number)[]): string {
  return [EXPLORE, ...parts.map((part) => encodeURIComponent(String(part).toWellFormed()))].join(
    '/',
  );
}
