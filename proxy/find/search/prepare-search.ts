/**
 * What a search needs besides the index. It is made once, while a generation is opened, in memory that
 * threads share.
 */
import { sharedZeros } from '../../../lib/format/index/arrays.ts';
import { checkWords } from '../../../lib/format/index/checks.ts';
import type { RecordIndex } from '../../../lib/format/index/record-index.ts';
import { type SearchIndex, textAt } from '../../../lib/format/index/search-index.ts';
import { makeSpellingIndex, type SpellingIndex } from './near-spellings.ts';
import { makeWordPairs, type WordPairs } from './phrases.ts';
import { makeRankOrders, type RankOrders } from './sets/rank-order.ts';

/** What depends only on `index/words.bin`. */
interface PreparedWords {
  readonly spellingIndex: SpellingIndex;
  readonly pairs: WordPairs;
  /** The readings that do not join the initials of a title, ascending. */
  readonly initials: Uint32Array;
}

export interface PreparedSearch extends PreparedWords {
  readonly orders: RankOrders;
}

/**
 * @param sameWords what was prepared for an earlier generation that has the same words, and as many games
 * @throws Error that names what is damaged in the words of the index
 */
export function prepareSearch(
  index: SearchIndex,
  records: RecordIndex,
  sameWords?: PreparedWords,
): PreparedSearch {
  const words = sameWords ?? prepareWords(index);
  return { ...words, orders: makeRankOrders(records, index) };
}

function prepareWords(index: SearchIndex): PreparedWords {
  checkWords(index);
  return {
    spellingIndex: makeSpellingIndex(index.words),
    pairs: makeWordPairs(index.readings),
    initials: findInitials(index),
  };
}

function findInitials({ games, words, readings, rankOfFurther }: SearchIndex): Uint32Array {
  const { words: numbers, start } = readings;
  const lengthOf = (reading: number) => start[reading + 1] - start[reading];
  const lettersOf = (reading: number) =>
    Array.from(numbers.subarray(start[reading], start[reading + 1]), (word) =>
      textAt(words, word),
    ).join('');
  const found: number[] = [];
  for (const [at, rank] of rankOfFurther.entries()) {
    const reading = games + at;
    if (lengthOf(reading) <= lengthOf(rank)) continue;
    // Strings take long to make.
    const [first, firstOfRank] = [reading, rank].map((one) => words.textStart[numbers[start[one]]]);
    if (words.text[first] !== words.text[firstOfRank]) continue;
    if (lettersOf(reading) === lettersOf(rank)) found.push(reading);
  }
  const initials = sharedZeros(Uint32Array, found.length);
  initials.set(found);
  return initials;
}
