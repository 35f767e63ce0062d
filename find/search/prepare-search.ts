/**
 * What a search needs besides the index. It is made once, while the index is opened, in memory that
 * threads share.
 */
import { sharedZeros } from '../../lib/columns/arrays.ts';
import { findText, textAt } from '../../lib/columns/postings.ts';
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
  /** The variants of titles that are not the one which is shown, however it is spelt; ascending. */
  readonly ofOthers: Uint32Array;
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
    ...sortFurther(index),
  };
}

/** What spellings of long vowels add. */
const LONG_VOWEL = /(?<=o)[ou]+|(?<=u)u+/g;

function sortFurther({
  games,
  words,
  variants,
  rankOfFurther,
  slugVariants,
}: SearchIndex): Pick<PreparedWords, 'spelledOut' | 'ofOthers'> {
  const { words: numbers, start } = variants;
  const and = findText(words, 'and');
  const lengthOf = (variant: number) => start[variant + 1] - start[variant];
  const soundOf = (text: string) => text.replace(LONG_VOWEL, '');
  const areEqual = (one: number, other: number) =>
    one === other || soundOf(textAt(words, one)) === soundOf(textAt(words, other));
  const lettersOf = (variant: number) =>
    Array.from(numbers.subarray(start[variant], start[variant + 1]), (word) =>
      textAt(words, word),
    ).join('');
  /** Whether two variants have the same words, but for "and" and long vowels. */
  const areAlike = (one: number, other: number) => {
    let [a, b] = [start[one], start[other]];
    for (; ; a++, b++) {
      while (a < start[one + 1] && numbers[a] === and) a++;
      while (b < start[other + 1] && numbers[b] === and) b++;
      if (a === start[one + 1] || b === start[other + 1])
        return a === start[one + 1] && b === start[other + 1];
      if (!areEqual(numbers[a], numbers[b])) return false;
    }
  };
  const spelledOut: number[] = [];
  const ofOthers: number[] = [];
  let nextSlug = 0;
  for (const [at, rank] of rankOfFurther.entries()) {
    const variant = games + at;
    if (variant === slugVariants[nextSlug]) {
      nextSlug++;
      continue;
    }
    // Joined texts take long to make.
    if (areAlike(variant, rank)) continue;
    const [letters, shown] = [variant, rank].map(lettersOf);
    if (letters === shown && lengthOf(variant) > lengthOf(rank)) spelledOut.push(variant);
    else if (soundOf(letters) !== soundOf(shown)) ofOthers.push(variant);
  }
  return { spelledOut: shared(spelledOut), ofOthers: shared(ofOthers) };
}

function shared(list: readonly number[]): Uint32Array {
  const copy = sharedZeros(Uint32Array, list.length);
  copy.set(list);
  return copy;
}
