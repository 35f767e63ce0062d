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
  /** The variants that are not the title as it is shown, however it is spelt: others and slugs; ascending. */
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

/** What a variant may have besides the title that is shown, and other spellings of its long vowels. */
const SOUND = /(?<=o)[ou]+|(?<=u)u+/g;
const NOT_SHOWN = new Set(['and', 'x']);

function sortFurther({
  games,
  words,
  variants,
  rankOfFurther,
}: SearchIndex): Pick<PreparedWords, 'spelledOut' | 'ofOthers'> {
  const { words: numbers, start } = variants;
  const lengthOf = (variant: number) => start[variant + 1] - start[variant];
  const firstLetterOf = (variant: number) => words.text[words.textStart[numbers[start[variant]]]];
  const soundOf = (variant: number) =>
    Array.from(numbers.subarray(start[variant], start[variant + 1]), (word) => textAt(words, word))
      .filter((word) => !NOT_SHOWN.has(word))
      .join('')
      .replace(SOUND, '');
  const spelledOut: number[] = [];
  const ofOthers: number[] = [];
  for (const [at, rank] of rankOfFurther.entries()) {
    const variant = games + at;
    // Strings take long to make.
    if (firstLetterOf(variant) !== firstLetterOf(rank) || soundOf(variant) !== soundOf(rank))
      ofOthers.push(variant);
    else if (lengthOf(variant) > lengthOf(rank)) spelledOut.push(variant);
  }
  return { spelledOut: shared(spelledOut), ofOthers: shared(ofOthers) };
}

function shared(list: readonly number[]): Uint32Array {
  const copy = sharedZeros(Uint32Array, list.length);
  copy.set(list);
  return copy;
}
