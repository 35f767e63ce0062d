/**
 * The search index. The proxy finds the games for a query in it without reading records. A game is
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

import { firstIndex } from '../../lib/columns/arrays.ts';
import { type ColumnReader, openColumns } from '../../lib/columns/container.ts';
import { FILTER_INDEX, WORD_INDEX } from '../../lib/format/layout.ts';

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

/** Texts in ascending order of their code units, each with ascending entries: ranks or variants. */
export interface Postings {
  readonly text: Uint16Array;
  /** Where each text starts, and at the end the length of `text`. */
  readonly textStart: Uint32Array;
  /** The entries of all texts. */
  readonly entries: Uint32Array;
  /** Where the entries of each text start, and at the end their number. */
  readonly entriesStart: Uint32Array;
}

/** The columns of `index/words.bin`, which change with a title, a path, or the number of games. */
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

/** The columns of `index/filters.bin`, which change with other values of games, and with covers. */
export interface FilterIndex {
  /** The regions and types of the approved covers, and the genres strings, in lower case, with ranks. */
  readonly regions: Postings;
  readonly types: Postings;
  readonly genres: Postings;
  /** The distinct release years, ascending. */
  readonly years: Int32Array;
  /** For each rank, the index of its year in `years`, or `years.length` if it has none. */
  readonly yearOfRank: Uint16Array;
}

export interface SearchIndex extends WordIndex, FilterIndex {
  /** How many games there are. */
  readonly games: number;
}

/** How many characters (code points) an ending has at most. */
export const LONGEST_ENDING = 100;

/**
 * Opens both files of the search index.
 * @param contentOf returns the content of a file by its name
 * @param games how many games there are
 * @throws Error that names what is damaged
 */
export function openSearchIndex(
  contentOf: (name: string) => Uint8Array,
  games: number,
): SearchIndex {
  const words = openWordIndex(contentOf(WORD_INDEX), games);
  return { games, ...words, ...openFilterIndex(contentOf(FILTER_INDEX), games) };
}

/** @throws Error that names what is damaged */
export function openWordIndex(content: Uint8Array, games: number): WordIndex {
  const column = openColumns(content, WORD_INDEX);
  const rankOfFurther = column('rankOfFurther', 'u32');
  const variants = games + rankOfFurther.length;
  const start = column('variants.start', 'u32', variants + 1);
  return {
    words: openPostings(column, 'words'),
    endings: openPostings(column, 'endings'),
    variants: { words: column('variants.words', 'u32', start[variants]), start },
    rankOfFurther,
    slugVariants: column('slugVariants', 'u32'),
    variantsByWords: column('variantsByWords', 'u32', variants),
  };
}

/** @throws Error that names what is damaged */
function openFilterIndex(content: Uint8Array, games: number): FilterIndex {
  const column = openColumns(content, FILTER_INDEX);
  return {
    regions: openPostings(column, 'regions'),
    types: openPostings(column, 'types'),
    genres: openPostings(column, 'genres'),
    years: column('years', 'i32'),
    yearOfRank: column('yearOfRank', 'u16', games),
  };
}

/** @throws Error that names what is damaged */
export function openPostings(column: ColumnReader, name: string): Postings {
  const textStart = column(`${name}.textStart`, 'u32');
  const entriesStart = column(`${name}.entriesStart`, 'u32', textStart.length);
  return {
    text: column(`${name}.text`, 'u16', textStart.at(-1)),
    textStart,
    entries: column(`${name}.entries`, 'u32', entriesStart.at(-1)),
    entriesStart,
  };
}

export function textCount({ textStart }: Pick<Postings, 'textStart'>): number {
  return textStart.length - 1;
}

/** The text at an index of a list. */
export function textAt(
  { text, textStart }: Pick<Postings, 'text' | 'textStart'>,
  index: number,
): string {
  const start = text.byteOffset + textStart[index] * text.BYTES_PER_ELEMENT;
  const length = (textStart[index + 1] - textStart[index]) * text.BYTES_PER_ELEMENT;
  return Buffer.from(text.buffer, start, length).toString('utf16le');
}

/**
 * The entries of the texts at the indexes from `from` (inclusive) to `to` (exclusive), as a view of the
 * column. By default those of one text, which ascend.
 */
export function entriesAt(
  { entries, entriesStart }: Postings,
  from: number,
  to = from + 1,
): Uint32Array {
  return entries.subarray(entriesStart[from], entriesStart[to]);
}

/** The index of a text in a list, or -1. */
export function findText(list: Postings, wanted: string): number {
  const index = lowerBound(list, wanted);
  return index < textCount(list) && compareText(list, index, wanted) === 0 ? index : -1;
}

/** The range of indexes of the texts that begin with a prefix: `from` inclusive, `to` exclusive. */
export function findPrefix(list: Postings, prefix: string): [from: number, to: number] {
  const from = lowerBound(list, prefix);
  const { length } = prefix;
  const isAfter = (at: number) => compareText(list, at, prefix, length) > 0;
  return [from, firstIndex(from, textCount(list), isAfter)];
}

function lowerBound(list: Postings, wanted: string): number {
  return firstIndex(0, textCount(list), (at) => compareText(list, at, wanted) >= 0);
}

/**
 * Negative, zero or positive: compares the text at an index with another text by code units.
 * @param most how many code units of the text at the index count
 */
export function compareText(
  { text, textStart }: { readonly text: Uint8Array | Uint16Array; readonly textStart: Uint32Array },
  index: number,
  wanted: string,
  most = Number.POSITIVE_INFINITY,
): number {
  const start = textStart[index];
  const length = Math.min(textStart[index + 1] - start, most);
  const shared = Math.min(length, wanted.length);
  for (let i = 0; i < shared; i++) {
    const difference = text[start + i] - wanted.charCodeAt(i);
    if (difference !== 0) return difference;
  }
  return length - wanted.length;
}
