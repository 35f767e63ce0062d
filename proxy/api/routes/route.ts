/**
 * What a route is: how it reads its parameters, how it finds its resource in a generation, and the header
 * fields of a resource.
 */

import type { Step } from '../../../find/search/query.ts';
import { hexOf } from '../../../lib/format/content-hash.ts';
import { totalPages } from '../../../lib/format/pack.ts';
import { BASE } from '../../http/request.ts';
import { makeResource, type Resource } from '../../http/resource.ts';
import { headerLines, JSON_TYPE } from '../../http/response.ts';
import type { Body, Generation } from '../../snapshot/generation.ts';
import type { PageOfList } from '../bodies.ts';
import { PAGING_NAMES, type QueryParameters, readParameters } from '../parameters.ts';

export const ROUTES = [
  'platforms',
  'platform',
  'platform_games',
  'platform_covers',
  'games',
  'game',
  'game_covers',
  'covers',
  'cover',
  'recent_covers',
  'search',
  'match',
  'stats',
  'snapshot',
  'snapshot_file',
  'snapshot_archive',
  'changes',
] as const;
export type RouteName = (typeof ROUTES)[number];

/** @template Found what it finds: a resource, the steps to one, or a file to download */
export interface Route<Found = Resource | Steps | 'sinceGone'> {
  readonly name: RouteName;
  /**
   * Reads the parameters.
   * @param queryString the part of the target after "?"
   * @returns a function that returns undefined if the generation does not have what is wanted
   * @throws ParameterError, as the function does if a parameter names what the generation does not have
   */
  readonly prepare: (queryString: string) => (generation: Generation) => Found | undefined;
}

/**
 * How a resource is found that may take more than a few milliseconds. The work of each step is bounded by a count.
 * The next one is only taken while the generation is in use.
 */
export interface Steps {
  /** How many there are at least: a name may take a few. */
  readonly count: number;
  readonly steps: Iterator<void, Resource>;
}
export type FindInSteps = (generation: Generation) => Steps;

/** Takes all steps at once, where nobody else waits. */
export function takeAll<Result>(steps: Iterator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/**
 * @param allowed the names of its parameters
 * @param prepare as in {@link Route}, from the parameters
 */
export function makeRoute<Found>(
  name: RouteName,
  allowed: readonly string[],
  prepare: (parameters: QueryParameters) => ReturnType<Route<Found>['prepare']>,
): Route<Found> {
  return {
    name,
    prepare: (queryString) =>
      prepare(queryString === '' ? NO_PARAMETERS : readParameters(queryString, allowed)),
  };
}

const NO_PARAMETERS: QueryParameters = new Map();

/** A route without parameters. */
export function plainRoute(
  name: RouteName,
  find: (generation: Generation) => Body | undefined,
): Route {
  return makeRoute(name, [], () => (generation) => {
    const body = find(generation);
    return body && makeJsonResource(body, generation.id);
  });
}

// Resources.

/** Lets scripts of any site read the response and the header fields that are listed here. */
export const CORS = headerLines(
  'Access-Control-Allow-Origin: *',
  'Access-Control-Expose-Headers: Content-Range, ETag, Link, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Search-Match, X-Snapshot',
);
export const CACHING =
  headerLines('Cache-Control: private, no-cache', 'Vary: Accept-Encoding') + CORS;
const KIND = { ok: CACHING + headerLines(`Content-Type: ${JSON_TYPE}`), notModified: CACHING };

/**
 * @param link the Link header of a paginated list: ASCII without control characters
 * @param searchMatch the X-Search-Match header of a search
 */
export function makeJsonResource(
  { bytes, hash }: Body,
  snapshot: string,
  link?: string,
  searchMatch?: Step,
): Resource {
  let headers = `X-Snapshot: ${snapshot}\r\n`;
  if (link !== undefined) headers += `Link: ${link}\r\n`;
  if (searchMatch !== undefined) headers += `X-Search-Match: ${searchMatch}\r\n`;
  return makeResource({ kind: KIND, hash: hexOf(hash), headers, body: bytes });
}

// The Link header of a page (RFC 8288).

/** In bytes. A server in front has a buffer for the head; to nginx, a larger head is a failure of the proxy. */
const LONGEST_LINK = 4096;

/**
 * Every page that it links exists, even if the page that was requested is past the end.
 * @param path the path after the base
 * @param parameters those of the request; the links repeat them
 * @returns undefined if the links would be too long
 */
export type PageLinks = (
  path: string,
  parameters: QueryParameters,
  page: PageOfList,
) => string | undefined;

const isPaging = (name: string) => (PAGING_NAMES as readonly string[]).includes(name);

/** @param publicUrl the address at which clients reach the proxy; '' for links without a host */
export function makePageLinks(publicUrl: string): PageLinks {
  return (path, parameters, { page, perPage, total }) => {
    const last = totalPages(total, perPage);
    const others = [...parameters].filter(([name]) => !isPaging(name));
    const query = others.length > 0 ? `${new URLSearchParams(others)}&` : '';
    const start = `${publicUrl}${BASE}${path}?${query}`;
    if (start.length > LONGEST_LINK) return undefined;
    const link = (relation: string, target: number) =>
      `<${start}page=${target}&per_page=${perPage}>; rel="${relation}"`;
    const links = [link('first', 1)];
    if (page > 1 && last > 0) links.push(link('prev', Math.min(page - 1, last)));
    if (page < last) links.push(link('next', page + 1));
    if (last > 0) links.push(link('last', last));
    return links.join(', ');
  };
}
