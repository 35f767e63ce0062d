/**
 * Indexes the readings of all titles: the postings of their words, the positions of the words, and the
 * readings in the order of their words.
 */

import {
  compareReadings,
  MOST_POSITIONS,
  type ReadingWords,
} from '../../format/index/reading-words.ts';
import { equals, needsSlug, readingsOf } from '../../format/index/readings.ts';
import {
  entriesAt,
  LONGEST_ENDING,
  type Postings,
  type SearchIndex,
  textAt,
  textCount,
} from '../../format/index/search-index.ts';
import { isScriptWithoutSpaces, plainWordsOf } from '../../format/index/words.ts';
import type { AlternativeTitles, Games } from '../columns/catalogue.ts';
import { makeNumberList } from '../columns/number-list.ts';
import { makeStringTable } from '../columns/string-table.ts';
import { openTexts } from '../columns/texts.ts';
import { startsOf } from '../order/numbering.ts';
import { sortRange } from '../order/sort-range.ts';
import type { RelatedGames } from '../reuse/reuse.ts';
import { freeMemory } from '../worker/free-memory.ts';
import { openEarlierReadings, type ReadingsOfGame } from './earlier-readings.ts';
import { invert, makeGrowingLists, makePostings, type TextLists } from './postings.ts';

type ReadingColumns = Pick<
  SearchIndex,
  | 'words'
  | 'endings'
  | 'wordPositions'
  | 'repeatedWords'
  | 'rankOfFurther'
  | 'slugReadings'
  | 'readingsByWords'
>;

export interface IndexedReadings {
  readonly columns: ReadingColumns;
  /** Parallel to `columns.words.entries`: how often the word is in the reading. */
  readonly frequencies: Uint8Array;
  /** For each rank, how many different words the first reading has. */
  readonly wordCounts: Uint16Array;
}

/** @param earlier games of an earlier run that had the same alternative titles */
export function indexReadings(
  games: Games,
  alternativeTitles: AlternativeTitles,
  rowOfRank: Uint32Array,
  earlier?: RelatedGames,
): IndexedReadings {
  const { sorted, words, rankOfFurther, slugReadings } = numberWords(
    games,
    alternativeTitles,
    rowOfRank,
    earlier,
  );
  // The table of words is not needed any more.
  freeMemory();
  const repeatedWords = makeNumberList();
  const { postings, frequencies, positions, distinct } = invert(
    sorted,
    words,
    (reading, position, word) => {
      if (position < MOST_POSITIONS) {
        for (const number of [reading, position, word]) repeatedWords.push(number);
      }
    },
  );
  const endings = indexEndings(postings);
  freeMemory();
  return {
    columns: {
      words: postings,
      endings,
      wordPositions: positions,
      repeatedWords: repeatedWords.view(),
      rankOfFurther,
      slugReadings,
      readingsByWords: sortReadings(withPositions(words)),
    },
    frequencies,
    wordCounts: distinct.subarray(0, rowOfRank.length),
  };
}

/** The words of all readings as indexes of the sorted words: first the words of the first readings. */
function numberWords(
  games: Games,
  alternativeTitles: AlternativeTitles,
  rowOfRank: Uint32Array,
  earlier: RelatedGames | undefined,
) {
  const { table, first, further, rankOfFurther, slugReadings } = collectWords(
    games,
    alternativeTitles,
    rowOfRank,
    earlier,
  );
  // The readings of the earlier generation are not needed any more.
  freeMemory();
  first.append(further);
  const { orderOf, ...sorted } = table.sorted();
  return {
    sorted,
    words: first.inOrder(orderOf),
    rankOfFurther: rankOfFurther.view(),
    slugReadings: slugReadings.view(),
  };
}

