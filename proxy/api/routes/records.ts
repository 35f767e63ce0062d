/** The routes of platforms, games and covers: one of them, those of a platform or game, and batches. */

import type { Query } from '../../../find/search/query.ts';
import { type GameNumber, numberAt } from '../../../lib/columns/numbers.ts';
import { findById, type IdColumns, splitId } from '../../../lib/format/index/ids.ts';
import { findGame, findPlatform } from '../../../lib/format/index/record-index.ts';
import type { Body, Generation } from '../../snapshot/generation.ts';
import {
  batchBody,
  consecutive,
  gameBody,
  gameCovers,
  gatherCovers,
  gatherGames,
  pageBody,
  platformsWithAliases,
} from '../bodies.ts';
import { INCLUDE_NAMES, includeOf, resolveInclude } from '../include.ts';
import {
  type Batch,
  FILTER_NAMES,
  filtersOf,
  idsOf,
  PAGING_NAMES,
  type Paging,
  ParameterError,
  pagingOf,
  searchOf,
  shownParameter,
  slugsOf,
} from '../parameters.ts';
import { makeJsonResource, makeRoute, type PageLinks, plainRoute, type Route } from './route.ts';

export const platformsRoute = makeRoute('platforms', ['include'], (parameters) => {
  const include = parameters.get('include');
  if (include !== undefined && include !== 'aliases') {
    throw new ParameterError('include', `include has ${shownParameter(include)}. Allowed: aliases`);
  }
  return (generation) => {
    const { platforms, id } = generation;
    return makeJsonResource(include ? platformsWithAliases(generation) : platforms, id);
  };
});

export function gameRoute(platform: string, slug: string): Route {
  return makeRoute('game', INCLUDE_NAMES, (parameters) => {
    // Most requests have no parameters.
    const include = parameters.size === 0 ? undefined : includeOf(parameters);
    return (generation) => {
      const members = include && resolveInclude(generation, include);
      const game = findByPath(generation, platform, slug);
      if (game === undefined) return undefined;
      const body =
        members === undefined ? generation.games.body(game) : gameBody(generation, game, members);
      return makeJsonResource(body, generation.id);
    };
  });
}

export function gameCoversRoute(platform: string, slug: string): Route {
  return plainRoute('game_covers', (generation): Body | undefined => {
    const game = findByPath(generation, platform, slug);
    return game === undefined ? undefined : gameCovers(generation, game);
  });
}

const LIST_NAMES = [...PAGING_NAMES, ...FILTER_NAMES, ...INCLUDE_NAMES];

export function platformGamesRoute(slug: string, pageLinks: PageLinks): Route {
  return makeRoute('platform_games', LIST_NAMES, (parameters) => {
    const paging = pagingOf(parameters);
    const include = includeOf(parameters);
    const filters = filtersOf(parameters);
    return (generation) => {
      const members = include && resolveInclude(generation, include);
      const platform = findPlatform(generation.index, slug);
      if (platform === undefined) return undefined;
      const [from, to] = rangeOfPage(platform.firstGame, platform.games, paging);
      const isFiltered = filters.year !== undefined || filters.has_cover !== undefined;
      const query = { ...NO_FILTERS, ...filters, platform: [slug] };
      const passing = isFiltered ? findPassing(generation, query, paging) : undefined;
      const numbers = passing?.games ?? (members && gamesFrom(from, to));
      // Consecutive records are one read.
      const content =
        numbers === undefined
          ? consecutive(generation.games, from, to)
          : gatherGames(generation, numbers, members);
      const page = { ...paging, total: passing?.total ?? platform.games };
      const body = pageBody(content, page);
      const link = pageLinks(`/platforms/${slug}/games`, parameters, page);
      return makeJsonResource(body, generation.id, link);
    };
  });
}

const BATCH_NAMES = ['ids', 'slugs', ...INCLUDE_NAMES];

