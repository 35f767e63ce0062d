/**
 * What a search needs besides the index. It is made once, while a generation is opened, in memory that
 * threads share.
 */
import { checkWords } from '../../../lib/format/index/checks.ts';
import type { RecordIndex } from '../../../lib/format/index/record-index.ts';
import type { SearchIndex } from '../../../lib/format/index/search-index.ts';
import { makeSpellingIndex, type SpellingIndex } from './near-spellings.ts';
import { makeWordPairs, type WordPairs } from './phrases.ts';
import { makeRankOrders, type RankOrders } from './sets/rank-order.ts';

/** What depends only on `index/words.bin`. */
interface PreparedWords {
  readonly spellingIndex: SpellingIndex;
  readonly pairs: WordPairs;
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
  return { spellingIndex: makeSpellingIndex(index.words), pairs: makeWordPairs(index.readings) };
}