/** The words of the first and of the further readings, each in the order of ranks, as numbers in a table. */
function collectWords(
  games: Games,
  alternativeTitles: AlternativeTitles,
  rowOfRank: Uint32Array,
  earlier: RelatedGames | undefined,
) {
  const titleAt = openTexts(games.titles);
  const slugAt = openTexts(games.slugs, 'latin1');
  const alternativesOf = openAlternatives(alternativeTitles, games.rows);
  const table = makeStringTable();
  const earlierReadings = earlier && openEarlierReadings(earlier, table.numberOf);
  const readingsIn = (row: number): ReadingsOfGame<number> => {
    const known = earlierReadings?.(row);
    if (known !== undefined) return known;
    const made = readingsOfGame(titleAt(row), () => slugAt(row), alternativesOf(row));
    return { ...made, readings: made.readings.map((words) => words.map(table.numberOf)) };
  };
  const first = makeGrowingLists();
  const further = makeGrowingLists();
  const rankOfFurther = makeNumberList();
  const slugReadings = makeNumberList();
  rowOfRank.forEach((row, rank) => {
    const { readings, endsWithSlug } = readingsIn(row);
    const [reading, ...others] = readings;
    for (const word of reading) first.add(word);
    first.endEntry();
    for (const other of others) {
      for (const word of other) further.add(word);
      further.endEntry();
      rankOfFurther.push(rank);
    }
    if (endsWithSlug) slugReadings.push(rowOfRank.length + rankOfFurther.length() - 1);
  });
  return { table, first, further, rankOfFurther, slugReadings };
}

function readingsOfGame(
  title: string,
  slugOf: () => string,
  alternatives: readonly string[],
): ReadingsOfGame<string> {
  const [first = [], ...others] = readingsOf(title);
  const readings = [first];
  const add = (reading: string[]): boolean => {
    const isNew = reading.length > 0 && !readings.some((known) => equals(known, reading));
    if (isNew) readings.push(reading);
    return isNew;
  };
  for (const reading of others) add(reading);
  for (const alternative of alternatives)
    for (const reading of readingsOf(alternative)) add(reading);
  return { readings, endsWithSlug: needsSlug(title) && add(plainWordsOf(slugOf())) };
}

/** @returns a function that returns the alternative titles of the game in a row */
function openAlternatives(
  { game, titles }: AlternativeTitles,
  rows: number,
): (row: number) => readonly string[] {
  if (game.length === 0) return () => [];
  const titleAt = openTexts(titles);
  const start = startsOf(game, rows);
  return (row) =>
    Array.from({ length: start[row + 1] - start[row] }, (_, i) => titleAt(start[row] + i));
}

/** Indexes the endings of the words in scripts without spaces: the readings that have each of them. */
function indexEndings(words: Postings): Postings {
  const builder = makePostings();
  const wordsWithEndings = makeNumberList();
  for (let word = 0; word < textCount(words); word++) {
    const text = textAt(words, word);
    if (!isScriptWithoutSpaces(text)) continue;
    for (const ending of endingsIn(text)) builder.add(builder.numberOf(ending));
    builder.endEntry();
    wordsWithEndings.push(word);
  }
  const wordOf = wordsWithEndings.view();
  const endings = builder.build();
  const entries = makeNumberList();
  const entriesStart = new Uint32Array(endings.textStart.length);
  for (let ending = 0; ending < textCount(endings); ending++) {
    const readings = new Set<number>();
    for (const entry of entriesAt(endings, ending)) {
      for (const reading of entriesAt(words, wordOf[entry])) readings.add(reading);
    }
    for (const reading of Uint32Array.from(readings).sort()) entries.push(reading);
    entriesStart[ending + 1] = entries.length();
  }
  return { ...endings, entries: entries.view(), entriesStart };
}

/** Every suffix of a word that has at least two characters, cut to the longest ending. */
function endingsIn(word: string): string[] {
  const characters = [...word];
  return characters
    .slice(0, -1)
    .map((_, from) => characters.slice(from, from + LONGEST_ENDING).join(''));
}

/** The words of the readings, without those that have no position because too many precede them. */
function withPositions({ texts, start }: TextLists): ReadingWords {
  const readings = start.length - 1;
  const lengthOf = (reading: number) => start[reading + 1] - start[reading];
  let longest = 0;
  for (let reading = 0; reading < readings; reading++) {
    longest = Math.max(longest, lengthOf(reading));
  }
  if (longest <= MOST_POSITIONS) return { words: texts, start };
  const cut = makeGrowingLists();
  for (let reading = 0; reading < readings; reading++) {
    const end = start[reading] + Math.min(lengthOf(reading), MOST_POSITIONS);
    for (let at = start[reading]; at < end; at++) cut.add(texts[at]);
    cut.endEntry();
  }
  const { texts: words, ...others } = cut.lists();
  return { words, ...others };
}

function sortReadings(words: ReadingWords): Uint32Array {
  const readings = Uint32Array.from({ length: words.start.length - 1 }, (_, reading) => reading);
  sortRange(readings, 0, readings.length, (a, b) => compareReadings(words, a, b) || a - b);
  return readings;
}
