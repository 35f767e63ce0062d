/**
 * The catalogue of a run as columns, which cost the garbage collector nothing: with an object per row, 300,000
 * games took 50 % more processor time, and 950 MB.
 *
 * Rows are what was read. Items are all stored numbers, of which those that were not read again may be published,
 * and after them the rows. If all rows were read, items are rows.
 */

import type { FilterOf } from '../../find/search/value-filters.ts';
import type { Column } from '../../lib/columns/columns.ts';
import { type In, type None, numberAt } from '../../lib/columns/numbers.ts';
import type { RecordIndex } from '../../lib/format/index/record-index.ts';
import type { ManifestFile, Settings } from '../../lib/format/manifest.ts';
import type { Ids } from './ids.ts';
import type { RowTexts } from './texts.ts';

/** The index of a row, in the order of ids; that of a file in the order in which files came. */
export type GameRow = In<'row of a game'>;
export type CoverRow = In<'row of a cover'>;
export type FileRow = In<'row of a file'>;
/** A game or cover of the catalogue, published or not. */
export type GameItem = In<'item of a game'>;
export type CoverItem = In<'item of a cover'>;
/** What is published, in the order of publication: the numbers of the format. */
export type PlatformNumber = In<'number of a platform'>;
export type CoverNumber = In<'number of a cover'>;

export interface Platform {
  /** In decimal digits. */
  readonly id: string;
  readonly slug: string;
  readonly name: string;
}

/** The distinct values of a column, and for each row or item the index of its own. */
export interface Values<Of extends number> {
  readonly texts: readonly (string | null)[];
  readonly column: Column<Of, number>;
}

/**
 * What a run needs of games and covers besides their records and the values of filters, with the types of the
 * columns. What these columns hold is kept from run to run.
 */
export const NUMBER_COLUMNS = {
  game: {
    /** The release year, or `NO_YEAR` if it is unknown. */
    year: Int32Array,
    /** See `hashTitle` in `values.ts`. */
    titleHash: Uint32Array,
  },
  cover: {
    /** How many files the cover has. */
    files: Uint32Array,
    /** Seconds since 1970, or NaN if the time is unknown. */
    approvedAt: Float64Array,
  },
} as const;

/** The columns of games, or of covers, that are kept from run to run. */
export type KeptColumns<Owner extends 'game' | 'cover', Of extends number> = {
  readonly values: Readonly<Record<FilterOf<Owner>, Values<Of>>>;
} & { readonly [Name in keyof (typeof NUMBER_COLUMNS)[Owner]]: Column<Of, number> };

type GameColumns<Game extends number> = KeptColumns<'game', Game> & {
  /** None if the game is not published. */
  readonly platform: Column<Game, PlatformNumber | None>;
};

type CoverColumns<Cover extends number, Game extends number> = KeptColumns<'cover', Cover> & {
  /** None if the cover is not published. */
  readonly game: Column<Cover, Game | None>;
};

/**
 * The games that were read, in the order of their ids. Games that were left out have a row, too, if they have an
 * id, so that their covers can be left out.
 */
export type GameRows = GameColumns<GameRow> & {
  readonly count: number;
  readonly ids: Ids<GameRow>;
  /** The values of their records (`records.ts`). */
  readonly texts: RowTexts<GameRow>;
};

/** The covers that were read, in the order of their ids. */
export type CoverRows = CoverColumns<CoverRow, GameRow> & {
  readonly count: number;
  readonly ids: Ids<CoverRow>;
  readonly firstFile: Column<CoverRow, FileRow | None>;
  readonly lastFile: Column<CoverRow, FileRow | None>;
};

/** The files of published covers that were read. */
export interface FileRows {
  readonly texts: RowTexts<FileRow>;
  /** The next file of the same cover. */
  readonly next: Column<FileRow, FileRow | None>;
}

/** What the optional tables say of published games and of platforms. They are read whole in every run. */
export interface OptionalRows {
  /** The alternative titles of each game, by its id in decimal digits. */
  readonly titles: ReadonlyMap<string, readonly string[]>;
  readonly externalIds: ExternalIds;
}

/** The ids that other sources have given. */
export interface ExternalIds {
  /** For each id, as `source:value`, the ids of its games, in decimal digits. */
  readonly ofGames: ReadonlyMap<string, readonly string[]>;
  /** For each id, the numbers of its platforms, in ascending order. */
  readonly ofPlatforms: ReadonlyMap<string, readonly number[]>;
}

/** What was read. */
export interface Rows extends OptionalRows {
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

export type Games = GameColumns<GameItem> &
  Items<GameItem> & {
    /** The stored game that has the same path, id and title; none if there is none. */
    readonly sameNamed: Column<GameItem, number>;
    /** The games that have one, in title order. */
    readonly inOrder: Column<number, GameItem>;
    slug(game: GameItem): string;
    title(game: GameItem): string;
  };

export type Covers = CoverColumns<CoverItem, GameItem> & Items<CoverItem>;

/** The row of an item from `firstRow` on. */
export function rowOf<Row extends number>(item: number, firstRow: number): Row {
  return numberAt(item - firstRow);
}

/** Where records are written: after a single `reserve`, into `buffer` from `at` on. */
export interface RecordTarget {
  readonly buffer: Buffer;
  at: number;
  reserve(bytes: number): void;
}

/** Files that are there already, and what finds their records: writers copy or link them. */
export interface Source {
  readonly index: RecordIndex;
  /** The content of a file. @throws Error if it is damaged */
  read(name: string): Buffer;
  /** Links a file into the new generation. @returns undefined if the file must be written */
  link(name: string): ManifestFile | undefined;
}

/** All that is published. */
export interface Catalogue extends OptionalRows {
  readonly settings: Settings;
  readonly platforms: readonly Platform[];
  readonly games: Games;
  readonly covers: Covers;
  /** Makes the records that are not in the source. */
  readonly records: {
    addGame(target: RecordTarget, row: GameRow, covers: number): void;
    addCover(target: RecordTarget, row: CoverRow): void;
  };
  /** Undefined if everything must be made. */
  readonly source: Source | undefined;
  /** The files of the source, without packs, that would be written as they are. */
  readonly sameFiles: ReadonlySet<string>;
  /** Whether all alternative titles are those of the source. */
  readonly hasSameTitles: boolean;
}
