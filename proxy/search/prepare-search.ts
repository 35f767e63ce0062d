/** What a search needs besides the index. It is made once, while a generation is opened. */
import { checkSearchIndex } from '../../format/index/check-search-index.ts';
import type { ReadingWords } from '../../format/index/reading-words.ts';
import type { RecordIndex } from '../../format/index/record-index.ts';
import type { SearchIndex } from '../../format/index/search-index.ts';
import { type FrequentPairs, makeFrequentPairs } from './patterns/frequent-pairs.ts';
import { makeVocabularyTables, type VocabularyTables } from './patterns/vocabulary.ts';
import { makeRankOrders, type RankOrders } from './sets/rank-order.ts';
import { makeSpellingIndex, type SpellingIndex } from './spelling/spelling-index.ts';

/** All of it is in memory that threads share. */
export interface PreparedSearch {
  readonly readingWords: ReadingWords;
  readonly orders: RankOrders;
  readonly spellingIndex: SpellingIndex;
  readonly vocabulary: VocabularyTables;
  readonly frequentPairs: FrequentPairs;
}

/** @throws Error that names what is damaged in the index */
export function prepareSearch(index: SearchIndex, records: RecordIndex): PreparedSearch {
  const readingWords = checkSearchIndex(index, records.games.byteLength.length);
  return {
    readingWords,
    orders: makeRankOrders(readingWords, records),
    spellingIndex: makeSpellingIndex(index.words),
    vocabulary: makeVocabularyTables(index.words, readingWords),
    frequentPairs: makeFrequentPairs(index.words, readingWords),
  };
}

/**
 * As {@link prepareSearch}, for other records with the same search index.
 * @param before what was prepared for that index
 */
export function prepareAgain(before: PreparedSearch, records: RecordIndex): PreparedSearch {
  return { ...before, orders: makeRankOrders(before.readingWords, records) };
}
