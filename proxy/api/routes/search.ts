/** The route of searches. */

import { INCLUDE_NAMES, includeOf } from '../parameters/include.ts';
import { PAGING_NAMES, pagingOf } from '../parameters/paging.ts';
import { readParameters } from '../parameters/read-parameters.ts';
import { SEARCH_NAMES, searchOf } from '../parameters/search.ts';
import { gatherGames } from '../resources/games.ts';
import { pageBody } from '../resources/lists.ts';
import { makeResource } from '../resources/resource.ts';
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
