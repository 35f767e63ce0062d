/** The routes of games: one game, its covers, the games of a platform, and batches of games. */
import type { Body } from '../../snapshot/generation.ts';
import { idsOf, slugsOf } from '../parameters/batch.ts';
import { INCLUDE_NAMES, includeOf } from '../parameters/include.ts';
import { PAGING_NAMES, pagingOf } from '../parameters/paging.ts';
import { ParameterError, readParameters } from '../parameters/read-parameters.ts';
import { gameCovers } from '../resources/covers.ts';
import { consecutiveGames, gameBody, gatherGames } from '../resources/games.ts';
import { batchBody, pageBody } from '../resources/lists.ts';
import { makeResource } from '../resources/resource.ts';
import { findBatch, findByPath, findPlatform, rangeOfPage } from './find-records.ts';
import type { PageLinks } from './page-links.ts';
import { plainRoute, type Route } from './route.ts';

export function gameRoute(platform: string, slug: string): Route {
  return {
    name: 'game',
    prepare(queryString) {
      const include = includeOf(readParameters(queryString, INCLUDE_NAMES));
      return (generation) => {
        const game = findByPath(generation, platform, slug);
        if (game === undefined) return undefined;
        return makeResource(gameBody(generation, game, include), generation.id);
      };
    },
  };
}

export function gameCoversRoute(platform: string, slug: string): Route {
  return plainRoute('game_covers', (generation): Body | undefined => {
    const game = findByPath(generation, platform, slug);
    return game === undefined ? undefined : gameCovers(generation, game);
  });
}

export function platformGamesRoute(slug: string, pageLinks: PageLinks): Route {
  return {
    name: 'platform_games',
    prepare(queryString) {
      const parameters = readParameters(queryString, [...PAGING_NAMES, ...INCLUDE_NAMES]);
      const paging = pagingOf(parameters);
      const include = includeOf(parameters);
      return (generation) => {
        const platform = findPlatform(generation, slug);
        if (platform === undefined) return undefined;
        const page = { ...paging, total: platform.games };
        const [from, to] = rangeOfPage(platform.first_game, platform.games, paging);
        const games = consecutiveGames(generation, from, to, include);
        const body = pageBody(games, page);
        const link = pageLinks(`/platforms/${slug}/games`, parameters, page);
        return makeResource(body, generation.id, link);
      };
    },
  };
}

export const gameBatchRoute: Route = {
  name: 'games',
  prepare(queryString) {
    const parameters = readParameters(queryString, ['ids', 'slugs', ...INCLUDE_NAMES]);
    const include = includeOf(parameters);
    const ids = idsOf(parameters);
    const slugs = slugsOf(parameters);
    if (ids && slugs) throw new ParameterError('Send either ids or slugs, not both');
    const batch = ids ?? slugs;
    if (batch === undefined) {
      throw new ParameterError('ids or slugs is missing. To list all games, use /search');
    }
    return (generation) => {
      const { numbers, missing } = findBatch(generation, generation.index.games, batch);
      const games = gatherGames(generation, numbers, include);
      return makeResource(batchBody(games, missing), generation.id);
    };
  },
};
