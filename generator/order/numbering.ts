/**
 * Numbers games and covers in the order of publication: games by platform, then title; covers in the order of
 * their games, then by region, type and id.
 *
 * A "row" is the index of a game or cover that was read, in the order of ids, and an "item" one of those that are
 * published (`items.ts`). A "number" is an index in the order of publication, and a "rank" an index in title
 * order over all platforms.
 */

import { sharedZeros } from '../../lib/format/index/arrays.ts';
import { compareIds } from '../../lib/format/index/ids.ts';
import { startsOf } from '../columns.ts';
import { getOrAdd } from '../get-or-add.ts';
import {
  type Covers,
  type Games,
  LEFT_OUT,
  type Platform,
  publishedRows,
} from '../read/catalogue.ts';
import { type EarlierGeneration, twinOf } from '../reuse/earlier-generation.ts';
import { makeGameItems } from './items.ts';
import { makeCollator, merge, orderTitles } from './title-order.ts';

export interface GameOrder {
  /** How many of the items are games of the earlier generation. */
  readonly earlierGames: number;
  /** For each rank, the game's item. */
  readonly itemOfRank: Uint32Array;
  /** For each row, the earlier number of the same game with the same path and title, or LEFT_OUT. */
  readonly twins: Uint32Array;
  /** Whether the titles and paths are those of the earlier generation, in the same order. */
  readonly isSame: boolean;
}

export interface Numbering extends GameOrder {
  /** For each platform, the number of its first game and of its first cover, and at the end how many there are. */
  readonly firstGame: Uint32Array;
  readonly firstCoverOf: Uint32Array;
  /** For each number, the game's item and rank. */
  readonly itemOfGame: Uint32Array;
  readonly rankOfGame: Uint32Array;
  /** For each item, the game's number, or LEFT_OUT. */
  readonly numberOfGame: Uint32Array;
  /** How many of the items of covers are of the earlier generation. */
  readonly earlierCovers: number;
  /** For each game's number, the number of its first cover, and at the end how many covers there are. */
  readonly firstCover: Uint32Array;
  /** For each number, the cover's item. */
  readonly itemOfCover: Uint32Array;
  /** For each item, the cover's number, or LEFT_OUT. */
  readonly numberOfCover: Uint32Array;
}

/** Puts the games in title order; equal titles are ordered by platform slug, then id. */
export function orderGames(
  platforms: readonly Platform[],
  games: Games,
  earlier?: EarlierGeneration,
): GameOrder {
  const items = makeGameItems(games, earlier);
  const earlierGames = earlier?.isKept.length ?? 0;
  const slugOrder = orderOf(
    platforms.map(({ slug }) => slug),
    (a, b) => (a < b ? -1 : 1),
  );
  const tieOrder = (a: number, b: number) =>
    slugOrder[items.platform(a)] - slugOrder[items.platform(b)] ||
    compareIds(items.id(a), items.id(b));
  const rows = publishedRows(games.platform, games.rows);
  const twins = new Uint32Array(games.rows).fill(LEFT_OUT);
  if (earlier !== undefined)
    for (const row of rows) twins[row] = twinOf(earlier, earlierGames + row, items);
  const others = rows.filter((row) => twins[row] === LEFT_OUT).map((row) => earlierGames + row);
  const fresh = orderTitles(
    others.length,
    (at) => items.title(others[at]),
    (a, b) => tieOrder(others[a], others[b]),
  ).map((at) => others[at]);
  if (earlier === undefined) {
    return { earlierGames, itemOfRank: shared(fresh), twins, isSame: false };
  }
  const known = knownOrder(earlier, twins);
  const titles = new Map<number, string>();
  const titleOf = (item: number) => getOrAdd(titles, item, () => items.title(item));
  const collator = makeCollator();
  const compare = (a: number, b: number) =>
    collator.compare(titleOf(a), titleOf(b)) || tieOrder(a, b);
  const isSame = fresh.length === 0 && known.length === earlierGames;
  return { earlierGames, itemOfRank: shared(merge(known, fresh, compare)), twins, isSame };
}

