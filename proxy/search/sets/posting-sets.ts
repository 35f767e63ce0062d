/** Makes the sets of the ranks, or the readings, that have a text of the index. Large ones are kept as bits. */
import { LRUCache } from 'lru-cache';
import { entriesAt, type Postings, type Run } from '../../../format/index/search-index.ts';
import { union } from './combine.ts';
import { isDense, type NumberBits, type NumberSet, toBits } from './number-set.ts';

/** With a million below, this many bitsets take 8 MB. */
const MOST_DENSE_UNIONS = 64;

export interface PostingSets {
  /** The ranks, or the readings, that have one text. */
  ofText(postings: Postings, index: number): NumberSet;
  /** The union of runs. @param key identifies the runs in the cache */
  ofRuns(key: string, runs: () => readonly Run[]): NumberSet;
}

export function makePostingSets(below: number): PostingSets {
  // Each is made on first use. The map needs no limit: a dense list has more than 1/32 of all numbers, so
  // at most a few hundred texts have one.
  const denseTexts = new Map<Postings, Map<number, NumberSet>>();
  const denseUnions = new LRUCache<string, NumberSet>({ max: MOST_DENSE_UNIONS });

  return {
    ofText(postings, index) {
      const list = entriesAt(postings, index);
      if (!isDense(list, below)) return { list };
      const known = denseTexts.get(postings) ?? new Map<number, NumberSet>();
      denseTexts.set(postings, known);
      const set = known.get(index) ?? keep(toBits({ list }, below));
      known.set(index, set);
      return set;
    },
    ofRuns(key, runs) {
      const known = denseUnions.get(key);
      if (known !== undefined) return known;
      const set = union(runs(), below);
      if (set.bits === undefined) return set;
      const kept = keep(set);
      denseUnions.set(key, kept);
      return kept;
    },
  };
}

/** A copy for later queries. */
function keep({ bits, atMost }: NumberBits): NumberBits {
  return { bits: bits.slice(), atMost };
}
