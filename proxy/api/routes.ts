/**
 * The endpoints under the base: finds the resource that a path names. The raw path is split into parts,
 * and the index is searched for each part. No part of the path is ever used as a file name.
 */
import { findCover, findGame } from '../../format/index/record-index.ts';
import { totalPages } from '../../format/pack.ts';
import { BASE } from '../http/message/target.ts';
import type { Body, Generation } from '../snapshot/generation.ts';
import { readPaging, readSearch } from './parameters.ts';
import { makeResource, type Resource } from './resource.ts';

/** The most parts that the path of an endpoint has. */
const MOST_PARTS = 4;

export const ROUTES = [
  'platforms',
  'platform',
  'platform_games',
  'game',
  'game_covers',
  'cover',
  'recent_covers',
  'search',
  'stats',
] as const;
export type RouteName = (typeof ROUTES)[number];

export interface Route {
  readonly name: RouteName;
  /**
   * Reads the parameters.
   * @param queryString the part of the target after "?"
   * @returns a function that finds the resource in a generation
   * @throws ParameterError
   */
  readonly prepare: (queryString: string) => Finder;
}

/** @returns undefined if the generation does not have the resource */
export type Finder = (generation: Generation) => Resource | undefined;

/**
 * The endpoint that a path names; undefined if there is none.
 * @param path the raw path after the base, without the query; begins with "/"
 */
export function matchRoute(path: string): Route | undefined {
  const parts = partsOf(path);
  const [kind, first, second, third] = parts;
  switch (parts.length) {
    case 1:
      if (kind === 'platforms') return makeRoute('platforms', ({ platforms }) => platforms);
      if (kind === 'stats') return makeRoute('stats', ({ stats }) => stats);
      if (kind === 'search') return { name: 'search', prepare: search };
      return undefined;
    case 2:
      if (first === undefined) return undefined;
      if (kind === 'platforms')
        return makeRoute('platform', (generation) => platform(generation, first));
      if (kind !== 'covers') return undefined;
      if (first === 'recent') return makeRoute('recent_covers', ({ recentCovers }) => recentCovers);
      return makeRoute('cover', (generation) => cover(generation, first));
    case 3:
      if (first === undefined || second === undefined) return undefined;
      if (kind === 'platforms' && second === 'games') {
        return { name: 'platform_games', prepare: (query) => platformGames(first, query) };
      }
      if (kind === 'games')
        return makeRoute('game', (generation) => game(generation, first, second));
      return undefined;
    case 4:
      if (first === undefined || second === undefined || third !== 'covers' || kind !== 'games') {
        return undefined;
      }
      return makeRoute('game_covers', (generation) => gameCovers(generation, first, second));
    default:
      return undefined;
  }
}

/** A route without parameters. */
function makeRoute(name: RouteName, find: (generation: Generation) => Body | undefined): Route {
  const finder: Finder = (generation) => {
    const body = find(generation);
    return body && makeResource(body, generation.id);
  };
  return { name, prepare: () => finder };
}

/** The decoded parts between the slashes. Stops after one part more than any endpoint has. */
function partsOf(path: string): (string | undefined)[] {
  const parts: (string | undefined)[] = [];
  for (let slash = 0; slash >= 0 && parts.length <= MOST_PARTS; ) {
    const next = path.indexOf('/', slash + 1);
    parts.push(decodePart(path.slice(slash + 1, next < 0 ? undefined : next)));
    slash = next;
  }
  return parts;
}

/** @returns undefined if the part is not percent-encoded UTF-8, since nothing has such a name */
function decodePart(part: string): string | undefined {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

function platform(generation: Generation, slug: string): Body | undefined {
  const number = generation.records.platformBySlug.get(slug);
  return number === undefined ? undefined : generation.platform(number);
}

function gameNumber(
  { records }: Generation,
  platformSlug: string,
  slug: string,
): number | undefined {
  const number = records.platformBySlug.get(platformSlug);
  return number === undefined ? undefined : findGame(records, number, slug);
}

function game(generation: Generation, platformSlug: string, slug: string): Body | undefined {
  const number = gameNumber(generation, platformSlug, slug);
  return number === undefined ? undefined : generation.game(number);
}

function gameCovers(generation: Generation, platformSlug: string, slug: string): Body | undefined {
  const number = gameNumber(generation, platformSlug, slug);
  if (number === undefined) return undefined;
  const { firstCover } = generation.records.games;
  return generation.coverList(firstCover[number], firstCover[number + 1]);
}

function cover(generation: Generation, id: string): Body | undefined {
  const number = findCover(generation.records, id);
  return number === undefined ? undefined : generation.cover(number);
}

function platformGames(slug: string, queryString: string): Finder {
  const { page, perPage } = readPaging(queryString);
  return (generation) => {
    const { platforms, platformBySlug } = generation.records;
    const platform = platforms[platformBySlug.get(slug) ?? -1];
    if (platform === undefined) return undefined;
    const { first_game, games: total } = platform;
    const from = first_game + Math.min((page - 1) * perPage, total);
    const to = Math.min(from + perPage, first_game + total);
    const body = generation.gamePage(from, to, { page, perPage, total });
    const link = pageLinks(`/platforms/${slug}/games`, [], page, perPage, total);
    return makeResource(body, generation.id, link);
  };
}

function search(queryString: string): Finder {
  const { query, kept, page, perPage } = readSearch(queryString);
  return (generation) => {
    const { total, ranks, match } = generation.search.find(query, (page - 1) * perPage, perPage);
    const games = ranks.map((rank) => generation.records.games.gameOfRank[rank]);
    const body = generation.gatheredPage(games, { page, perPage, total });
    const link = pageLinks('/search', kept, page, perPage, total);
    return makeResource(body, generation.id, link, match);
  };
}

/**
 * The Link header of a page (RFC 8288). Every page that it links exists, even if the page that was
 * requested is past the end.
 * @param kept the other parameters of the request, which the links repeat
 */
function pageLinks(
  path: string,
  kept: readonly (readonly [string, string])[],
  page: number,
  perPage: number,
  total: number,
): string {
  const last = totalPages(total, perPage);
  const link = (relation: string, target: number) => {
    const query = new URLSearchParams(kept as [string, string][]);
    query.set('page', String(target));
    query.set('per_page', String(perPage));
    return `<${BASE}${path}?${query}>; rel="${relation}"`;
  };
  const links = [link('first', 1)];
  if (page > 1 && last > 0) links.push(link('prev', Math.min(page - 1, last)));
  if (page < last) links.push(link('next', page + 1));
  if (last > 0) links.push(link('last', last));
  return links.join(', ');
}
