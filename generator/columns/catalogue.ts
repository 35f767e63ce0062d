/**
 * The types of the catalogue in memory. The tables are read into it; records are numbered and files are
 * written from it.
 */
import type { Ids } from './ids.ts';
import type { Texts } from './texts.ts';

export interface Platform {
  readonly slug: string;
  readonly name: string;
}

/**
 * All games, one row each, in the order of their ids. Games that were left out have a row, too, so that
 * their covers can be left out.
 */
export interface Games {
  readonly rows: number;
  readonly ids: Ids;
  /** The platform's number, or {@link LEFT_OUT}. */
  readonly platform: Uint32Array;
  readonly titles: Texts;
  readonly slugs: Texts;
  /** The release year, or {@link NO_YEAR} if it is unknown. */
  readonly year: Int16Array;
  /** The distinct genres strings. */
  readonly genres: readonly (string | null)[];
  /** The index of the game's genres string in `genres`. */
  readonly genresOf: Uint32Array;
  /** Where the first part of the game's record is in the bucket of its platform in the spill file. */
  readonly headStart: Float64Array;
  readonly headLength: Uint32Array;
}

/**
 * Alternative titles of published games. They are sorted by the game's row, then by UTF-16 code unit, so
 * the order of the rows in the database does not matter. No game has the same one twice.
 */
export interface AlternativeTitles {
  /** For each title, the game's row. */
  readonly game: Uint32Array;
  readonly titles: Texts;
}

/**
 * All covers, one row each, in the order of their ids. Covers that are not published have a row, too, so
 * that a file of an unpublished cover can be told from a file whose cover does not exist.
 */
export interface Covers {
  readonly rows: number;
  readonly ids: Ids;
  /** The game's row, or {@link LEFT_OUT} for a cover that is not approved or whose game was left out. */
  readonly game: Uint32Array;
  /** The distinct regions and types. */
  readonly regions: readonly (string | null)[];
  readonly types: readonly (string | null)[];
  /** The indexes of the cover's region and type in `regions` and `types`. */
  readonly region: Uint32Array;
  readonly type: Uint32Array;
  /** Seconds since 1970, or NaN if the time is unknown. */
  readonly approvedAt: Float64Array;
}

/** Used instead of the index of a platform, a game or a cover that is not published. */
export const LEFT_OUT = 0xffff_ffff;
export const NO_YEAR = -0x8000;
