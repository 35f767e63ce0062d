/** Games, alone and in lists, with their covers if the request includes them. */
import type { Body, Generation } from '../../snapshot/generation.ts';
import { addEach, type BodyWriter, recordBody, startBody } from './body.ts';
import { addCoverArray, bestCover } from './covers.ts';
import type { ListContent } from './lists.ts';

/** The member that each game gets in addition to its own. */
export type Include =
  | { readonly member: 'covers' }
  | {
      readonly member: 'cover';
      /** The preferred regions, the best first, as the client wrote them. */
      readonly prefer: readonly string[];
    };

/** Distinguish, in content hashes, bodies with the same records and different members. */
const HASHED = { covers: [1], cover: [2] } as const;

export function gameBody(generation: Generation, game: number, include: Include | undefined): Body {
  if (include === undefined) return recordBody(generation.games, game);
  const body = startBody();
  makeGameWriter(generation, include, body)(game);
  return body.finish(HASHED[include.member]);
}

/** The given games, in their order. */
export function gatherGames(
  generation: Generation,
  games: readonly number[],
  include: Include | undefined,
): ListContent {
  return {
    count: games.length,
    hashed: include === undefined ? [] : HASHED[include.member],
    addTo: (body) => addEach(games, body, makeGameWriter(generation, include, body)),
  };
}

/** The games from `from` (inclusive) to `to` (exclusive), all of one platform. */
export function consecutiveGames(
  generation: Generation,
  from: number,
  to: number,
  include: Include | undefined,
): ListContent {
  if (include !== undefined) {
    const games = Array.from({ length: to - from }, (_, i) => from + i);
    return gatherGames(generation, games, include);
  }
  return {
    count: to - from,
    addTo(body) {
      if (from < to) body.addRun(generation.games, from, to);
    },
  };
}

/** @returns a function that adds a game to the body, with the included member */
function makeGameWriter(
  generation: Generation,
  include: Include | undefined,
  body: BodyWriter,
): (game: number) => void {
  const { games, covers } = generation;
  if (include === undefined) return (game) => body.addRun(games, game, game + 1);
  if (include.member === 'covers') {
    return (game) => {
      body.addOpen(games, game);
      body.addText(',"covers":');
      addCoverArray(generation, game, body);
      body.addText('}');
    };
  }
  const prefer = include.prefer.flatMap((region) => generation.regionOf(region) ?? []);
  return (game) => {
    body.addOpen(games, game);
    const cover = bestCover(generation, game, prefer);
    if (cover === undefined) return body.addText(',"cover":null}');
    body.addText(',"cover":');
    body.addRun(covers, cover, cover + 1);
    body.addText('}');
  };
}
