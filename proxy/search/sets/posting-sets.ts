/** Makes the sets of ranks of the games that have a text of the index. Large sets are kept as bitsets. */
import { LRUCache } from 'lru-cache';
import { type Postings, type Run, ranksAt } from '../../../format/index/search-index.ts';
import { union } from './combine.ts';
import { isDense, type RankSet, toBits } from './rank-set.ts';

/** With a million games, this many bitsets take 8 MB. */
const MOST_DENSE_UNIONS = 64;

export interface PostingSets {
  /** The ranks of the games that have one text. */
  ofText(postings: Postings, index: number): RankSet;
  /** The union of runs. @param key identifies the runs in the cache */
  ofRuns(key: string, runs: () => readonly Run[]): RankSet;
}

export function makePostingSets(games: number): PostingSets {
  // Each is made on first use. The map needs no limit: a dense list contains more than 1/32 of all
  // games, so at most a few hundred texts can have one.
  const denseTexts = new Map<Postings, Map<number, RankSet>>();
  const denseUnions = new LRUCache<string, RankSet>({ max: MOST_DENSE_UNIONS });

  return {
    ofText(postings, index) {
      const list = ranksAt(postings, index);
      if (!isDense(list, games)) return { list };
      const known = denseTexts.get(postings) ?? new Map<number, RankSet>();
      denseTexts.set(postings, known);
      const set = known.get(index) ?? toBits({ list }, games);
      known.set(index, set);
      return set;
    },
    ofRuns(key, runs) {
      const known = denseUnions.get(key);
      if (known !== undefined) return known;
      const set = union(runs(), games);
      if (set.bits !== undefined) denseUnions.set(key, set);
      return set;
    },
  };
}
