/**
 * The search index. The games for a query are found in it without reading records. A game is
 * identified by its *rank*, its index in title order, so an ascending list of ranks is sorted by title.
 *
 * A game is found by the words of its *variants*: the words of its title, and of other spellings of it.
 * The first variant of a game, that of its title, has the game's rank as its number. Further variants
 * follow.
 *
 * Each list of postings has four columns: its texts, concatenated as UTF-16 code units; the start of
 * each text; the entries of all texts, concatenated; the start of each text's entries. Entries are ranks
 * of games, or numbers of variants.
 */

import type { ColumnFile } from '../../lib/columns/container.ts';
import type { GameNumber, In, Lookup, Rank } from '../../lib/columns/numbers.ts';
import { openPostings, type Postings } from '../../lib/columns/postings.ts';
import { type FilterList, filterRow, VALUE_FILTER_NAMES } from './value-filters.ts';

/** The number of a variant of a title, a list of words under which its game is found. */
export type VariantNumber = In<'number of a variant'>;

/** The words of every variant, in order. */
export interface VariantWords {
  /**
   * The words of all variants, one variant after another. A word is its index in the list of words, which
   * is sorted, so numbers compare as their words do.
   */
  readonly words: Uint32Array;
  /** Where the words of each variant start, and at the end the length of `words`. */
  readonly start: Uint32Array;
}

/** The columns of the file of words, which change with a title, a path, or the number of games. */
export interface WordIndex {
  /** Every word of the variants, each with the variants that have it. */
  readonly words: Postings;
  /**
   * Every suffix of at least two characters, the whole word included, of each word in a script without
   * spaces, cut to {@link LONGEST_ENDING} characters, each with variants. So a query can match inside a
   * word.
   */
  readonly endings: Postings;
  readonly variants: VariantWords;
  /** For each variant that is not the first of its game, the rank of its game; ascending. */
  readonly rankOfFurther: Uint32Array;
  /** The variants that are the words of a slug and of no title, ascending. None is the first of its game. */
  readonly slugVariants: Uint32Array;
  /** The numbers of all variants, ordered by the numbers of their words. */
  readonly variantsByWords: Uint32Array;
}

/**
 * The columns of the file of filters, which change with other values of games, and with covers: for each list of
 * `value-filters.ts`, the values in lower case with ranks.
 */
export interface FilterIndex extends Readonly<Record<FilterList, Postings>> {
  /** The distinct release years, ascending. */
  readonly years: Int32Array;
  /** For each rank, the index of its year in `years`, or `years.length` if it has none. */
  readonly yearOfRank: Uint16Array;
}

/** Both files of the search index. */
export interface SearchFiles {
  readonly words: ColumnFile;
  readonly filters: ColumnFile;
}

export interface SearchIndex extends WordIndex, FilterIndex {
  /** How many games there are. */
  readonly games: number;
}

/** What a search needs to know of the games besides its index. */
export interface SearchedGames {
  readonly platforms: readonly {
    readonly slug: string;
    /** The number of the platform's first game, and how many games it has: numbers ascend with ranks. */
    readonly firstGame: number;
    readonly games: number;
  }[];
  readonly games: {
    readonly rank: Lookup<GameNumber, Rank>;
    readonly gameOfRank: Lookup<Rank, GameNumber>;
    /** For each game, the number of its first cover, and at the end how many covers there are. */
    readonly firstCover: Uint32Array;
  };
}

/** How many characters (code points) an ending has at most. */
export const LONGEST_ENDING = 100;

/**
 * Opens the search index. `check.ts` checks its values.
 * @param games how many games there are
 * @throws Error that names what is damaged
 */
export function openSearch(files: SearchFiles, games: number): SearchIndex {
  return { games, ...openWords(files.words, games), ...openFilters(files.filters, games) };
}

/** @throws Error that names what is damaged */
export function openWords({ column }: ColumnFile, games: number): WordIndex {
  const rankOfFurther = column('rankOfFurther', 'u32');
  const count = games + rankOfFurther.length;
  const start = column('variants.start', 'u32', count + 1);
  return {
    words: openPostings(column, 'words'),
    endings: openPostings(column, 'endings'),
    variants: { words: column('variants.words', 'u32', start[count]), start },
    rankOfFurther,
    slugVariants: column('slugVariants', 'u32'),
    variantsByWords: column('variantsByWords', 'u32', count),
  };
}

/** @throws Error that names what is damaged */
export function openFilters({ column }: ColumnFile, games: number): FilterIndex {
  const lists = VALUE_FILTER_NAMES.map((name) => {
    const { list } = filterRow(name);
    return [list, openPostings(column, list)] as const;
  });
  return {
    ...(Object.fromEntries(lists) as Record<FilterList, Postings>),
    years: column('years', 'i32'),
    yearOfRank: column('yearOfRank', 'u16', games),
  };
}
