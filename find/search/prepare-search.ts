/**
 * What a search needs besides the index. It is made once, while the index is opened, in memory that
 * threads share.
 */
import { sharedZeros } from '../../lib/columns/arrays.ts';
import { textAt } from '../../lib/columns/postings.ts';
import { makeSpellingIndex, type SpellingIndex } from './near-spellings.ts';
import type { SearchedGames, SearchIndex } from './open.ts';
import { makeWordPairs, type WordPairs } from './phrases.ts';
import { makeRankOrders, type RankOrders } from './sets/rank-order.ts';

/** What depends only on `index/words.bin`. */
interface PreparedWords {
  readonly spellingIndex: SpellingIndex;
  readonly pairs: WordPairs;
  /** The variants in which the initials of a title are words of their own; ascending. */
  readonly spelledOut: Uint32Array;
}

export interface PreparedSearch extends PreparedWords {
  readonly orders: RankOrders;
}

/**
 * @param sameWords what was prepared for an earlier index that has the same words, and as many games
 */
export function prepareSearch(
  index: SearchIndex,
  catalogue: SearchedGames,
  sameWords?: PreparedWords,
): PreparedSearch {
  const words = sameWords ?? prepareWords(index);
  return { ...words, orders: makeRankOrders(catalogue, index) };
}

function prepareWords(index: SearchIndex): PreparedWords {
  return {
    spellingIndex: makeSpellingIndex(index.words),
    pairs: makeWordPairs(index.variants),
    spelledOut: findSpelledOut(index),
  };
}

function findSpelledOut({ games, words, variants, rankOfFurther }: SearchIndex): Uint32Array {
  const { words: numbers, start } = variants;
  const lengthOf = (variant: number) => start[variant + 1] - start[variant];
  const lettersOf = (variant: number) =>
    Array.from(numbers.subarray(start[variant], start[variant + 1]), (word) =>
      textAt(words, word),
    ).join('');
  const found: number[] = [];
  for (const [at, rank] of rankOfFurther.entries()) {
    const variant = games + at;
    if (lengthOf(variant) <= lengthOf(rank)) continue;
    // Strings take long to make.
    const [first, firstOfRank] = [variant, rank].map((one) => words.textStart[numbers[start[one]]]);
    if (words.text[first] !== words.text[firstOfRank]) continue;
    if (lettersOf(variant) === lettersOf(rank)) found.push(variant);
  }
  const spelledOut = sharedZeros(Uint32Array, found.length);
  spelledOut.set(found);
  return spelledOut;
}
