/** Covers in lists, and the choice of a game's best cover. */
import { NOT_FRONT } from '../../../format/index/record-index.ts';
import { arrayHead, arrayTail } from '../../../format/pack.ts';
import type { Body, Generation } from '../../snapshot/generation.ts';
import { addEach, type BodyWriter, startBody } from './body.ts';
import type { ListContent } from './lists.ts';

/** The list of a game's covers. */
export function gameCovers(generation: Generation, game: number): Body {
  const body = startBody();
  body.addText('{"data":');
  addCoverArray(generation, game, body);
  body.addText('}');
  return body.finish([]);
}

/** Adds the covers of a game as a JSON array. */
export function addCoverArray({ covers, index }: Generation, game: number, body: BodyWriter): void {
  const { firstCover } = index.games;
  const from = firstCover[game];
  const to = firstCover[game + 1];
  body.addText(arrayHead(to - from));
  if (from < to) body.addRun(covers, from, to);
  body.addText(arrayTail(to - from));
}

/** The covers from `from` (inclusive) to `to` (exclusive), all of one platform. */
export function consecutiveCovers({ covers }: Generation, from: number, to: number): ListContent {
  return {
    count: to - from,
    addTo(body) {
      if (from < to) body.addRun(covers, from, to);
    },
  };
}

/** The given covers, in their order. */
export function gatherCovers({ covers }: Generation, numbers: readonly number[]): ListContent {
  return {
    count: numbers.length,
    addTo: (body) => addEach(numbers, body, (cover) => body.addRun(covers, cover, cover + 1)),
  };
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
    const rank = front * (prefer.length + 1) + (wish < 0 ? prefer.length : wish);
    const score = rank * 2 * NOT_FRONT + preference[cover];
    if (score < bestScore) {
      best = cover;
      bestScore = score;
    }
  }
  return best;
}
