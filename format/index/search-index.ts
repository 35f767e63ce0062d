/**
 * The search index. The proxy finds the games for a query in it without reading records. A game is
 * identified by its *rank*, its index in title order, so an ascending list of ranks is sorted by title.
 *
 * A game is found by the words of its *readings*: the words of its title, and of other spellings of it.
 * The first reading of a game, that of its title, has the game's rank as its number. Further readings
 * follow.
 *
 * Each list of postings has four columns: its texts, concatenated as UTF-16 code units; the start of
 * each text; the entries of all texts, concatenated; the start of each text's entries. Entries are ranks
 * of games, or numbers of readings.
 */
import { FILTER_INDEX, WORD_INDEX } from '../layout.ts';
import { compareSlices, firstIndex } from './arrays.ts';
import { type Column, type Columns, column, columnsOf, damaged, openColumns } from './columns.ts';

/** Texts in ascending order of their code units, each with ascending entries: ranks or readings. */
export interface Postings {
  readonly text: Uint16Array;
  /** Where each text starts, and at the end the length of `text`. */
  readonly textStart: Uint32Array;
  /** The entries of all texts. In the file, this column is called `ranks`. */
  readonly entries: Uint32Array;
  /** Where the entries of each text start, and at the end their number. In the file: `ranksStart`. */
  readonly entriesStart: Uint32Array;
}

/** The columns of `index/words.bin`: what changes with a title, a path, or the number of games. */
export interface WordIndex {
  /** Every word of the readings, each with the readings that have it. */
  readonly words: Postings;
  /**
   * Every suffix of at least two characters, the whole word included, of each word in a script without
   * spaces, cut to {@link LONGEST_ENDING} characters, each with readings. So a query can match inside a
   * word.
   */
  readonly endings: Postings;
  /** Parallel to `words.entries`: the first position of the word in the reading, at most 255. */
  readonly wordPositions: Uint8Array;
  /** Three entries for each further time that a reading has a word: reading, position, word. */
  readonly repeatedWords: Uint32Array;
  /** For each reading that is not the first of its game, the rank of its game; ascending. */
  readonly rankOfFurther: Uint32Array;
  /** The readings that are the words of a slug and of no title, ascending. None is the first of its game. */
  readonly slugReadings: Uint32Array;
  /** The numbers of all readings, ordered by the numbers of their words. */
  readonly readingsByWords: Uint32Array;
}

/** The columns of `index/filters.bin`: what changes with other values of games, and with covers. */
export interface FilterIndex {
  /** The regions and types of the approved covers, and the genres strings, in lower case, with ranks. */
  readonly regions: Postings;
  readonly types: Postings;
  readonly genres: Postings;
  /** The distinct release years, ascending. */
  readonly years: Int32Array;
  /** For each rank, the index of its year in `years`, or `years.length` if it has none. */
  readonly yearOfRank: Uint16Array;
  /** Every rank, sorted by year, then by rank; ranks without a year are last. */
  readonly ranksByYear: Uint32Array;
  /**
   * Where the ranks of each year start in `ranksByYear`. The last two entries: where the ranks without a
   * year start, and the end.
   */
  readonly yearStart: Uint32Array;
}

export interface SearchIndex extends WordIndex, FilterIndex {
  /** How many games there are. */
  readonly games: number;
}

/** How many characters (code points) an ending has at most. */
export const LONGEST_ENDING = 100;

/** The names of the lists of postings in each file. */
export const WORD_POSTINGS = ['words', 'endings'] as const;
export const FILTER_POSTINGS = ['regions', 'types', 'genres'] as const;

/** The columns of an index file, for {@link encodeColumns}: its own, and those of its lists of postings. */
export function indexColumns<T extends object>(
  index: {
    [Name in keyof T]: Column | Postings;
  },
): Record<string, Column> {
  const columns: Record<string, Column> = {};
  for (const [name, value] of Object.entries<Column | Postings>(index)) {
    if (ArrayBuffer.isView(value)) columns[name] = value;
    else {
      columns[`${name}.text`] = value.text;
      columns[`${name}.textStart`] = value.textStart;
      columns[`${name}.ranks`] = value.entries;
      columns[`${name}.ranksStart`] = value.entriesStart;
    }
  }
  return columns;
}

/**
 * Opens both files of the search index.
 * @param contentOf returns the content of a file by its name
 * @throws Error that names what is damaged
 */
export function openSearchIndex(contentOf: (name: string) => Uint8Array): SearchIndex {
  const filters = openFilterIndex(contentOf(FILTER_INDEX));
  const games = filters.yearOfRank.length;
  const index = { ...openWordIndex(contentOf(WORD_INDEX)), ...filters, games };
  if (index.readingsByWords.length !== countReadings(index)) throw wrongReadings();
  return index;
}

