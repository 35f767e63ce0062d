/**
 * Joins what is kept of the earlier generation with the rows that were read: one catalogue of items, in which
 * kept games and covers have their earlier numbers. Without an earlier generation, items are rows. The distinct
 * values of columns continue the numbering of the earlier run.
 */

import { filterNamesOf, forEachFilter } from '../../find/search/value-filters.ts';
import type { Column } from '../../lib/columns/columns.ts';
import {
  columnOf,
  groupsOf,
  merge,
  numbersOf,
  reverse,
  through,
} from '../../lib/columns/columns.ts';
import type { StoredColumn } from '../../lib/columns/container.ts';
import type { GameNumber } from '../../lib/columns/numbers.ts';
import { NONE, type None } from '../../lib/columns/numbers.ts';
import type { IdColumns } from '../../lib/format/index/ids.ts';
import { gameSlug } from '../../lib/format/index/record-index.ts';
import type { Covers, Games, Items, Rows, Values } from '../rows/catalogue.ts';
import { rowOf } from '../rows/catalogue.ts';
import type { Ids } from '../rows/ids.ts';
import type { CoverItem, CoverNumber, GameItem } from '../rows/numbers.ts';
import { slugOf, titleOf } from '../rows/records.ts';
import type { KeptColumn, KeptValues } from './earlier-run.ts';
import type { StoredNumbers } from './find-stored.ts';
import type { StoredGeneration } from './stored-generation.ts';

type Numbers = StoredColumn | Float64Array;
const NOTHING = new Uint32Array(0);
const NO_IDS: IdColumns = { idHigh: NOTHING, idLow: NOTHING, numberOfId: NOTHING };
export function joinItems(
  stored: StoredGeneration | undefined,
  rows: Rows,
  found: StoredNumbers,
): { readonly games: Games; readonly covers: Covers } {
  const { platforms = [], games = NO_IDS, covers = NO_IDS } = stored?.index ?? {};
  const keptColumn = (name: KeptColumn) =>
    stored === undefined ? NOTHING : stored.run.columns[name];
  const approvedAt = keptColumn('approvedAt');
  const isKept = stored?.isKept ?? NOTHING;
  const platformOf = new Uint32Array(isKept.length).fill(NONE);
  for (const [platform, { firstGame, games }] of platforms.entries())
    for (let game = firstGame; game < firstGame + games; game++)
      if (isKept[game] === 1) platformOf[game] = platform;
  const platform: Games['platform'] = append(platformOf, rows.games.platform);
  const firstRow = platformOf.length;
  const gameItems = joinRecords(games, platformOf, rows.games.ids, platform, found.games);
  const sameNamed: Games['sameNamed'] = append(keptOf(platformOf), found.sameNamed);
  const itemOf = numbersOf(reverse(sameNamed, firstRow));
  const { gameOfRank } = stored?.index.games ?? { gameOfRank: NOTHING };
  const inOrder = numbersOf(gameOfRank).map((game) => itemOf[game]);

  const gameOf = numbersOf(
    groupsOf(columnOf(stored?.index.games.firstCover ?? new Uint32Array(1))),
  );
  const keptGames = gameOf.map((game) => (isKept[game] === 1 ? game : NONE));
  const read = numbersOf(rows.covers.game).map((row) => (row === NONE ? NONE : firstRow + row));
  const game: Covers['game'] = append(keptGames, columnOf(read));
  const times = new Float64Array(approvedAt.buffer, approvedAt.byteOffset, keptGames.length);
  return {
    games: {
      ...gameItems,
      platform,
      year: append(keptColumn('year'), rows.games.year, Int32Array),
      values: forEachFilter(
        (name) => appendValues(keptColumn(name), rows.games.values[name]),
        filterNamesOf('game'),
      ),
      sameNamed,
      inOrder: columnOf(inOrder.filter((item) => item !== NONE)),
      slug: (item) =>
        stored !== undefined && item < firstRow
          ? gameSlug(stored.index, item)
          : slugOf(rows.games, rowOf(item, firstRow)),
      title: (item) =>
        stored !== undefined && item < firstRow
          ? stored.title(item)
          : titleOf(rows.games, rowOf(item, firstRow)),
    },
    covers: {
      ...joinRecords(covers, keptGames, rows.covers.ids, game, found.covers),
      game,
      values: forEachFilter(
        (name) => appendValues(keptColumn(name), rows.covers.values[name]),
        filterNamesOf('cover'),
      ),
      approvedAt: append(times, rows.covers.approvedAt, Float64Array),
      files: append(keptColumn('files'), rows.covers.files),
    },
  };
}

