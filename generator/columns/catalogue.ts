/**
 * The catalogue in memory: what reading leaves there, and numbering and writing start from.
 */
import type { Ids } from './ids.ts';
import type { Texts } from './texts.ts';

export interface Platform {
  readonly slug: string;
  readonly name: string;
}

/**
 * Every game, by row in the order of ids. Those that were left out are here only so that their covers
 * can be left out, too.
 */
export interface Games {
  readonly rows: number;
  readonly ids: Ids;
  /** The platform's number, or {@link LEFT_OUT}. */
  readonly platform: Uint32Array;
  readonly titles: Texts;
  readonly slugs: Texts;
  /** {@link NO_YEAR} where it is unknown. */
  readonly year: Int16Array;
  readonly genres: readonly (string | null)[];
  readonly genresOf: Uint32Array;
  /** The position of each game's record up to its publisher, in its platform's bucket of the spill file. */
  readonly headStart: Float64Array;
  readonly headLength: Uint32Array;
}

/** Every cover, by row in the order of ids. Hidden ones are here only so that their files are known. */
export interface Covers {
  readonly rows: number;
  readonly ids: Ids;
  /** The game's row, or {@link LEFT_OUT} for a cover that is not approved or whose game was left out. */
  readonly game: Uint32Array;
  readonly regions: readonly (string | null)[];
  readonly types: readonly (string | null)[];
  readonly region: Uint32Array;
  readonly type: Uint32Array;
  /** Seconds since 1970; NaN where it is unknown. */
  readonly approvedAt: Float64Array;
}

/** Stands for a platform, a game or a cover that is not published. */
export const LEFT_OUT = 0xffff_ffff;
export const NO_YEAR = -0x8000;
