/**
 * The catalogue of a run as columns in memory that threads share, which cost the garbage collector nothing: with
 * an object per row, 300,000 games took half as much processor time again, and 950 MB.
 *
 * Rows are what was read. Items are what may be published: those that are stored and were not read, by their
 * stored numbers, and after them the rows. If all rows were read, items are rows.
 */
import type { RecordColumns } from '../../lib/format/index/record-index.ts';
import type { ManifestFile, Settings } from '../../lib/format/manifest.ts';
import {
  at,
  type Column,
  type CoverItem,
  type CoverRow,
  type FileRow,
  type GameItem,
  type GameRow,
  type None,
  type PlatformNumber,
} from './columns.ts';
import type { Ids } from './ids.ts';
import type { RowTexts } from './texts.ts';

export interface Platform {
  readonly slug: string;
  readonly name: string;
}

export const NO_YEAR = -0x8000;

interface GameColumns<Game extends number> {
  readonly count: number;
  readonly ids: Ids<Game>;
  /** None if the game is not published. */
  readonly platform: Column<Game, PlatformNumber | None>;
  /** The release year, or {@link NO_YEAR} if it is unknown. */
  readonly year: Column<Game, number>;
  /** The distinct genres strings, and for each game the index of its own. */
  readonly genres: readonly (string | null)[];
  readonly genre: Column<Game, number>;
}

interface CoverColumns<Cover extends number, Game extends number> {
  readonly count: number;
  readonly ids: Ids<Cover>;
  /** None if the cover is not published. */
  readonly game: Column<Cover, Game | None>;
  /** The distinct regions and types, and for each cover the index of its own. */
  readonly regions: readonly (string | null)[];
  readonly region: Column<Cover, number>;
  readonly types: readonly (string | null)[];
  readonly type: Column<Cover, number>;
  /** Seconds since 1970, or NaN if the time is unknown. */
  readonly approvedAt: Column<Cover, number>;
  /** How many files the cover has. */
  readonly files: Column<Cover, number>;
}

/**
 * The games that were read, in the order of their ids. Games that were left out have a row, too, so that their
 * covers can be left out.
 */
export interface GameRows extends GameColumns<GameRow> {
  /** The values of their records (`records.ts`). */
  readonly texts: RowTexts<GameRow>;
}

/** The covers that were read, in the order of their ids. */
export interface CoverRows extends CoverColumns<CoverRow, GameRow> {
  readonly firstFile: Column<CoverRow, FileRow | None>;
  readonly lastFile: Column<CoverRow, FileRow | None>;
}

/** The files of published covers that were read. */
export interface FileRows {
  readonly texts: RowTexts<FileRow>;
  /** The next file of the same cover. */
  readonly next: Column<FileRow, FileRow | None>;
}

export interface Games extends GameColumns<GameItem> {
  readonly rows: GameRows;
  /** The item of the first row. */
  readonly firstRow: number;
  /** The published games in the order of their ids. */
  readonly byId: Column<number, GameItem>;
}

export interface Covers extends CoverColumns<CoverItem, GameItem> {
  readonly rows: CoverRows;
  /** The item of the first row. */
  readonly firstRow: number;
  /** The published covers in the order of their ids. */
  readonly byId: Column<number, CoverItem>;
}

/** All that is published. */
export interface Catalogue {
  readonly settings: Settings;
  readonly platforms: readonly Platform[];
  readonly games: Games;
  readonly covers: Covers;
  /** Undefined if all records must be made. */
  readonly stored: Stored | undefined;
}

/** The row of an item from `firstRow` on. */
export function rowOf<Row extends number>(item: number, firstRow: number): Row {
  return at(item - firstRow);
}

/** The words of a game, in the order of its readings. */
export interface Readings {
  readonly readings: readonly (readonly number[])[];
  /** Whether the last one is the words of the game's slug, and of none of its titles. */
  readonly endsWithSlug: boolean;
}

/** Records, and what was made of them, on disk in files of the same names. What they return is checked. */
export interface Stored {
  readonly games: StoredRecords<GameItem>;
  readonly covers: StoredRecords<CoverItem>;
  /** The published games whose title order is known, in this order. */
  inOrder(): Column<number, GameItem>;
  /** Of an item before the first row. */
  slug(item: GameItem): string;
  title(item: GameItem): string;
  /** The content of a file. */
  read(name: string): Buffer;
  /** Links a file into the generation if it has the bytes that would be written. */
  link(name: string): ManifestFile | undefined;
  /** Whether the readings and forms of the titles of a game are stored. */
  hasReadings(game: GameItem): boolean;
  /** @returns a function that returns these readings, with the numbers of words from `numberOf` */
  readings(numberOf: (word: string) => number): (game: GameItem) => Readings;
  /** @returns a function that adds these forms */
  forms(): (game: GameItem, add: AddForm) => void;
}

/** @param list the index of a list of forms */
export type AddForm = (list: number, key: number, letters: number) => void;

export interface StoredRecords<Item extends number> {
  /** The stored record whose bytes are those of an item; none if the record must be made. */
  readonly numberOf: Column<Item, number>;
  /** Where the stored records are in their packs. */
  readonly columns: RecordColumns;
}
