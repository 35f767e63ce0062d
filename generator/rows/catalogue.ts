/**
 * The catalogue of a run as columns, which cost the garbage collector nothing: with an object per row, 300,000
 * games took 50 % more processor time, and 950 MB.
 *
 * Rows are what was read. Items are all stored numbers, of which those that were not read again may be published,
 * and after them the rows. If all rows were read, items are rows.
 */

import type { FilterOf } from '../../find/search/value-filters.ts';
import type { Column } from '../../lib/columns/columns.ts';
import { at, type None } from '../../lib/columns/numbers.ts';
import type { Ids } from './ids.ts';
import type { CoverItem, CoverRow, FileRow, GameItem, GameRow, PlatformNumber } from './numbers.ts';
import type { RowTexts } from './texts.ts';

export interface Platform {
  readonly slug: string;
  readonly name: string;
}

/** The distinct values of a column, and for each row or item the index of its own. */
export interface Values<Of extends number> {
  readonly texts: readonly (string | null)[];
  readonly column: Column<Of, number>;
}

interface GameColumns<Game extends number> {
  /** None if the game is not published. */
  readonly platform: Column<Game, PlatformNumber | None>;
  /** The release year, or {@link NO_YEAR} if it is unknown. */
  readonly year: Column<Game, number>;
  readonly values: Readonly<Record<FilterOf<'game'>, Values<Game>>>;
}

interface CoverColumns<Cover extends number, Game extends number> {
  /** None if the cover is not published. */
  readonly game: Column<Cover, Game | None>;
  readonly values: Readonly<Record<FilterOf<'cover'>, Values<Cover>>>;
  /** Seconds since 1970, or NaN if the time is unknown. */
  readonly approvedAt: Column<Cover, number>;
  /** How many files the cover has. */
  readonly files: Column<Cover, number>;
}

/**
 * The games that were read, in the order of their ids. Games that were left out have a row, too, if they have an
 * id, so that their covers can be left out.
 */
export interface GameRows extends GameColumns<GameRow> {
  readonly count: number;
  readonly ids: Ids<GameRow>;
  /** The values of their records (`records.ts`). */
  readonly texts: RowTexts<GameRow>;
}

/** The covers that were read, in the order of their ids. */
export interface CoverRows extends CoverColumns<CoverRow, GameRow> {
  readonly count: number;
  readonly ids: Ids<CoverRow>;
  readonly firstFile: Column<CoverRow, FileRow | None>;
  readonly lastFile: Column<CoverRow, FileRow | None>;
}

/** The files of published covers that were read. */
export interface FileRows {
  readonly texts: RowTexts<FileRow>;
  /** The next file of the same cover. */
  readonly next: Column<FileRow, FileRow | None>;
}

/** What was read. */
export interface Rows {
  readonly games: GameRows;
  readonly covers: CoverRows;
  readonly files: FileRows;
}

/** What games and covers have in common. */
export interface Items<Item extends number> {
  readonly count: number;
  readonly ids: Ids<Item>;
  /** The item of the first row. */
  readonly firstRow: number;
  /** The published items in the order of their ids. */
  readonly byId: Column<number, Item>;
  /** The stored record with the same bytes; none if the record must be made. */
  readonly record: Column<Item, number>;
}

export interface Games extends GameColumns<GameItem>, Items<GameItem> {
  /** The stored game that has the same path, id and title; none if there is none. */
  readonly sameNamed: Column<GameItem, number>;
  /** The games that have one, in title order. */
  readonly inOrder: Column<number, GameItem>;
  slug(game: GameItem): string;
  title(game: GameItem): string;
}

export interface Covers extends CoverColumns<CoverItem, GameItem>, Items<CoverItem> {}

/** The row of an item from `firstRow` on. */
export function rowOf<Row extends number>(item: number, firstRow: number): Row {
  return at(item - firstRow);
}
