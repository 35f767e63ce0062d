/** The sets of ranks that texts of the index stand for; large ones are kept as bits. */
import { LRUCache } from 'lru-cache';
import { type Postings, type Run, ranksAt } from '../../format/index/search-index.ts';
import { isDense, type RankSet, toBits, union } from './rank-set.ts';

/** At a million games 8 MB. */
const MOST_DENSE_UNIONS = 64;

export interface PostingSets {
  /** The games of one text. */
  ofText(postings: Postings, index: number): RankSet;
  /** The union of the runs that `key` stands for. */
  ofRuns(key: string, runs: () => readonly Run[]): RankSet;
}

export function makePostingSets(games: number): PostingSets {
  // Each is made on first use. A list is dense only when it holds a good part of all games, so that
  // of single texts there can be but a few dozen.
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
