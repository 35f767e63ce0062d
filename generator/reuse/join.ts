/**
 * Joins what is kept of the earlier generation with the rows that were read: one catalogue of items, in which
 * kept games and covers have their earlier numbers. Without an earlier generation, items are rows. The distinct
 * values of columns continue the numbering of the earlier run.
 */

import { type FilterOf, filterNamesOf, forEachFilter } from '../../find/search/value-filters.ts';
import { findUnchanged } from '../../find/write.ts';
import type { Column } from '../../lib/columns/columns.ts';
import {
  columnOf,
  merge,
  numbersOf,
  reverse,
  through,
  withoutNone,
} from '../../lib/columns/columns.ts';
import type { StoredColumn } from '../../lib/columns/container.ts';
import type { GameNumber, Rank } from '../../lib/columns/numbers.ts';
import { NONE, type None, numberAt } from '../../lib/columns/numbers.ts';
import type { IdColumns } from '../../lib/format/index/ids.ts';
import { gameSlug } from '../../lib/format/index/record-index.ts';
import {
  MATCH_INDEX,
  MINISEARCH,
  PATH_INDEX,
  TITLE_INDEX,
  WORD_INDEX,
} from '../../lib/format/layout.ts';
import type {
  Catalogue,
  CoverItem,
  CoverNumber,
  CoverRow,
  Covers,
  GameItem,
  GameRow,
  Games,
  Items,
  KeptColumns,
  Platform,
  Rows,
} from '../rows/catalogue.ts';
import { NUMBER_COLUMNS, rowOf } from '../rows/catalogue.ts';
import type { Ids } from '../rows/ids.ts';
import { RecordWriter, slugOf, titleOf } from '../rows/records.ts';
import type { KeptColumn, KeptValues } from './earlier-run.ts';
import { findStored, type StoredNumbers } from './find-stored.ts';
import type { Plan, PlanOptions } from './plan.ts';
import type { StoredGeneration } from './stored-generation.ts';

/**
 * @returns undefined if the run would write the files of the earlier generation again
 * @throws Error if all rows must be read
 */
export function joinCatalogue(
  { stored, forNext }: Pick<Plan, 'stored' | 'forNext'>,
  rows: Rows,
  platforms: readonly Platform[],
  { earlier, report, settings }: PlanOptions,
): Catalogue | undefined {
  if (stored !== undefined && report.blocks() === undefined)
    throw new Error('the fault of a row depends on all rows');
  const hasSameTitles = forNext.titles === earlier?.titles;
  const hasSameTables = hasSameTitles && forNext.externalIds === earlier?.externalIds;
  const records = new RecordWriter(settings, platforms, rows);
  const found = findStored(stored, rows, records);
  if (found.areAll && hasSameTables && report.total() === earlier?.manifest.counts.left_out)
    return undefined;
  const { games, covers } = joinItems(stored, rows, found);
  const { titles, externalIds } = rows;
  const sameFiles = findSameFiles(games, hasSameTitles, hasSameTables);
  return {
    ...{ settings, platforms, games, covers, titles, externalIds, records },
    ...{ source: stored, sameFiles, hasSameTitles },
  };
}

/** The files, without packs, that depend only on ids, paths and titles of games, and on the optional tables. */
function findSameFiles(
  { byId, inOrder, firstRow }: Games,
  hasSameTitles: boolean,
  hasSameTables: boolean,
): ReadonlySet<string> {
  const haveSameNames = inOrder.length === byId.length && inOrder.length === firstRow;
  const sameFiles = new Set(haveSameNames ? [PATH_INDEX] : []);
  const titles = haveSameNames && hasSameTitles;
  if (titles) sameFiles.add(TITLE_INDEX);
  const unchanged = findUnchanged({ titles, otherIds: hasSameTables });
  if (unchanged.words) for (const name of [WORD_INDEX, MINISEARCH]) sameFiles.add(name);
  if (unchanged.match) sameFiles.add(MATCH_INDEX);
  return sameFiles;
}

