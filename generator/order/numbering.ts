/**
 * Numbers games and covers in the order of publication: games by platform, then title; covers in the order of
 * their games, then by region, type and id.
 */

import type { Column } from '../../lib/columns/columns.ts';
import { columnOf, group, merge, numbersOf, reverse, through } from '../../lib/columns/columns.ts';
import type { GameNumber, None, Rank } from '../../lib/columns/numbers.ts';
import { NONE, next, numberAt } from '../../lib/columns/numbers.ts';
import { compareIds } from '../../lib/format/index/ids.ts';
import type {
  Catalogue,
  CoverItem,
  CoverNumber,
  Covers,
  GameItem,
  PlatformNumber,
} from '../rows/catalogue.ts';
import { idOf } from '../rows/ids.ts';
import { compareUnits, makeCollator } from '../rows/values.ts';

export interface Numbering {
  readonly itemOfRank: Column<Rank, GameItem>;
  /** The numbers of the first game and the first cover of each platform, and at the end how many there are. */
  readonly firstGame: Column<PlatformNumber, GameNumber>;
  readonly firstCoverOfPlatform: Column<PlatformNumber, CoverNumber>;
  readonly itemOfGame: Column<GameNumber, GameItem>;
  readonly rankOfGame: Column<GameNumber, Rank>;
  readonly gameOfRank: Column<Rank, GameNumber>;
  readonly numberOfGame: Column<GameItem, GameNumber | None>;
  /** The number of the first cover of each game, and at the end how many covers there are. */
  readonly firstCoverOfGame: Column<GameNumber, CoverNumber>;
  readonly itemOfCover: Column<CoverNumber, CoverItem>;
  readonly numberOfCover: Column<CoverItem, CoverNumber | None>;
}

/** A catalogue, and the order in which it is published. */
export interface NumberedCatalogue extends Catalogue {
  readonly numbering: Numbering;
}

/** Puts the published games in title order; equal titles are ordered by platform slug, then id. */
function orderGames({ platforms, games }: Unnumbered): Column<Rank, GameItem> {
  const slugs = platforms.map(({ slug }) => slug);
  const slugOrder = orderOf(slugs, compareUnits);
  const tieOrder = (a: GameItem, b: GameItem) =>
    slugOrder[games.platform[a]] - slugOrder[games.platform[b]] ||
    compareIds(idOf(games.ids, a), idOf(games.ids, b));
  const sameNamed = numbersOf(games.sameNamed);
  const titles = new Array<string | undefined>(games.count);
  const titleOf = (game: GameItem) => {
    titles[game] ??= games.title(game);
    return titles[game];
  };
  const collator = makeCollator();
  const compare = (a: GameItem, b: GameItem) =>
    collator.compare(titleOf(a), titleOf(b)) || tieOrder(a, b);
  const byId = numbersOf(games.byId);
  const others = new Uint32Array(byId.length);
  let count = 0;
  for (let index = 0; index < byId.length; index++)
    if (sameNamed[byId[index]] === NONE) others[count++] = byId[index];
  const inOrder = others.subarray(0, count).sort((a, b) => compare(numberAt(a), numberAt(b)));
  const merged = merge<GameItem>(games.inOrder, columnOf<number, GameItem>(inOrder), compare);
  return columnOf<Rank, GameItem>(numbersOf(merged));
}

type Unnumbered = Pick<Catalogue, 'platforms' | 'games' | 'covers'>;

export function numberRecords(catalogue: Unnumbered): Numbering {
  const { platforms, games, covers } = catalogue;
  const itemOfRank = orderGames(catalogue);
  const { start: firstGame, members: rankOfGame } = group<PlatformNumber, GameNumber, Rank>(
    through(itemOfRank, games.platform),
    platforms.length,
  );
  const itemOfGame = through<GameNumber, Rank, GameItem>(rankOfGame, itemOfRank);
  const numberOfGame = reverse(itemOfGame, games.count);
  const { start: firstCoverOfGame, members: itemOfCover } = group<
    GameNumber,
    CoverNumber,
    CoverItem
  >(through(covers.game, numberOfGame), itemOfRank.length);
  sortCovers(covers, firstCoverOfGame, itemOfCover);
  return {
    itemOfRank,
    firstGame,
    firstCoverOfPlatform: through(firstGame, firstCoverOfGame),
    itemOfGame,
    rankOfGame,
    gameOfRank: columnOf<Rank, GameNumber>(numbersOf(through(itemOfRank, numberOfGame))),
    numberOfGame,
    firstCoverOfGame,
    itemOfCover,
    numberOfCover: reverse(itemOfCover, covers.count),
  };
}

/** Sorts the covers of each game by region, type and id. */
function sortCovers(
  { values: { region, type }, ids, firstRow }: Covers,
  firstCoverOfGame: Column<GameNumber, CoverNumber>,
  itemOfCover: Column<CoverNumber, CoverItem>,
): void {
  const regionOrder = orderOfValues(region.texts);
  const typeOrder = orderOfValues(type.texts);
  const compare = (a: CoverItem, b: CoverItem) =>
    regionOrder[region.column[a]] - regionOrder[region.column[b]] ||
    typeOrder[type.column[a]] - typeOrder[type.column[b]] ||
    compareIds(idOf(ids, a), idOf(ids, b));
  const items = numbersOf(itemOfCover);
  const compareItems = (a: number, b: number) => compare(numberAt(a), numberAt(b));
  for (let game = numberAt<GameNumber>(0); game + 1 < firstCoverOfGame.length; game++) {
    const [from, to] = [firstCoverOfGame[game], firstCoverOfGame[next(game)]];
    // Stored covers are in this order; rows come after them.
    if (to - from > 1 && items[to - 1] >= firstRow) items.subarray(from, to).sort(compareItems);
  }
}

/** For each region or type, its position when they are sorted in title order, with null last. */
function orderOfValues(values: readonly (string | null)[]): Uint32Array {
  const collator = makeCollator();
  return orderOf(values, (a, b) => {
    if (a === null || b === null) return a === null ? 1 : -1;
    return collator.compare(a, b) || compareUnits(a, b);
  });
}

/** For each value, its position when the values are sorted. */
function orderOf<T>(values: readonly T[], compare: (a: T, b: T) => number): Uint32Array {
  const order = new Uint32Array(values.length);
  [...values.keys()]
    .sort((a, b) => compare(values[a], values[b]))
    .forEach((index, position) => {
      order[index] = position;
    });
  return order;
}
