/**
 * Joins what is kept of the earlier generation with the rows that were read: one catalogue of items, in which
 * kept games and covers have their earlier numbers. Without an earlier generation, items are rows. The distinct
 * values of columns are numbered on from those of the earlier run.
 */
import type { Column as Stored } from '../../lib/format/index/columns.ts';
import type { IdColumns } from '../../lib/format/index/ids.ts';
import { gameSlug } from '../../lib/format/index/record-index.ts';
import {
  type CoverRows,
  type Covers,
  type GameRows,
  type Games,
  type Rows,
  rowOf,
} from '../rows/catalogue.ts';
import {
  type Column,
  type CoverItem,
  type CoverNumber,
  type CoverRow,
  columnOf,
  type GameItem,
  type GameNumber,
  type GameRow,
  groupsOf,
  indexesOf,
  makeList,
  merge,
  NONE,
  type None,
  numbersOf,
  reverse,
  through,
} from '../rows/columns.ts';
import type { Ids } from '../rows/ids.ts';
import { slugOf, titleOf } from '../rows/records.ts';
import type { Details } from './earlier-run.ts';
import type { Found } from './find-stored.ts';
import type { StoredGeneration } from './stored-generation.ts';

export function joinItems(stored: StoredGeneration | undefined, rows: Rows, found: Found) {
  const games = joinGames(stored, rows.games, found);
  return { games, covers: joinCovers(stored, rows.covers, games.firstRow, found) };
}

function joinGames(stored: StoredGeneration | undefined, rows: GameRows, found: Found): Games {
  const { games, platforms = [] } = stored?.index ?? {};
  const { columns } = stored?.run.details ?? NO_DETAILS;
  const firstRow = games?.rank.length ?? 0;
  const platformOf = new Uint32Array(firstRow);
  for (const [platform, { firstGame, games: count }] of platforms.entries())
    platformOf.fill(platform, firstGame, firstGame + count);
  stored?.isKept.forEach((kept, game) => {
    if (kept === 0) platformOf[game] = NONE;
  });
  const kept = platformOf.map((platform, game) => (platform === NONE ? NONE : game));
  const platform: Games['platform'] = append(platformOf, rows.platform);
  const ids: Games['ids'] = joinIds(games, rows.ids);
  const known: Games['known'] = append(kept, found.known);
  const itemOf = numbersOf(reverse(known, firstRow));
  const inOrder = numbersOf(games?.gameOfRank ?? []).map((game) => itemOf[game]);
  return {
    firstRow,
    count: firstRow + rows.count,
    ids,
    platform,
    year: append(columns.year, rows.year, Int32Array),
    genres: rows.genres,
    genre: append(columns.genre, rows.genre),
    byId: orderById(games, firstRow, platform, ids),
    record: append(kept, found.games),
    known,
    inOrder: columnOf(inOrder.filter((item) => item !== NONE)),
    slug: (game) =>
      stored !== undefined && game < firstRow
        ? gameSlug(stored.index, game)
        : slugOf(rows, rowOf(game, firstRow)),
    title: (game) =>
      stored !== undefined && game < firstRow
        ? stored.title(game)
        : titleOf(rows, rowOf(game, firstRow)),
  };
}

function joinCovers(
  stored: StoredGeneration | undefined,
  rows: CoverRows,
  firstGameRow: number,
  found: Found,
): Covers {
  const { games, covers } = stored?.index ?? {};
  const { columns } = stored?.run.details ?? NO_DETAILS;
  const firstRow = covers?.byteLength.length ?? 0;
  const gameOf =
    games === undefined ? new Uint32Array(0) : numbersOf(groupsOf(columnOf(games.firstCover)));
  gameOf.forEach((game, cover) => {
    if (stored?.isKept[game] === 0) gameOf[cover] = NONE;
  });
  const kept = gameOf.map((game, cover) => (game === NONE ? NONE : cover));
  const game: Covers['game'] = append(gameOf, itemsOf(rows.game, firstGameRow));
  const ids: Covers['ids'] = joinIds(covers, rows.ids);
  const { buffer, byteOffset } = columns.approvedAt;
  const approvedAt = new Float64Array(buffer, byteOffset, firstRow);
  return {
    firstRow,
    count: firstRow + rows.count,
    ids,
    game,
    regions: rows.regions,
    region: append(columns.region, rows.region),
    types: rows.types,
    type: append(columns.type, rows.type),
    approvedAt: append(approvedAt, rows.approvedAt, Float64Array),
    files: append(columns.files, rows.files),
    byId: orderById(covers, firstRow, game, ids),
    record: append(kept, found.covers),
  };
}