const NOTHING = new Uint32Array(0);
const NO_IDS: IdColumns = { idHigh: NOTHING, idLow: NOTHING, numberOfId: NOTHING };

function joinItems(
  stored: StoredGeneration | undefined,
  rows: Rows,
  found: StoredNumbers,
): { readonly games: Games; readonly covers: Covers } {
  const { platforms = [], games = NO_IDS, covers = NO_IDS } = stored?.index ?? {};
  const kept = stored?.run.columns;
  const isKept = stored?.isKept ?? NOTHING;
  const platformOf = new Uint32Array(isKept.length).fill(NONE);
  for (const [platform, { firstGame, games }] of platforms.entries())
    for (let game = firstGame; game < firstGame + games; game++)
      if (isKept[game] === 1) platformOf[game] = platform;
  const platform: Games['platform'] = append(platformOf, rows.games.platform);
  const firstRow = platformOf.length;
  const gameItems = joinRecords(games, platformOf, rows.games.ids, platform, found.games);
  const sameNamed: Games['sameNamed'] = append(keptOf(platformOf), found.sameNamed);
  const itemOf = reverse(sameNamed, firstRow);
  const gameOfRank = columnOf<Rank, GameNumber>(stored?.index.games.gameOfRank ?? NOTHING);
  const inOrder = withoutNone(through(gameOfRank, itemOf));

  const firstCover = stored?.index.games.firstCover ?? new Uint32Array(1);
  const keptGames = new Uint32Array(firstCover[isKept.length]).fill(NONE);
  for (let game = 0; game < isKept.length; game++)
    if (isKept[game] === 1) keptGames.fill(game, firstCover[game], firstCover[game + 1]);
  const read = numbersOf(rows.covers.game).map((row) => (row === NONE ? NONE : firstRow + row));
  const game: Covers['game'] = append(keptGames, columnOf(read));
  return {
    games: {
      ...gameItems,
      platform,
      ...joinKept<'game', GameItem, GameRow>('game', kept, rows.games),
      sameNamed,
      inOrder,
      slug: (item) =>
        stored !== undefined && item < firstRow
          ? gameSlug(stored.index, numberAt(item))
          : slugOf(rows.games, rowOf(item, firstRow)),
      title: (item) =>
        stored !== undefined && item < firstRow
          ? stored.title(item)
          : titleOf(rows.games, rowOf(item, firstRow)),
    },
    covers: {
      ...joinRecords(covers, keptGames, rows.covers.ids, game, found.covers),
      game,
      ...joinKept<'cover', CoverItem, CoverRow>('cover', kept, rows.covers),
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
  const { numberOfId, idHigh, idLow } = stored;
  const [high, low] = [new Uint32Array(keptParents.length), new Uint32Array(keptParents.length)];
  const kept = new Uint32Array(numberOfId.length);
  for (let position = 0; position < numberOfId.length; position++) {
    const number = numberOfId[position];
    low[number] = idLow[position];
    // Memory to which nothing was written takes none.
    if (idHigh.length > 0) high[number] = idHigh[position];
    kept[position] = keptParents[number] === NONE ? NONE : number;
  }
  const ids: Ids<Item> = { high: append(high, idsOfRows.high), low: append(low, idsOfRows.low) };
  const rows = numbersOf(idsOfRows.low).map((_, row) => {
    const item = keptParents.length + row;
    return numbersOf(parents)[item] === NONE ? NONE : item;
  });
  const byId = merge<Item>(
    withoutNone(columnOf<number, Item>(kept)),
    withoutNone(columnOf<number, Item>(rows)),
    (a, b) => ids.high[a] - ids.high[b] || ids.low[a] - ids.low[b],
  );
  const record: Column<Item, number | None> = append(keptOf(keptParents), found);
  return { firstRow: keptParents.length, count: parents.length, ids, byId, record };
}

/** The numbers of the stored records that are kept. */
function keptOf(parents: Uint32Array): Uint32Array {
  const kept = new Uint32Array(parents.length);
  for (let number = 0; number < parents.length; number++)
    kept[number] = parents[number] === NONE ? NONE : number;
  return kept;
}

/** The numbers of stored records, and after them those of rows. */
function append<Item extends number, Row extends number, To extends number>(
  stored: StoredColumn,
  rows: Column<Row, To>,
  Type: new (length: number) => StoredColumn = Uint32Array,
): Column<Item, To> {
  const ofRows = numbersOf(rows);
  if (stored.length === 0) return columnOf(ofRows);
  const joined = new Type(stored.length + ofRows.length);
  joined.set(stored);
  joined.set(ofRows, stored.length);
  return columnOf(joined);
}

type Owner = 'game' | 'cover';
type NumberColumn<Of extends Owner> = keyof (typeof NUMBER_COLUMNS)[Of] & KeptColumn;
const numberColumnsOf = <Of extends Owner>(owner: Of) =>
  Object.entries(NUMBER_COLUMNS[owner]) as [
    NumberColumn<Of>,
    new (length: number) => StoredColumn,
  ][];

/** The kept columns of games, or of covers: what is stored of them, and after it what was read. */
function joinKept<Of extends Owner, Item extends number, Row extends number>(
  owner: Of,
  stored: KeptValues['columns'] | undefined,
  rows: KeptColumns<Of, Row>,
): KeptColumns<Of, Item> {
  const columns = numberColumnsOf(owner).map(([name, Type]) => [
    name,
    append(stored?.[name] ?? NOTHING, rows[name], Type),
  ]);
  const values = forEachFilter<unknown, FilterOf<Of>>((name) => {
    const { texts, column } = rows.values[name];
    return { texts, column: append(stored?.[name] ?? NOTHING, column) };
  }, filterNamesOf(owner));
  return { ...Object.fromEntries(columns), values };
}

/** The kept columns of games, or of covers, by their numbers. */
function keepColumns<Of extends Owner, From extends number, Item extends number>(
  owner: Of,
  items: KeptColumns<Of, Item>,
  itemOf: Column<From, Item>,
) {
  const columns = numberColumnsOf(owner).map(([name, Type]) => {
    const [column, kept] = [numbersOf(items[name]), new Type(itemOf.length)];
    const from = numbersOf(itemOf);
    for (let number = 0; number < kept.length; number++) kept[number] = column[from[number]];
    return [name, kept];
  });
  const values = forEachFilter<StoredColumn, FilterOf<Of>>(
    (name) => narrow(through(itemOf, items.values[name].column)),
    filterNamesOf(owner),
  );
  return { ...Object.fromEntries(columns), ...values };
}

/** A catalogue, and its items in the order of publication. */
interface NumberedItems {
  readonly games: Games;
  readonly covers: Covers;
  readonly numbering: {
    readonly itemOfGame: Column<GameNumber, GameItem>;
    readonly itemOfCover: Column<CoverNumber, CoverItem>;
  };
}

/** What only the catalogue says of its games and covers, by their numbers, for the next run. */
export function keptValuesOf({ games, covers, numbering }: NumberedItems): KeptValues {
  return {
    values: forEachFilter((name) => ({ ...games.values, ...covers.values })[name].texts),
    columns: {
      ...keepColumns('game', games, numbering.itemOfGame),
      ...keepColumns('cover', covers, numbering.itemOfCover),
    },
  };
}

/** The same numbers in the narrowest type. */
function narrow<From extends number>(column: Column<From, number>): StoredColumn {
  const numbers = numbersOf(column);
  let most = 0;
  for (let at = 0; at < numbers.length; at++) most = Math.max(most, numbers[at]);
  if (most < 2 ** 8) return Uint8Array.from(numbers);
  return most < 2 ** 16 ? Uint16Array.from(numbers) : numbers;
}