/**
 * What games and covers have in common.
 * @param keptParents the parents of stored records: none if a record is not kept
 * @param parents of all items: none if an item is not published
 */
function joinRecords<Item extends number, Row extends number>(
  stored: IdColumns,
  keptParents: Uint32Array,
  idsOfRows: Ids<Row>,
  parents: Column<Item, number>,
  found: Column<Row, number>,
): Items<Item> {
  const [high, low] = [new Uint32Array(keptParents.length), new Uint32Array(keptParents.length)];
  stored.numberOfId.forEach((number, position) => {
    low[number] = stored.idLow[position];
    if (stored.idHigh.length > 0) high[number] = stored.idHigh[position];
  });
  const ids: Ids<Item> = { high: append(high, idsOfRows.high), low: append(low, idsOfRows.low) };
  const isPublished = (item: number) => numbersOf(parents)[item] !== NONE;
  const rows = numbersOf(idsOfRows.low).map((_, row) => keptParents.length + row);
  const byId = merge<Item>(
    columnOf<number, Item>(numbersOf(stored.numberOfId).filter(isPublished)),
    columnOf<number, Item>(rows.filter(isPublished)),
    (a, b) => ids.high[a] - ids.high[b] || ids.low[a] - ids.low[b],
  );
  const record: Column<Item, number | None> = append(keptOf(keptParents), found);
  return { firstRow: keptParents.length, count: parents.length, ids, byId, record };
}

/** The numbers of the stored records that are kept. */
function keptOf(parents: Uint32Array): Uint32Array {
  return parents.map((parent, number) => (parent === NONE ? NONE : number));
}

/** The numbers of stored records, and after them those of rows. */
function append<Item extends number, Row extends number, To extends number>(
  stored: Numbers,
  rows: Column<Row, To>,
  Type: new (length: number) => Numbers = Uint32Array,
): Column<Item, To> {
  const ofRows = numbersOf(rows);
  if (stored.length === 0) return columnOf(ofRows);
  const joined = new Type(stored.length + ofRows.length);
  joined.set(stored);
  joined.set(ofRows, stored.length);
  return columnOf(joined);
}

function appendValues<Item extends number, Row extends number>(
  stored: StoredColumn,
  { texts, column }: Values<Row>,
): Values<Item> {
  return { texts, column: append(stored, column) };
}

/** A catalogue, and its items in the order of publication. */
export interface NumberedCatalogue {
  readonly games: Games;
  readonly covers: Covers;
  readonly numbering: {
    readonly itemOfGame: Column<GameNumber, GameItem>;
    readonly itemOfCover: Column<CoverNumber, CoverItem>;
  };
}

/** What only the catalogue says of its games and covers, by their numbers, for the next run. */
export function valuesOf({ games, covers, numbering }: NumberedCatalogue): KeptValues {
  const { itemOfGame, itemOfCover } = numbering;
  const ofGames = (column: Column<GameItem, number>) => narrow(through(itemOfGame, column));
  const ofCovers = (column: Column<CoverItem, number>) => narrow(through(itemOfCover, column));
  const times = new Float64Array(itemOfCover.length);
  itemOfCover.forEach((cover, number) => {
    times[number] = covers.approvedAt[cover];
  });
  return {
    values: forEachFilter((name) => ({ ...games.values, ...covers.values })[name].texts),
    columns: {
      ...forEachFilter((name) => ofGames(games.values[name].column), filterNamesOf('game')),
      ...forEachFilter((name) => ofCovers(covers.values[name].column), filterNamesOf('cover')),
      year: new Int32Array(numbersOf(through(itemOfGame, games.year))),
      files: ofCovers(covers.files),
      approvedAt: new Uint32Array(times.buffer),
    },
  };
}

/** The same numbers in the narrowest type. */
function narrow<From extends number>(column: Column<From, number>): StoredColumn {
  const numbers = numbersOf(column);
  const most = numbers.reduce((most, number) => Math.max(most, number), 0);
  if (most < 2 ** 8) return Uint8Array.from(numbers);
  return most < 2 ** 16 ? Uint16Array.from(numbers) : numbers;
}
