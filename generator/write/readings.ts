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
import { LONGEST_ENDING, type SearchIndex } from '../../format/index/search-index.ts';
import { isScriptWithoutSpaces, plainWordsOf } from '../../format/index/words.ts';
import type { AlternativeTitles, Games } from '../columns/catalogue.ts';
import { openTexts } from '../columns/texts.ts';
import { startsOf } from '../order/numbering.ts';
import { makePostings, type PostingsBuilder } from './postings.ts';

type ReadingColumns = Pick<
  SearchIndex,
  'words' | 'endings' | 'wordPositions' | 'repeatedWords' | 'rankOfFurther' | 'readingsByWords'
>;

export interface IndexedReadings {
  readonly columns: ReadingColumns;
  /** Parallel to `columns.words.entries`: how often the word is in the reading. */
  readonly frequencies: Uint8Array;
  /** For each rank, how many different words the first reading has. */
  readonly wordCounts: Uint16Array;
}

export function indexReadings(
  games: Games,
  alternativeTitles: AlternativeTitles,
  rowOfRank: Uint32Array,
): IndexedReadings {
  const titleAt = openTexts(games.titles);
  const slugAt = openTexts(games.slugs, 'latin1');
  const alternativesOf = openAlternatives(alternativeTitles, games.rows);
  const words = makePostings();
  const endings = makePostings();
  const repeats: { reading: number; position: number; word: number }[] = [];
  // The words of all readings, by the numbers they have before they are sorted.
  const numbers = makeNumberList();
  const start = [0];

  /** @returns how many different words the reading has */
  function add(reading: number, list: readonly string[]): number {
    let different = 0;
    for (const [at, word] of list.entries()) {
      const position = Math.min(at, MOST_POSITIONS);
      const number = words.numberOf(word);
      const isNew = words.add(number, reading, position);
      if (position < MOST_POSITIONS) {
        numbers.push(number);
        if (!isNew) repeats.push({ reading, position, word: number });
      }
      if (!isNew) continue;
      different++;
      if (isScriptWithoutSpaces(word)) addEndings(word, reading, endings);
    }
    start.push(numbers.length());
    return different;
  }

  const wordCounts = new Uint16Array(rowOfRank.length);
  const further: { rank: number; words: string[] }[] = [];
  rowOfRank.forEach((row, rank) => {
    const [first = [], ...others] = readingsOfGame(titleAt(row), slugAt(row), alternativesOf(row));
    wordCounts[rank] = add(rank, first);
    for (const other of others) further.push({ rank, words: other });
  });
  for (const [at, reading] of further.entries()) add(rowOfRank.length + at, reading.words);

  const { postings, frequencies, positions, orderOf } = words.build();
  const ordered = numbers.list().map((number) => orderOf[number]);
  return {
    columns: {
      words: postings,
      endings: endings.build().postings,
      wordPositions: positions,
      repeatedWords: Uint32Array.from(
        repeats.flatMap(({ reading, position, word }) => [reading, position, orderOf[word]]),
      ),
      rankOfFurther: Uint32Array.from(further, ({ rank }) => rank),
      readingsByWords: sortReadings({ words: ordered, start: Uint32Array.from(start) }),
    },
    frequencies,
    wordCounts,
  };
}

/** The readings of a game: those of its title come first, none is empty, and no two are equal. */
function readingsOfGame(title: string, slug: string, alternatives: readonly string[]): string[][] {
  const readings = readingsOf(title);
  if (needsSlug(title)) readings.push(plainWordsOf(slug));
  readings.push(...alternatives.flatMap((title) => readingsOf(title)));
  return readings.filter(
    (reading, at) =>
      reading.length > 0 && !readings.slice(0, at).some((earlier) => equals(earlier, reading)),
  );
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

/** Adds every suffix of a word that has at least two characters, cut to the longest ending. */
function addEndings(word: string, reading: number, endings: PostingsBuilder): void {
  const characters = [...word];
  for (let from = 0; from + 1 < characters.length; from++) {
    const ending = characters.slice(from, from + LONGEST_ENDING).join('');
    endings.add(endings.numberOf(ending), reading);
  }
}

function sortReadings(words: ReadingWords): Uint32Array {
  const readings = Uint32Array.from({ length: words.start.length - 1 }, (_, reading) => reading);
  return readings.sort((a, b) => compareReadings(words, a, b) || a - b);
}

/** A growing list of numbers that takes four bytes for each. */
function makeNumberList() {
  let numbers = new Uint32Array(1024);
  let end = 0;
  return {
    push(number: number): void {
      if (end === numbers.length) {
        const larger = new Uint32Array(end * 2);
        larger.set(numbers);
        numbers = larger;
      }
      numbers[end++] = number;
    },
    length: () => end,
    list: () => numbers.subarray(0, end),
  };
}
