/**
 * Gives games and covers their numbers: games platform by platform in title order, covers in the
 * order of their games, inside one by region, type and id.
 */

import { numbers, openTexts } from '../columns/row-columns.ts';
import { type Covers, type Games, LEFT_OUT, type Platform } from '../read/read-catalogue.ts';
import { makeCollator, orderTitles } from './title-order.ts';

/** "Place" is where a game or cover stands in id order, "number" where it is published. */
export interface Numbering {
  /** The place of the game with each number. */
  readonly placeOfGame: Uint32Array;
  /** The place of the game at each rank of title order. */
  readonly placeOfRank: Uint32Array;
  /** By place; of no meaning for games that were left out. */
  readonly numberOfGame: Uint32Array;
  /** By number: the game's rank. */
  readonly rankOfGame: Uint32Array;
  /** By platform: the number of its first game; one entry more than platforms. */
  readonly firstGame: Uint32Array;
  /** The place of the cover with each number; published covers only. */
  readonly placeOfCover: Uint32Array;
  /** By place; LEFT_OUT for covers that are not published. */
  readonly numberOfCover: Uint32Array;
  /** By game number: the number of its first cover; one entry more than games. */
  readonly firstCover: Uint32Array;
}

/** The places of the games that are kept, in title order; ties by platform slug, then id. */
export function orderGames(platforms: readonly Platform[], games: Games): Uint32Array {
  const { platform: platformOf } = games;
  const titleAt = openTexts(games.titles);
  const slugOrder = orderOf(
    platforms.map(({ slug }) => slug),
    (a, b) => (a < b ? -1 : 1),
  );
  const kept = keptPlaces(platformOf.subarray(0, games.rows));
  const orderOfPlatform = kept.map((place) => slugOrder[platformOf[place]]);
  const order = orderTitles(
    Array.from(kept, titleAt),
    (a, b) => orderOfPlatform[a] - orderOfPlatform[b] || a - b,
  );
  const placeOfRank = numbers(Uint32Array, order.length);
  order.forEach((at, rank) => {
    placeOfRank[rank] = kept[at];
  });
  return placeOfRank;
}

/** @param placeOfRank as {@link orderGames} makes it */
export function numberRecords(
  platforms: readonly Platform[],
  games: Games,
  covers: Covers,
  placeOfRank: Uint32Array,
): Numbering {
  const gameCount = placeOfRank.length;
  const firstGame = startsOf(
    placeOfRank.map((place) => games.platform[place]),
    platforms.length,
  );
  const next = firstGame.slice();
  const placeOfGame = numbers(Uint32Array, gameCount);
  const numberOfGame = numbers(Uint32Array, games.rows);
  const rankOfGame = numbers(Uint32Array, gameCount);
  placeOfRank.forEach((place, rank) => {
    const platform = games.platform[place];
    const number = next[platform];
    next[platform] = number + 1;
    placeOfGame[number] = place;
    numberOfGame[place] = number;
    rankOfGame[number] = rank;
  });

  const published = keptPlaces(covers.game.subarray(0, covers.rows));
  const gameOf = published.map((place) => numberOfGame[covers.game[place]]);
  const firstCover = startsOf(gameOf, gameCount);
  const nextCover = firstCover.slice();
  const placeOfCover = numbers(Uint32Array, published.length);
  published.forEach((place, i) => {
    const game = gameOf[i];
    const number = nextCover[game];
    nextCover[game] = number + 1;
    placeOfCover[number] = place;
  });
  orderCovers(covers, placeOfCover, firstCover);
  const numberOfCover = numbers(Uint32Array, covers.rows).fill(LEFT_OUT);
  placeOfCover.forEach((place, number) => {
    numberOfCover[place] = number;
  });
  return {
    placeOfGame,
    placeOfRank,
    numberOfGame,
    rankOfGame,
    firstGame,
    placeOfCover,
    numberOfCover,
    firstCover,
  };
}

const FEW = 16;

/** In id order so far; each game's covers are put by region and type, ties stay. */
function orderCovers(covers: Covers, placeOfCover: Uint32Array, firstCover: Uint32Array): void {
  const regionOrder = orderOfValues(covers.regions);
  const typeOrder = orderOfValues(covers.types);
  const { region, type } = covers;
  const compareCovers = (a: number, b: number) =>
    regionOrder[region[a]] - regionOrder[region[b]] ||
    typeOrder[type[a]] - typeOrder[type[b]] ||
    a - b;
  for (let game = 0; game + 1 < firstCover.length; game++) {
    const from = firstCover[game];
    const to = firstCover[game + 1];
    if (to - from > FEW) placeOfCover.subarray(from, to).sort(compareCovers);
    else insertionSort(placeOfCover, from, to, compareCovers);
  }
}

/** Several times as quick as the built-in sort for the handful that a game has. */
function insertionSort(
  values: Uint32Array,
  from: number,
  to: number,
  compare: (a: number, b: number) => number,
): void {
  for (let at = from + 1; at < to; at++) {
    const value = values[at];
    let before = at - 1;
    for (; before >= from && compare(values[before], value) > 0; before--) {
      values[before + 1] = values[before];
    }
    values[before + 1] = value;
  }
}

function keptPlaces(column: Uint32Array): Uint32Array {
  const places = new Uint32Array(column.length);
  let kept = 0;
  for (let place = 0; place < column.length; place++) {
    if (column[place] !== LEFT_OUT) places[kept++] = place;
  }
  return places.subarray(0, kept);
}

/** Where the run of each group starts when members are put group by group; one entry more. */
export function startsOf(groupOf: Uint32Array, groups: number): Uint32Array {
  const starts = numbers(Uint32Array, groups + 1);
  for (let i = 0; i < groupOf.length; i++) {
    const next = groupOf[i] + 1;
    starts[next] = starts[next] + 1;
  }
  for (let group = 1; group <= groups; group++) {
    starts[group] = starts[group] + starts[group - 1];
  }
  return starts;
}

/** The order of region and type values: as titles are, null last. */
function orderOfValues(values: readonly (string | null)[]): Uint32Array {
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
    .sort((a, b) => compare(values[a], values[b]))
    .forEach((place, rank) => {
      order[place] = rank;
    });
  return order;
}
