/**
 * The route that finds the games of file names, or of ids that other sources have given to them. Each name takes
 * one step or a few, and the work for a step is bounded by a count.
 */

import { type Matcher, makeMatcher } from '../../../find/match/find.ts';
import type { Match } from '../../../find/match/find-matches.ts';
import type { NameReading } from '../../../find/match/read-name.ts';
import { readGames } from '../../snapshot/game-facts.ts';
import type { Body, Generation } from '../../snapshot/generation.ts';
import { asciiJson, BodyWriter, makeGameWriter } from '../bodies.ts';
import { INCLUDE_NAMES, includeOf, type ResolvedInclude, resolveInclude } from '../include.ts';
import {
  MATCH_NAMES,
  type MatchRequest,
  matchOf,
  ParameterError,
  shownParameter,
} from '../parameters.ts';
import { makeJsonResource, makeRoute } from './route.ts';

export const fileMatchRoute = makeRoute(
  'match',
  [...MATCH_NAMES, ...INCLUDE_NAMES],
  (parameters) => {
    const request = matchOf(parameters);
    const include = includeOf(parameters);
    const { names, ids } = request;
    function* steps(generation: Generation) {
      const members = include && resolveInclude(generation, include);
      const named = request.platforms.flatMap((text) => findPlatform(generation, text));
      const platforms = [...new Set(named)];
      const { match, platformNames } = generation;
      const matcher = makeMatcher(match, platforms, readGames(generation), platformNames);
      const items = yield* matchAll(matcher, request);
      const body = matchBody(generation, items, members);
      return makeJsonResource(body, generation.id);
    }
    // Ids are looked up in one step.
    const count = ids === undefined ? names.length : 1;
    return (generation) => ({ count, steps: steps(generation) });
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
    `There is no platform ${shownParameter(text)}. The nearest are ${nearest}; /platforms lists all, and with include=aliases their other names`,
  );
}

function* matchAll(matcher: Matcher, { names, ids }: MatchRequest): Generator<void, Item[]> {
  if (ids !== undefined)
    return ids.map((name) => ({ name, reading: undefined, ...matcher.ofId(name) }));
  const items: Item[] = [];
  for (const name of names) {
    if (items.length > 0) yield;
    const { reading, match } = yield* matcher.ofName(name);
    items.push({ name, reading, ...match });
  }
  return items;
}

function matchBody(
  generation: Generation,
  items: readonly Item[],
  include: ResolvedInclude | undefined,
): Body {
  const body = new BodyWriter();
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