/** @throws Error that names what is damaged */
export function openFilterIndex(content: Uint8Array): FilterIndex {
  const columns = openColumns(content, FILTER_INDEX);
  const u32 = Uint32Array;
  const ofYears = { years: Int32Array, yearOfRank: Uint16Array, ranksByYear: u32, yearStart: u32 };
  const index = {
    regions: openPostings(columns, FILTER_INDEX, 'regions'),
    types: openPostings(columns, FILTER_INDEX, 'types'),
    genres: openPostings(columns, FILTER_INDEX, 'genres'),
    ...columnsOf(columns, ofYears, FILTER_INDEX),
  };
  const { years, yearOfRank, ranksByYear, yearStart } = index;
  if (ranksByYear.length !== yearOfRank.length || yearStart.length !== years.length + 2) {
    throw damaged(FILTER_INDEX, 'its year columns have inconsistent lengths');
  }
  return index;
}

/** @throws Error that names what is damaged */
export function openWordIndex(content: Uint8Array): WordIndex {
  const columns = openColumns(content, WORD_INDEX);
  const u32 = Uint32Array;
  const ofReadings = { rankOfFurther: u32, slugReadings: u32, readingsByWords: u32 };
  const ofWords = { wordPositions: Uint8Array, repeatedWords: u32 };
  const words = openPostings(columns, WORD_INDEX, 'words');
  const endings = openPostings(columns, WORD_INDEX, 'endings');
  const others = columnsOf(columns, { ...ofWords, ...ofReadings }, WORD_INDEX);
  const { wordPositions, repeatedWords } = others;
  if (wordPositions.length !== words.entries.length || repeatedWords.length % 3 !== 0) {
    throw wrongReadings();
  }
  return { words, endings, ...others };
}

/** @throws Error that names what is damaged */
export function openPostings(columns: Columns, file: string, name: string): Postings {
  const text = column(columns, `${name}.text`, Uint16Array, file);
  const textStart = column(columns, `${name}.textStart`, Uint32Array, file);
  const entries = column(columns, `${name}.ranks`, Uint32Array, file);
  const entriesStart = column(columns, `${name}.ranksStart`, Uint32Array, file);
  const isConsistent =
    textStart.length > 0 &&
    textStart.length === entriesStart.length &&
    textStart.at(-1) === text.length &&
    entriesStart.at(-1) === entries.length;
  if (!isConsistent) throw damaged(file, `the columns of "${name}" have inconsistent lengths`);
  return { text, textStart, entries, entriesStart };
}

/**
 * A range of `entries`, from `from` (inclusive) to `to` (exclusive), that holds one or more ascending
 * lists. It is not a subarray: making one for each of thousands of lists takes longer than reading them.
 */
export interface Run {
  readonly entries: Uint32Array;
  readonly from: number;
  readonly to: number;
}

/** How many readings there are. */
export function countReadings({
  games,
  rankOfFurther,
}: Pick<SearchIndex, 'games' | 'rankOfFurther'>): number {
  return games + rankOfFurther.length;
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

/** The ascending entries of the text at an index, as a view of the column. */
export function entriesAt({ entries, entriesStart }: Postings, index: number): Uint32Array {
  return entries.subarray(entriesStart[index], entriesStart[index + 1]);
}

/** The entries of the texts at the indexes from `from` (inclusive) to `to` (exclusive). */
export function runBetween({ entries, entriesStart }: Postings, from: number, to: number): Run {
  return { entries, from: entriesStart[from], to: entriesStart[to] };
}

/** The index of a text in a list, or -1. */
export function findText(list: Postings, wanted: string): number {
  const index = lowerBound(list, wanted);
  return index < textCount(list) && compareText(list, index, wanted) === 0 ? index : -1;
}

/** The range of indexes of the texts that begin with a prefix: `from` inclusive, `to` exclusive. */
export function findPrefix(list: Postings, prefix: string): [from: number, to: number] {
  const from = lowerBound(list, prefix);
  return [from, firstIndex(from, textCount(list), (at) => !hasPrefix(list, at, prefix))];
}

function lowerBound(list: Postings, wanted: string): number {
  return firstIndex(0, textCount(list), (at) => compareText(list, at, wanted) >= 0);
}

/** Negative, zero or positive: compares the text at an index with another text by code units. */
function compareText({ text, textStart }: Postings, index: number, wanted: string): number {
  const start = textStart[index];
  const length = textStart[index + 1] - start;
  const shared = Math.min(length, wanted.length);
  for (let i = 0; i < shared; i++) {
    const difference = text[start + i] - wanted.charCodeAt(i);
    if (difference !== 0) return difference;
  }
  return length - wanted.length;
}

/** Negative, zero or positive: compares two texts of a list by code units. */
export function compareTexts(
  { text, textStart }: Postings,
  index: number,
  otherIndex: number,
): number {
  return compareSlices(text, textStart, index, otherIndex);
}

function hasPrefix({ text, textStart }: Postings, index: number, prefix: string): boolean {
  const start = textStart[index];
  if (textStart[index + 1] - start < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) {
    if (text[start + i] !== prefix.charCodeAt(i)) return false;
  }
  return true;
}

function wrongReadings(): Error {
  return damaged(WORD_INDEX, 'the columns of its readings have inconsistent lengths');
}
