/** What a route is: how it reads its parameters, and how it finds its resource in a generation. */
import type { Body, Generation } from '../../snapshot/generation.ts';
import { readParameters } from '../parameters.ts';
import { makeResource, type Resource } from '../resource.ts';

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
  'changes',
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

/**
 * @throws ParameterError if a parameter names what the generation does not have
 * @returns undefined if the generation does not have the resource; a promise if it takes time to find
 * out. The promise must not refer to the generation, which may be closed before it is settled.
 */
export type Finder = (generation: Generation) => Resource | undefined | Promise<LaterResource>;

/** A resource, or the name of the error to send. */
export type LaterResource = Resource | 'sinceGone' | 'busy';

/** A route without parameters. */
export function plainRoute(
  name: RouteName,
  find: (generation: Generation) => Body | undefined,
): Route {
  return {
    name,
    prepare(queryString) {
      readParameters(queryString, []);
      return (generation) => {
        const body = find(generation);
        return body && makeResource(body, generation.id);
      };
    },
  };
}
