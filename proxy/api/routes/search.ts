/** The route of searches. */

import { gatherGames, pageBody } from '../bodies.ts';
import {
  INCLUDE_NAMES,
  includeOf,
  PAGING_NAMES,
  pagingOf,
  readParameters,
  SEARCH_NAMES,
  searchOf,
} from '../parameters.ts';
import { makeResource } from '../resource.ts';
import type { PageLinks } from './page-links.ts';
import type { Route } from './route.ts';

export const SEARCH_PARAMETERS = [...SEARCH_NAMES, ...PAGING_NAMES, ...INCLUDE_NAMES];

export function searchRoute(pageLinks: PageLinks): Route {
  return {
    name: 'search',
    prepare(queryString) {
      const parameters = readParameters(queryString, SEARCH_PARAMETERS);
      const { page, perPage } = pagingOf(parameters);
      const query = searchOf(parameters);
      const include = includeOf(parameters);
      return (generation) => {
        const found = generation.search.find(query, (page - 1) * perPage, perPage);
        const { total, ranks, step } = found;
        const { gameOfRank } = generation.index.games;
        const games = gatherGames(
          generation,
          ranks.map((rank) => gameOfRank[rank]),
          include,
        );
        const numbers = { page, perPage, total };
        const body = pageBody(games, numbers);
        const link = pageLinks('/search', parameters, numbers);
        return makeResource(body, generation.id, link, step);
      };
    },
  };
}
