/** The route of searches. */

import type { FacetName, Query } from '../../../find/search/query.ts';
import type { Generation } from '../../snapshot/generation.ts';
import { asciiJson, gatherGames, pageBody } from '../bodies.ts';
import { INCLUDE_NAMES, includeOf, resolveInclude } from '../include.ts';
import { facetsOf, PAGING_NAMES, pagingOf, SEARCH_NAMES, searchOf } from '../parameters.ts';
import { makeJsonResource, makeRoute, type PageLinks, type Route } from './route.ts';

export const SEARCH_PARAMETERS = [...SEARCH_NAMES, ...PAGING_NAMES, ...INCLUDE_NAMES];

export function searchRoute(pageLinks: PageLinks): Route {
  return makeRoute('search', SEARCH_PARAMETERS, (parameters) => {
    const { page, perPage } = pagingOf(parameters);
    const query = searchOf(parameters);
    const include = includeOf(parameters);
    const facets = facetsOf(parameters);
    // The words of a query are few, and so are the lists that each of them has.
    function* steps(generation: Generation) {
      const members = include && resolveInclude(generation, include);
      const found = generation.search.find(query, (page - 1) * perPage, perPage);
      const { total, ranks, step } = found;
      const { gameOfRank } = generation.index.games;
      const games = gatherGames(
        generation,
        ranks.map((rank) => gameOfRank[rank]),
        members,
      );
      const numbers = { page, perPage, total };
      if (facets.length > 0) yield;
      const body = pageBody(games, numbers, facetsJson(generation, query, facets));
      const link = pageLinks('/search', parameters, numbers);
      return makeJsonResource(body, generation.id, link, step);
    }
    const count = facets.length > 0 ? 2 : 1;
    return (generation) => ({ count, steps: steps(generation) });
  });
}

const MOST_VALUES = 50;

/** The member `facets`, with the comma before it; '' if no facet was asked for. */
function facetsJson(generation: Generation, query: Query, names: readonly FacetName[]): string {
  if (names.length === 0) return '';
  const found = Object.entries(generation.search.countFacets(query, names)).map(
    ([name, counts]) => [
      name,
      counts
        .map(({ value, games }) => ({ value: generation.spellingOf(name, value), games }))
        .sort((a, b) => b.games - a.games || (a.value < b.value ? -1 : 1))
        .slice(0, MOST_VALUES),
    ],
  );
  return `,"facets":${asciiJson(Object.fromEntries(found))}`;
}
