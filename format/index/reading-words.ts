/**
 * The words of every reading, in order. The search index stores only the position of each word; the list
 * is made from it while a generation is opened. A word is stored as its number, its index in `words`.
 * Since `words` is sorted, numbers compare as their words do.
 */
import { WORD_INDEX } from '../layout.ts';
import { compareSlices, sharedZeros } from './arrays.ts';
import { damaged } from './columns.ts';
import { countReadings, type SearchIndex, textCount } from './search-index.ts';

/** How many words of a reading have a position. Further ones are found, but do not count as neighbours. */
export const MOST_POSITIONS = 255;

export interface ReadingWords {
  /** The numbers of the words of all readings, one reading after another. */
  readonly words: Uint32Array;
  /** Where the words of each reading start, and at the end the length of `words`. */
  readonly start: Uint32Array;
}

const NO_WORD = 0xffff_ffff;

/**
 * @returns the words in memory that threads share
 * @throws Error if a position of a reading has no word, or several
 */
export function makeReadingWords(
  index: Pick<SearchIndex, 'games' | 'words' | 'wordPositions' | 'repeatedWords' | 'rankOfFurther'>,
): ReadingWords {
  const { words: postings, wordPositions, repeatedWords } = index;
  const readings = countReadings(index);
  const start = sharedZeros(Uint32Array, readings + 1);
  for (let at = 0; at < wordPositions.length; at++) {
    if (wordPositions[at] < MOST_POSITIONS) start[postings.entries[at] + 1]++;
  }
  for (let at = 0; at < repeatedWords.length; at += 3) {
    if (repeatedWords[at] >= readings) throw wrongRepeat();
    start[repeatedWords[at] + 1]++;
  }
  for (let reading = 0; reading < readings; reading++) start[reading + 1] += start[reading];
  const words = sharedZeros(Uint32Array, start[readings]).fill(NO_WORD);

  // There are as many words as slots. If each word gets its own slot, none stays empty.
  function put(reading: number, position: number, word: number): void {
    const at = start[reading] + position;
    if (position >= MOST_POSITIONS || at >= start[reading + 1] || words[at] !== NO_WORD) {
      throw damaged(WORD_INDEX, `the words of reading ${reading} have wrong positions`);
    }
    words[at] = word;
  }
  const count = textCount(postings);
  for (let word = 0; word < count; word++) {
    for (let at = postings.entriesStart[word]; at < postings.entriesStart[word + 1]; at++) {
      if (wordPositions[at] < MOST_POSITIONS) put(postings.entries[at], wordPositions[at], word);
    }
  }
  for (let at = 0; at < repeatedWords.length; at += 3) {
    if (repeatedWords[at + 2] >= count) throw wrongRepeat();
    put(repeatedWords[at], repeatedWords[at + 1], repeatedWords[at + 2]);
  }
  return { words, start };
}

/** Negative, zero or positive: compares two readings word by word; a reading that begins another is smaller. */
export function compareReadings(
  { words, start }: ReadingWords,
  one: number,
  other: number,
): number {
  return compareSlices(words, start, one, other);
}

function wrongRepeat(): Error {
  return damaged(WORD_INDEX, '"repeatedWords" names a reading or a word that does not exist');
}
