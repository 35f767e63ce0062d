/** The bodies of games, alone and in lists, with their covers if the request includes them. */
import type { Body, Generation } from '../../snapshot/generation.ts';
import { gather, joinParts, type Part, recordBody, separated } from './body.ts';
import { bestCover, coverArray } from './covers.ts';

/** The member that each game gets in addition to its own. */
export type Include =
  | { readonly member: 'covers' }
  | {
      readonly member: 'cover';
      /** The preferred regions, the best first, as the client wrote them. */
      readonly prefer: readonly string[];
    };

/** Distinguish, in content hashes, the bodies of the same records with and without a member. */
const HASHED = { covers: 1, cover: 2 } as const;

/** What a body with `include` adds to the numbers of its content hash. */
export function hashedInclude(include: Include | undefined): readonly number[] {
  return include === undefined ? [] : [HASHED[include.member]];
}

export function gameBody(generation: Generation, game: number, include: Include | undefined): Body {
  if (include === undefined) return recordBody(generation.games, game);
  return joinParts(makeExtender(generation, include)(game), hashedInclude(include));
}

/** The given games, in their order, with separators between them. */
export function gatherGames(
  generation: Generation,
  games: readonly number[],
  include: Include | undefined,
): Part[] {
  if (include === undefined) return gather(generation.games, games);
  return separated(games.map(makeExtender(generation, include)));
}

/**
 * The games from `from` (inclusive) to `to` (exclusive), all of one platform, with separators between
 * them.
 */
export function consecutiveGames(
  generation: Generation,
  from: number,
  to: number,
  include: Include | undefined,
): Part[] {
  if (from === to) return [];
  if (include === undefined) return [{ records: generation.games, from, to }];
  const games = Array.from({ length: to - from }, (_, i) => from + i);
  return gatherGames(generation, games, include);
}

/** @returns a function that returns a game with the included member */
function makeExtender(generation: Generation, include: Include): (game: number) => Part[] {
  const { games, covers } = generation;
  const open = (game: number): Part => ({ records: games, from: game, to: game + 1, isOpen: true });
  if (include.member === 'covers') {
    return (game) => [open(game), ',"covers":', ...coverArray(generation, game), '}'];
  }
  const prefer = include.prefer.flatMap((region) => generation.regionOf(region) ?? []);
  return (game) => {
    const cover = bestCover(generation, game, prefer);
    if (cover === undefined) return [open(game), ',"cover":null}'];
    return [open(game), ',"cover":', { records: covers, from: cover, to: cover + 1 }, '}'];
  };
}
