/**
 * The route that finds the games of file names, or of ids that other sources have given to them. Each name is
 * a step: the work for one is bounded by a count.
 */

import { findName } from '../../../find/match/find.ts';
import type { Found, Match } from '../../../find/match/find-matches.ts';
import { type NameReading, readName } from '../../../find/match/read-name.ts';
import { numbersWithId } from '../../../find/names/external-ids.ts';
import { type GamesOfRequest, readGames } from '../../snapshot/game-facts.ts';
import type { Body, Generation } from '../../snapshot/generation.ts';
import { asciiJson, BodyWriter, makeGameWriter } from '../bodies.ts';
import { INCLUDE_NAMES, includeOf, type ResolvedInclude, resolveInclude } from '../include.ts';
import { MATCH_NAMES, type MatchRequest, matchOf, ParameterError, shown } from '../parameters.ts';
import { makeJsonResource, makeRouteInSteps } from './route.ts';

export const fileMatchRoute = makeRouteInSteps(
  'match',
  [...MATCH_NAMES, ...INCLUDE_NAMES],
  (parameters) => {
    const request = matchOf(parameters);
    const include = includeOf(parameters);
    return function* (generation) {
      const members = resolveInclude(generation, include);
      const named = request.platforms.flatMap((text) => findPlatform(generation, text));
      const platforms = [...new Set(named)];
      const games = readGames(generation);
      const items = yield* matchAll(generation, games, request, platforms);
      const body = matchBody(generation, items, members);
      return makeJsonResource(body, generation.id);
    };
  },
);

/** The answer for one name or id. @param reading undefined for an id */
interface Item extends Match {
  readonly name: string;
  readonly reading: NameReading | undefined;
}

/** @throws ParameterError if there is no such platform */
function findPlatform({ platformNames }: Generation, text: string): readonly number[] {
  const numbers = platformNames.find(text);
  if (numbers.length > 0) return numbers;
  const nearest = platformNames.nearest(text).join(', ');
  throw new ParameterError(
    'platform',
    `There is no platform ${shown(text)}. The nearest are ${nearest}; /platforms lists all, and with include=aliases their other names`,
  );
}

/** @param platforms the numbers of the platforms; all if there are none */
function* matchAll(
  { match: index, platformNames }: Generation,
  games: GamesOfRequest,
  { names, ids }: MatchRequest,
  platforms: readonly number[],
): Generator<void, Item[]> {
  const onPlatforms = (numbers: readonly number[]) =>
    numbers.filter((game) => platforms.length === 0 || platforms.includes(games.platform(game)));
  const byId = (text: string): Match => {
    const [first, ...others] = onPlatforms(numbersWithId(index.gameIds, text)).map(
      (game): Found => ({ kind: 'id', game }),
    );
    return { found: first, candidates: others.slice(0, 3) };
  };
  if (ids !== undefined) return ids.map((name) => ({ name, reading: undefined, ...byId(name) }));
  const context = {
    forRegions: games.forRegions,
    namesPlatform: (name: string) =>
      platformNames.find(name).some((number) => platforms.includes(number)),
  };
  const items: Item[] = [];
  for (const name of names) {
    if (items.length > 0) yield;
    let reading = readName(name);
    let match: Match | undefined =
      reading.serial === null ? undefined : byId(`serial:${reading.serial}`);
    if (match?.found === undefined)
      ({ reading, match } = findName(index, name, reading, platforms, context));
    // The short names of arcade games, as MAME and its software lists have them.
    if (match.found === undefined && index.gameIds.entries.length > 0) {
      const byName = byId(`mame:${reading.title}`);
      if (byName.found !== undefined) match = byName;
    }
    items.push({ name, reading, ...match });
  }
  return items;
}

function matchBody(
  generation: Generation,
  items: readonly Item[],
  include: ResolvedInclude | undefined,
): Body {
  const body = new BodyWriter(generation);
  const addGame = makeGameWriter(generation, include, body);
  body.addText('{"data":[');
  items.forEach(({ name, reading, found, candidates }, at) => {
    const { title, regions = [], disc, serial } = reading ?? {};
    const read = reading === undefined ? null : { title, regions, disc, serial };
    const head = asciiJson({ name, read, match: found?.kind ?? null });
    body.addText(`${at === 0 ? '' : ','}\n${head.slice(0, -1)},"game":`);
    if (found === undefined) body.addText('null');
    else addGame(found.game, regions);
    body.addText(',"candidates":[');
    candidates.forEach(({ kind, game }, index) => {
      body.addText(`${index === 0 ? '' : ','}{"match":"${kind}","game":`);
      addGame(game, regions);
      body.addText('}');
    });
    body.addText(']}');
  });
  body.addText('\n]}');
  return body.finishAsText();
}
