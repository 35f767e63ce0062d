/** The bodies of lists of covers, and the choice of a game's best cover. */
import { NOT_FRONT } from '../../../format/index/record-index.ts';
import { arrayHead, arrayTail } from '../../../format/pack.ts';
import type { Body, Generation } from '../../snapshot/generation.ts';
import { joinParts, type Part } from './body.ts';

/** The list of a game's covers. */
export function gameCovers(generation: Generation, game: number): Body {
  return joinParts(['{"data":', ...coverArray(generation, game), '}'], []);
}

/** The covers of a game as a JSON array. */
export function coverArray({ covers, index }: Generation, game: number): Part[] {
  const { firstCover } = index.games;
  const [from, to] = [firstCover[game], firstCover[game + 1]];
  if (from === to) return [arrayHead(0), arrayTail(0)];
  return [arrayHead(to - from), { records: covers, from, to }, arrayTail(to - from)];
}

/**
 * Chooses a cover of a game: a front cover if there is one, then by region, then by id.
 * @param prefer the numbers of the preferred regions, the best first
 * @returns the number of the cover; undefined if the game has none
 */
export function bestCover(
  { index }: Generation,
  game: number,
  prefer: readonly number[],
): number | undefined {
  const { region, preference } = index.covers;
  const { firstCover } = index.games;
  let best: number | undefined;
  let bestScore = Number.POSITIVE_INFINITY;
  for (let cover = firstCover[game]; cover < firstCover[game + 1]; cover++) {
    const wish = prefer.indexOf(region[cover]);
    const front = preference[cover] < NOT_FRONT ? 0 : 1;
    const order = (front * (prefer.length + 1) + (wish < 0 ? prefer.length : wish)) * 2 * NOT_FRONT;
    const score = order + preference[cover];
    if (score < bestScore) [best, bestScore] = [cover, score];
  }
  return best;
}
