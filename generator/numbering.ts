/**
 * Gives games and covers their numbers: games platform by platform in title order, covers in the
 * order of their games, inside one by region, type and id.
 */

import type { Interned } from './growable.ts';
import { HIDDEN, type SourceCatalogue } from './read-catalogue.ts';
import { makeCollator, orderTitles } from './title-order.ts';

/** "Place" is where a game or cover stands in id order, "number" where it is published. */
export interface Numbering {
  /** The place of the game with each number. */
  readonly placeOfGame: Uint32Array;
  /** The place of the game at each rank of title order. */
  readonly placeOfRank: Uint32Array;
  readonly numberOfGame: Uint32Array;
  /** By number: the game's rank. */
  readonly rankOfGame: Uint32Array;
  /** By platform: the number of its first game; one entry more than platforms. */
  readonly firstGame: Uint32Array;
  /** The place of the cover with each number; approved covers only. */
  readonly placeOfCover: Uint32Array;
  /** By game number: the number of its first cover; one entry more than games. */
  readonly firstCover: Uint32Array;
}

export function numberRecords({ platforms, games, covers }: SourceCatalogue): Numbering {
  const gameCount = games.ids.length;
  const platformOf = games.platform.values();
  const slugOrder = orderOf(
    platforms.map(({ slug }) => slug),
    (a, b) => (a < b ? -1 : 1),
  );
  const placeOfRank = orderTitles(
    games.titles,
    (a, b) =>
      (slugOrder[platformOf[a] as number] as number) -
        (slugOrder[platformOf[b] as number] as number) || a - b,
  );

  const firstGame = startsOf(platformOf, platforms.length);
  const next = firstGame.slice();
  const placeOfGame = new Uint32Array(gameCount);
  const numberOfGame = new Uint32Array(gameCount);
  const rankOfGame = new Uint32Array(gameCount);
  placeOfRank.forEach((place, rank) => {
    const platform = platformOf[place] as number;
    const number = next[platform] as number;
    next[platform] = number + 1;
    placeOfGame[number] = place;
    numberOfGame[place] = number;
    rankOfGame[number] = rank;
  });

  const gameOf = covers.game.values();
  const visible = Uint32Array.from(gameOf.keys()).filter((place) => gameOf[place] !== HIDDEN);
  const gameOfVisible = visible.map((place) => numberOfGame[gameOf[place] as number] as number);
  const firstCover = startsOf(gameOfVisible, gameCount);
  const nextCover = firstCover.slice();
  const placeOfCover = new Uint32Array(visible.length);
  visible.forEach((place, i) => {
    const game = gameOfVisible[i] as number;
    const number = nextCover[game] as number;
    nextCover[game] = number + 1;
    placeOfCover[number] = place;
  });
  // In id order so far; each game's few covers are put by region and type, ties stay.
  const regionOrder = orderOfValues(covers.regions);
  const typeOrder = orderOfValues(covers.types);
  const regionOf = covers.region.values();
  const typeOf = covers.type.values();
  const compareCovers = (a: number, b: number) =>
    (regionOrder[regionOf[a] as number] as number) -
      (regionOrder[regionOf[b] as number] as number) ||
    (typeOrder[typeOf[a] as number] as number) - (typeOrder[typeOf[b] as number] as number) ||
    a - b;
  for (let game = 0; game < gameCount; game++) {
    const from = firstCover[game] as number;
    const to = firstCover[game + 1] as number;
    if (to - from > 1) placeOfCover.subarray(from, to).sort(compareCovers);
  }
  return {
    placeOfGame,
    placeOfRank,
    numberOfGame,
    rankOfGame,
    firstGame,
    placeOfCover,
    firstCover,
  };
}

/** Where the run of each group starts when members are put group by group; one entry more. */
export function startsOf(groupOf: Uint32Array, groups: number): Uint32Array {
  const starts = new Uint32Array(groups + 1);
  for (let i = 0; i < groupOf.length; i++) {
    const next = (groupOf[i] as number) + 1;
    starts[next] = (starts[next] as number) + 1;
  }
  for (let group = 1; group <= groups; group++) {
    starts[group] = (starts[group] as number) + (starts[group - 1] as number);
  }
  return starts;
}

/** The order of region and type values: as titles are, null last. */
function orderOfValues({ values }: Interned): Uint32Array {
  const collator = makeCollator();
  return orderOf(values, (a, b) => {
    if (a === null || b === null) return a === null ? 1 : -1;
    return collator.compare(a, b) || (a < b ? -1 : 1);
  });
}

function orderOf<T>(values: readonly T[], compare: (a: T, b: T) => number): Uint32Array {
  const order = new Uint32Array(values.length);
  values
    .map((_, place) => place)
    .sort((a, b) => compare(values[a] as T, values[b] as T))
    .forEach((place, rank) => {
      order[place] = rank;
    });
  return order;
}
