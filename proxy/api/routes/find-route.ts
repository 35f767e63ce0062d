/**
 * The endpoints under the base: finds the route that a path names. The raw path is split into parts,
 * and the index is searched for each part. No part of the path is ever used as a file name.
 */

import { findPlatform } from '../../../lib/format/index/record-index.ts';
import type { Body, Generation } from '../../snapshot/generation.ts';
import { changesRoute } from './changes.ts';
import { fileMatchRoute } from './file-match.ts';
import {
  coverBatchRoute,
  coverRoute,
  gameBatchRoute,
  gameCoversRoute,
  gameRoute,
  platformCoversRoute,
  platformGamesRoute,
  platformsRoute,
} from './records.ts';
import { makePageLinks, plainRoute, type Route } from './route.ts';
import { searchRoute } from './search.ts';

/** The most parts that the path of an endpoint has. */
const MOST_PARTS = 4;

/**
 * The endpoint that a path names; undefined if there is none.
 * @param path the raw path after the base, without the query; begins with "/"
 */
export type FindRoute = (path: string) => Route | undefined;

/** @param publicUrl the address at which clients reach the API; '' for links without a host */
export function makeFindRoute(publicUrl: string): FindRoute {
  const pageLinks = makePageLinks(publicUrl);
  const search = searchRoute(pageLinks);
  const roots = new Map<string | undefined, Route>([
    ['platforms', platformsRoute],
    ['stats', plainRoute('stats', ({ stats }) => stats)],
    ['games', gameBatchRoute],
    ['covers', coverBatchRoute],
    ['search', search],
    ['match', fileMatchRoute],
    ['changes', changesRoute(pageLinks)],
  ]);
  const recentCovers = plainRoute('recent_covers', (generation) => generation.recentCovers);

  return (path) => {
    const parts = partsOf(path);
    const [kind, first, second, third] = parts;
    if (parts.length === 1) return roots.get(kind);
    if (first === undefined) return undefined;
    if (parts.length === 2) {
      if (kind === 'platforms') return platformRoute(first);
      if (kind !== 'covers') return undefined;
      return first === 'recent' ? recentCovers : coverRoute(first);
    }
    if (second === undefined) return undefined;
    if (parts.length === 3) {
      if (kind === 'games') return gameRoute(first, second);
      if (kind !== 'platforms') return undefined;
      if (second === 'games') return platformGamesRoute(first, pageLinks);
      return second === 'covers' ? platformCoversRoute(first, pageLinks) : undefined;
    }
    const isCovers = parts.length === 4 && kind === 'games' && third === 'covers';
    return isCovers ? gameCoversRoute(first, second) : undefined;
  };
}

function platformRoute(slug: string): Route {
  return plainRoute('platform', ({ index }: Generation): Body | undefined => {
    const platform = findPlatform(index, slug);
    return platform && { bytes: platform.record, hash: platform.hash };
  });
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
export function decodePart(part: string): string | undefined {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
