/** What a search needs besides the index. It is made once, while a generation is opened. */
import { checkWords } from '../../format/index/check-search-index.ts';
import { areEqual } from '../../format/index/compare-slices.ts';
import type { ReadingWords } from '../../format/index/reading-words.ts';
import type { RecordIndex } from '../../format/index/record-index.ts';
import type { Postings, SearchIndex } from '../../format/index/search-index.ts';
import { type FrequentPairs, makeFrequentPairs } from './patterns/frequent-pairs.ts';
import { makeVocabularyTables, type VocabularyTables } from './patterns/vocabulary.ts';
import { makeRankOrders, type RankOrders } from './sets/rank-order.ts';
import {
  makeSpellingIndex,
  moveSpellingIndex,
  type SpellingIndex,
} from './spelling/spelling-index.ts';

/** All of it is in memory that threads share. */
export interface PreparedSearch {
  readonly readingWords: ReadingWords;
  readonly orders: RankOrders;
  readonly spellingIndex: SpellingIndex;
  readonly vocabulary: VocabularyTables;
  readonly frequentPairs: FrequentPairs;
}

/** An index that was checked, and what was prepared for it. */
export interface EarlierSearch {
  readonly index: SearchIndex;
  readonly prepared: PreparedSearch;
}

/**
 * @param before what was prepared for an earlier index: what depends only on words or readings that are
 * the same is used again. After most changes, that saves three quarters of the time.
 * @throws Error that names what is damaged in the words of the index
 */
export function prepareSearch(
  index: SearchIndex,
  records: RecordIndex,
  before?: EarlierSearch,
): PreparedSearch {
  const { words } = index;
  const readingWords = checkWords(index);
  const orders = makeRankOrders(readingWords, records);
  const hasSameWords = before !== undefined && haveSameWords(words, before.index.words);
  const spellingIndex = hasSameWords
    ? moveSpellingIndex(before.prepared.spellingIndex, words)
    : makeSpellingIndex(words);
  const hasSameReadings =
    hasSameWords &&
    areEqual(words.entriesStart, before.index.words.entriesStart) &&
    haveSameReadings(readingWords, before.prepared.readingWords);
  const { vocabulary, frequentPairs } = hasSameReadings
    ? before.prepared
    : {
        vocabulary: makeVocabularyTables(words, readingWords),
        frequentPairs: makeFrequentPairs(words, readingWords),
      };
  return { readingWords, orders, spellingIndex, vocabulary, frequentPairs };
}

/**
 * As {@link prepareSearch}, for other records whose search index has the same words.
 * @param before what was prepared for those words
 */
export function prepareAgain(
  before: PreparedSearch,
  { words }: SearchIndex,
  records: RecordIndex,
): PreparedSearch {
  return {
    ...before,
    orders: makeRankOrders(before.readingWords, records),
    spellingIndex: moveSpellingIndex(before.spellingIndex, words),
  };
}

function haveSameWords(a: Postings, b: Postings): boolean {
  return areEqual(a.text, b.text) && areEqual(a.textStart, b.textStart);
}

function haveSameReadings(a: ReadingWords, b: ReadingWords): boolean {
  return areEqual(a.words, b.words) && areEqual(a.start, b.start);
}