export const gameBatchRoute = makeRoute('games', BATCH_NAMES, (parameters) => {
  const include = includeOf(parameters);
  const ids = idsOf(parameters);
  const slugs = slugsOf(parameters);
  if (ids && slugs) throw new ParameterError('slugs', 'Send either ids or slugs, not both');
  const batch = ids ?? slugs;
  if (batch === undefined) {
    throw new ParameterError('ids', 'ids or slugs is missing. To list all games, use /search');
  }
  return (generation) => {
    const members = include && resolveInclude(generation, include);
    const { numbers, missing } = findBatch(generation, generation.index.games, batch);
    const games = gatherGames(generation, numbers, members);
    return makeJsonResource(batchBody(games, missing), generation.id);
  };
});

export function coverRoute(id: string): Route {
  return plainRoute('cover', ({ index, covers }) => {
    const wanted = splitId(id);
    const cover = wanted && findById(index.covers, wanted);
    return cover === undefined ? undefined : covers.body(cover);
  });
}

export function platformCoversRoute(slug: string, pageLinks: PageLinks): Route {
  return makeRoute('platform_covers', PAGING_NAMES, (parameters) => {
    const paging = pagingOf(parameters);
    return (generation) => {
      const platform = findPlatform(generation.index, slug);
      if (platform === undefined) return undefined;
      const page = { ...paging, total: platform.covers };
      const [from, to] = rangeOfPage(platform.firstCover, platform.covers, paging);
      const body = pageBody(consecutive(generation.covers, from, to), page);
      const link = pageLinks(`/platforms/${slug}/covers`, parameters, page);
      return makeJsonResource(body, generation.id, link);
    };
  });
}

export const coverBatchRoute = makeRoute('covers', ['ids'], (parameters) => {
  const batch = idsOf(parameters);
  if (batch === undefined) {
    throw new ParameterError(
      'ids',
      'ids is missing. To list the covers of a platform, use /platforms/{slug}/covers',
    );
  }
  return (generation) => {
    const { numbers, missing } = findBatch(generation, generation.index.covers, batch);
    const body = batchBody(gatherCovers(generation, numbers), missing);
    return makeJsonResource(body, generation.id);
  };
});

// Finding the records.

const NO_FILTERS = searchOf(new Map());

/** The games of a page of those that pass the filters of a query. */
function findPassing(
  { search, index }: Generation,
  query: Query,
  { page, perPage }: Paging,
): { readonly total: number; readonly games: readonly GameNumber[] } {
  const { total, ranks } = search.find(query, (page - 1) * perPage, perPage);
  return { total, games: ranks.map((rank) => index.games.gameOfRank[rank]) };
}

/** @returns undefined if there is no game with the path */
function findByPath(
  { index }: Generation,
  platformSlug: string,
  slug: string,
): GameNumber | undefined {
  const platform = index.platformBySlug.get(platformSlug);
  return platform === undefined ? undefined : findGame(index, platform, slug);
}

/**
 * @param columns the ids of all games, or of all covers
 * @returns the numbers of the records that exist, and the other entries; each once
 */
function findBatch<N extends number>(
  generation: Generation,
  columns: IdColumns<N>,
  { entries, ids }: Batch,
) {
  const numbers = new Set<N | GameNumber>();
  const missing = new Set<string>();
  for (const [position, entry] of entries.entries()) {
    const id = ids?.[position];
    const [platform, slug = ''] = entry.split('/');
    const number =
      id === undefined ? findByPath(generation, platform, slug) : findById(columns, id);
    if (number === undefined) missing.add(entry);
    else numbers.add(number);
  }
  return { numbers: [...numbers], missing: [...missing] };
}

/** The games from one number (inclusive) to another (exclusive). */
function gamesFrom(from: number, to: number): GameNumber[] {
  return Array.from({ length: to - from }, (_, index) => numberAt(from + index));
}

/** The range of a page in `total` records from number `first` on: `from` inclusive, `to` exclusive. */
function rangeOfPage(
  first: number,
  total: number,
  { page, perPage }: Paging,
): [from: number, to: number] {
  const from = first + Math.min((page - 1) * perPage, total);
  return [from, Math.min(from + perPage, first + total)];
}