/** The items of the games of covers. */
function itemsOf(
  gameOf: Column<CoverRow, GameRow | None>,
  firstRow: number,
): Column<CoverRow, GameItem | None> {
  const games = numbersOf(gameOf);
  return columnOf(
    firstRow === 0 ? games : games.map((row) => (row === NONE ? NONE : firstRow + row)),
  );
}

const NO_NUMBERS = new Uint32Array(0);
/** Of a run without an earlier one. */
export const NO_DETAILS: Details = {
  values: { genres: [null], regions: [null], types: [null] },
  columns: {
    genre: NO_NUMBERS,
    year: new Int32Array(0),
    region: NO_NUMBERS,
    type: NO_NUMBERS,
    files: NO_NUMBERS,
    approvedAt: NO_NUMBERS,
  },
};

/** A catalogue, and its items in the order of publication. */
export interface Written {
  readonly games: Games;
  readonly covers: Covers;
  readonly numbering: {
    readonly itemOfGame: Column<GameNumber, GameItem>;
    readonly itemOfCover: Column<CoverNumber, CoverItem>;
  };
}

/** What only the catalogue says of its games and covers, by their numbers, for the next run. */
export function detailsOf({
  games,
  covers,
  numbering: { itemOfGame, itemOfCover },
}: Written): Details {
  const ofCovers = (column: Column<CoverItem, number>) => narrow(through(itemOfCover, column));
  const approvedAt = new Float64Array(itemOfCover.length);
  itemOfCover.forEach((cover, number) => {
    approvedAt[number] = covers.approvedAt[cover];
  });
  return {
    values: { genres: games.genres, regions: covers.regions, types: covers.types },
    columns: {
      genre: narrow(through(itemOfGame, games.genre)),
      year: new Int32Array(numbersOf(through(itemOfGame, games.year))),
      region: ofCovers(covers.region),
      type: ofCovers(covers.type),
      files: ofCovers(covers.files),
      approvedAt: new Uint32Array(approvedAt.buffer),
    },
  };
}

/** The numbers of kept items, and after them those of the rows. */
function append<Item extends number, Row extends number, To extends number>(
  kept: Numbers,
  rows: Column<Row, To>,
  Type: new (length: number) => Numbers = Uint32Array,
): Column<Item, To> {
  const ofRows = numbersOf(rows);
  if (kept.length === 0) return columnOf(ofRows);
  const joined = new Type(kept.length + ofRows.length);
  joined.set(kept);
  joined.set(ofRows, kept.length);
  return columnOf(joined);
}

type Numbers = Stored | Float64Array;

/** The same numbers in the narrowest type. */
function narrow<From extends number>(column: Column<From, number>): Stored {
  const numbers = numbersOf(column);
  const most = numbers.reduce((most, number) => Math.max(most, number), 0);
  if (most < 2 ** 8) return Uint8Array.from(numbers);
  return most < 2 ** 16 ? Uint16Array.from(numbers) : numbers;
}

function joinIds<Item extends number, Row extends number>(
  kept: IdColumns | undefined,
  rows: Ids<Row>,
): Ids<Item> {
  const count = kept?.numberOfId.length ?? 0;
  const [high, low] = [new Uint32Array(count), new Uint32Array(count)];
  kept?.numberOfId.forEach((number, position) => {
    low[number] = kept.idLow[position];
    if (kept.idHigh.length > 0) high[number] = kept.idHigh[position];
  });
  return { high: append(high, rows.high), low: append(low, rows.low) };
}

/** The published items in the order of their ids. @param parentOf none if an item is not published */
function orderById<Item extends number>(
  kept: IdColumns | undefined,
  firstRow: number,
  parentOf: Column<Item, number>,
  ids: Ids<Item>,
): Column<number, Item> {
  if (kept === undefined) return indexesOf(parentOf);
  const parents = numbersOf(parentOf);
  const rows = makeList();
  for (let item = firstRow; item < parents.length; item++)
    if (parents[item] !== NONE) rows.add(item);
  const stillThere = makeList(Math.max(1, parents.length));
  for (const number of kept.numberOfId) if (parents[number] !== NONE) stillThere.add(number);
  const [high, low] = [numbersOf(ids.high), numbersOf(ids.low)];
  return merge<Item>(
    columnOf<number, Item>(stillThere.all()),
    columnOf<number, Item>(rows.all()),
    (a, b) => high[a] - high[b] || low[a] - low[b],
  );
}
