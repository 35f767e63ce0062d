/**
 * Numbers games and covers in the order of publication: games by platform, then title; covers in the
 * order of their games, then by region, type and id. A "row" is an index in the order of ids, a "number"
 * is an index in the order of publication, and a "rank" is an index in title order over all platforms.
 */

import { sharedZeros } from '../../format/index/shared-zeros.ts';
import { type Covers, type Games, LEFT_OUT, type Platform } from '../columns/catalogue.ts';
import { openTexts } from '../columns/texts.ts';
import { sortRange } from './sort-range.ts';
import { makeCollator, merge, orderTitles } from './title-order.ts';

export interface Numbering {
  /** For each number, the game's row. */
  readonly rowOfGame: Uint32Array;
  /** For each rank, the game's row. */
  readonly rowOfRank: Uint32Array;
  /** For each row, the game's number; meaningless for a game that was left out. */
  readonly numberOfGame: Uint32Array;
  /** For each platform, the number of its first game, and at the end the number of games. */
  readonly firstGame: Uint32Array;
  /** For each number, the cover's row. Only published covers have numbers. */
  readonly rowOfCover: Uint32Array;
  /** For each row, the cover's number, or LEFT_OUT. */
  readonly numberOfCover: Uint32Array;
  /** For each game's number, the number of its first cover, and at the end the number of covers. */
  readonly firstCover: Uint32Array;
}

/**
 * The rows of the published games in title order; equal titles are ordered by platform slug, then id.
 * @param sorted rows of games that are known to be in this order, which may save most of the work
 */
export function orderGames(
  platforms: readonly Platform[],
  games: Games,
  sorted: Uint32Array = new Uint32Array(0),
): Uint32Array {
  const { platform: platformOf } = games;
  const titleAt = openTexts(games.titles);
  const slugOrder = orderOf(
    platforms.map(({ slug }) => slug),
    (a, b) => (a < b ? -1 : 1),
  );
  const tieOrder = (a: number, b: number) =>
    slugOrder[platformOf[a]] - slugOrder[platformOf[b]] || a - b;
  const isSorted = new Uint8Array(games.rows);
  for (const row of sorted) isSorted[row] = 1;
  const others = keptRows(platformOf.subarray(0, games.rows)).filter((row) => isSorted[row] === 0);
  const order = orderTitles(
    others.length,
    (at) => titleAt(others[at]),
    (a, b) => tieOrder(others[a], others[b]),
  );
  const rest = order.map((at) => others[at]);
  const collator = makeCollator();
  const compare = (a: number, b: number) =>
    collator.compare(titleAt(a), titleAt(b)) || tieOrder(a, b);
  const rowOfRank = sharedZeros(Uint32Array, sorted.length + rest.length);
  rowOfRank.set(sorted.length === 0 ? rest : merge(sorted, rest, compare));
  return rowOfRank;
}

/** @param rowOfRank the result of {@link orderGames} */
export function numberRecords(
  platforms: readonly Platform[],
  games: Games,
  covers: Covers,
  rowOfRank: Uint32Array,
): Numbering {
  const gameCount = rowOfRank.length;
  const firstGame = startsOf(
    rowOfRank.map((row) => games.platform[row]),
    platforms.length,
  );
  const nextGame = firstGame.slice();
  const rowOfGame = sharedZeros(Uint32Array, gameCount);
  const numberOfGame = sharedZeros(Uint32Array, games.rows);
  for (const row of rowOfRank) {
    const number = nextGame[games.platform[row]]++;
    rowOfGame[number] = row;
    numberOfGame[row] = number;
  }

  const published = keptRows(covers.game.subarray(0, covers.rows));
  const gameOf = published.map((row) => numberOfGame[covers.game[row]]);
  const firstCover = startsOf(gameOf, gameCount);
  const nextCover = firstCover.slice();
  const rowOfCover = sharedZeros(Uint32Array, published.length);
  published.forEach((row, i) => {
    rowOfCover[nextCover[gameOf[i]]++] = row;
  });
  orderCovers(covers, rowOfCover, firstCover);
  const numberOfCover = sharedZeros(Uint32Array, covers.rows).fill(LEFT_OUT);
  rowOfCover.forEach((row, number) => {
    numberOfCover[row] = number;
  });
  return {
    rowOfGame,
    rowOfRank,
    numberOfGame,
    firstGame,
    rowOfCover,
    numberOfCover,
    firstCover,
  };
}

/** Sorts the covers of each game by region, type and id. */
function orderCovers(covers: Covers, rowOfCover: Uint32Array, firstCover: Uint32Array): void {
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
    if (to - from > 1) sortRange(rowOfCover, from, to, compareCovers);
  }
}

/** The rows whose value in a column is not LEFT_OUT. */
export function keptRows(column: Uint32Array): Uint32Array {
  const rows = new Uint32Array(column.length);
  let kept = 0;
  for (let row = 0; row < column.length; row++) {
    if (column[row] !== LEFT_OUT) rows[kept++] = row;
  }
  return rows.subarray(0, kept);
}

/** For each group, the index of its first member if all are sorted by group; at the end their number. */
export function startsOf(groupOf: Uint32Array, groups: number): Uint32Array {
  const starts = sharedZeros(Uint32Array, groups + 1);
  for (let i = 0; i < groupOf.length; i++) starts[groupOf[i] + 1]++;
  for (let group = 1; group <= groups; group++) starts[group] += starts[group - 1];
  return starts;
}

/** For each region or type, its position when they are sorted in title order, with null last. */
function orderOfValues(values: readonly (string | null)[]): Uint32Array {
  const collator = makeCollator();
  return orderOf(values, (a, b) => {
    if (a === null || b === null) return a === null ? 1 : -1;
    return collator.compare(a, b) || (a < b ? -1 : 1);
  });
}

/** For each value, its position when the values are sorted. */
function orderOf<T>(values: readonly T[], compare: (a: T, b: T) => number): Uint32Array {
  const order = new Uint32Array(values.length);
  values
    .map((_, index) => index)
    .sort((a, b) => compare(values[a], values[b]))
    .forEach((index, rank) => {
      order[index] = rank;
    });
  return order;
}
