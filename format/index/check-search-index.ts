/**
 * Checks all values of the search index that a search relies on: texts and their entries ascend, every
 * entry is a rank or a reading that exists, the words of the readings are complete and in order, and the
 * columns of years agree. The time grows linearly with the index.
 */
import { FILTER_INDEX, WORD_INDEX } from '../layout.ts';
import { checkStarts, damaged } from './damaged.ts';
import { compareReadings, makeReadingWords, type ReadingWords } from './reading-words.ts';
import {
  compareTexts,
  countReadings,
  FILTER_POSTINGS,
  type Postings,
  type SearchIndex,
  WORD_POSTINGS,
} from './search-index.ts';

/**
 * Checks the columns of `index/filters.bin`.
 * @param games how many games the generation has
 * @throws Error that names the file and its first fault
 */
export function checkFilters(index: SearchIndex, games: number): void {
  if (index.games !== games) {
    throw damaged(FILTER_INDEX, `it is made for ${index.games} games, the generation has ${games}`);
  }
  for (const name of FILTER_POSTINGS) checkPostings(index[name], games, FILTER_INDEX, name);
  checkYears(index);
}

/**
 * Checks the columns of `index/words.bin`.
 * @returns the words of every reading, which the check needs anyway
 * @throws Error that names the file and its first fault
 */
export function checkWords(index: SearchIndex): ReadingWords {
  const readings = countReadings(index);
  for (const name of WORD_POSTINGS) checkPostings(index[name], readings, WORD_INDEX, name);
  checkFurther(index);
  const readingWords = makeReadingWords(index);
  checkOrder(index, readingWords);
  return readingWords;
}

function checkFurther(index: SearchIndex): void {
  const { games, rankOfFurther, slugReadings } = index;
  let previous = 0;
  for (const rank of rankOfFurther) {
    if (rank < previous || rank >= games) {
      throw damaged(WORD_INDEX, `the ranks of "rankOfFurther" do not ascend below ${games}`);
    }
    previous = rank;
  }
  const readings = countReadings(index);
  previous = games - 1;
  for (const reading of slugReadings) {
    if (reading <= previous || reading >= readings) {
      throw damaged(WORD_INDEX, `"slugReadings" does not ascend from ${games} to ${readings}`);
    }
    previous = reading;
  }
}

/** Checks that `readingsByWords` holds each reading once, in the order of its words. */
function checkOrder({ readingsByWords }: SearchIndex, readingWords: ReadingWords): void {
  const seen = new Uint8Array(readingsByWords.length);
  for (let at = 0; at < readingsByWords.length; at++) {
    const reading = readingsByWords[at];
    const isNew = reading < seen.length && seen[reading] === 0;
    if (!isNew || (at > 0 && compareReadings(readingWords, readingsByWords[at - 1], reading) > 0)) {
      throw damaged(WORD_INDEX, '"readingsByWords" does not hold every reading once, in order');
    }
    seen[reading] = 1;
  }
}

/** Checks that texts and the entries of each ascend, and that every entry is below a number. */
export function checkPostings(list: Postings, below: number, file: string, name: string): void {
  const { text, textStart, entries, entriesStart } = list;
  checkStarts(textStart, text.length, file, `${name}.textStart`);
  checkStarts(entriesStart, entries.length, file, `${name}.ranksStart`);
  for (let index = 0; index < textStart.length - 1; index++) {
    if (index > 0 && compareTexts(list, index - 1, index) >= 0) {
      throw damaged(file, `the texts of "${name}" do not ascend`);
    }
    let previous = -1;
    for (let at = entriesStart[index]; at < entriesStart[index + 1]; at++) {
      const entry = entries[at];
      if (entry <= previous || entry >= below) {
        throw damaged(file, `the entries of a text of "${name}" do not ascend below ${below}`);
      }
      previous = entry;
    }
  }
}

/** Checks that `ranksByYear` holds each rank once, in the range of the year that `yearOfRank` gives. */
function checkYears({ games, years, yearOfRank, ranksByYear, yearStart }: SearchIndex): void {
  checkStarts(yearStart, games, FILTER_INDEX, 'yearStart');
  for (let i = 1; i < years.length; i++) {
    if (years[i] <= years[i - 1]) {
      throw damaged(FILTER_INDEX, 'its years do not ascend');
    }
  }
  for (let year = 0; year <= years.length; year++) {
    let previous = -1;
    for (let at = yearStart[year]; at < yearStart[year + 1]; at++) {
      const rank = ranksByYear[at];
      if (rank <= previous || yearOfRank[rank] !== year) {
        throw damaged(FILTER_INDEX, '"ranksByYear" and "yearOfRank" do not agree');
      }
      previous = rank;
    }
  }
}