/** The items of the games whose order is that of the earlier generation. */
function knownOrder({ index, isKept }: EarlierGeneration, twins: Uint32Array): Uint32Array {
  const { gameOfRank } = index.games;
  const rowOfTwin = new Uint32Array(isKept.length).fill(LEFT_OUT);
  twins.forEach((number, row) => {
    if (number !== LEFT_OUT) rowOfTwin[number] = row;
  });
  const items = gameOfRank.map((number) => {
    if (isKept[number] === 1) return number;
    return rowOfTwin[number] === LEFT_OUT ? LEFT_OUT : isKept.length + rowOfTwin[number];
  });
  return items.filter((item) => item !== LEFT_OUT);
}

export function numberRecords(
  platforms: readonly Platform[],
  games: Games,
  covers: Covers,
  order: GameOrder,
  earlier: EarlierGeneration | undefined,
): Numbering {
  const { earlierGames, itemOfRank } = order;
  const { platform: platformAt } = makeGameItems(games, earlier);
  const platformOf = itemOfRank.map(platformAt);
  const firstGame = startsOf(platformOf, platforms.length);
  const nextGame = firstGame.slice();
  const itemOfGame = sharedZeros(Uint32Array, itemOfRank.length);
  const rankOfGame = sharedZeros(Uint32Array, itemOfRank.length);
  const numberOfGame = sharedZeros(Uint32Array, earlierGames + games.rows).fill(LEFT_OUT);
  platformOf.forEach((platform, rank) => {
    const number = nextGame[platform]++;
    itemOfGame[number] = itemOfRank[rank];
    rankOfGame[number] = rank;
    numberOfGame[itemOfRank[rank]] = number;
  });

  const published = publishedRows(covers.game, covers.rows);
  const rowStart = startsOf(
    published.map((row) => covers.game[row]),
    games.rows,
  );
  const sortedRows = groupCovers(covers, published, rowStart);
  const before = earlier?.index.games.firstCover ?? new Uint32Array(1);
  const earlierCovers = before[earlierGames];
  // For each item, where its covers start among those of the earlier generation, and of the sorted rows after them.
  const coverStart = new Uint32Array(before.length + games.rows);
  coverStart.set(before);
  coverStart.set(
    rowStart.subarray(1).map((start) => earlierCovers + start),
    before.length,
  );
  const firstCover = sharedZeros(Uint32Array, itemOfGame.length + 1);
  itemOfGame.forEach((item, number) => {
    firstCover[number + 1] = firstCover[number] + coverStart[item + 1] - coverStart[item];
  });
  const itemOfCover = sharedZeros(Uint32Array, firstCover[itemOfGame.length]);
  const numberOfCover = sharedZeros(Uint32Array, earlierCovers + covers.rows).fill(LEFT_OUT);
  let number = 0;
  for (const item of itemOfGame) {
    for (let at = coverStart[item]; at < coverStart[item + 1]; at++) {
      const cover = at < earlierCovers ? at : earlierCovers + sortedRows[at - earlierCovers];
      itemOfCover[number] = cover;
      numberOfCover[cover] = number++;
    }
  }
  return {
    ...order,
    firstGame,
    firstCoverOf: firstGame.map((game) => firstCover[game]),
    itemOfGame,
    rankOfGame,
    numberOfGame,
    earlierCovers,
    firstCover,
    itemOfCover,
    numberOfCover,
  };
}

/** The rows of published covers by game, and within a game by region, type and id. */
function groupCovers(covers: Covers, published: Uint32Array, start: Uint32Array): Uint32Array {
  const rows = new Uint32Array(published.length);
  const next = start.slice();
  for (const row of published) rows[next[covers.game[row]]++] = row;
  const regionOrder = orderOfValues(covers.regions);
  const typeOrder = orderOfValues(covers.types);
  const { region, type } = covers;
  const compare = (a: number, b: number) =>
    regionOrder[region[a]] - regionOrder[region[b]] ||
    typeOrder[type[a]] - typeOrder[type[b]] ||
    a - b;
  for (let game = 0; game + 1 < start.length; game++) {
    const [from, to] = [start[game], start[game + 1]];
    if (to - from > 1) rows.subarray(from, to).sort(compare);
  }
  return rows;
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
    .forEach((index, position) => {
      order[index] = position;
    });
  return order;
}

function shared(numbers: Uint32Array): Uint32Array {
  const copy = sharedZeros(Uint32Array, numbers.length);
  copy.set(numbers);
  return copy;
}
