/** Makes the sets of the ranks, or the readings, that have a text of the index. Large ones are kept as bits. */
import { LRUCache } from 'lru-cache';
import { entriesAt, type SearchIndex } from '../../../../lib/format/index/search-index.ts';
import { union } from './combine.ts';
import { isDense, type NumberSet } from './number-set.ts';

type ListName = 'words' | 'endings' | 'regions' | 'types' | 'genres';

export interface PostingSets {
  /** The entries of the texts of a list from `from` (inclusive) to `to` (exclusive); by default, of one. */
  ofTexts(list: ListName, from: number, to?: number): NumberSet;
  /** The union of lists. @param key identifies it in the cache */
  ofLists(key: string, lists: () => readonly Uint32Array[]): NumberSet;
}

/** With a million below, this many bitsets take 16 MB. */
const MOST_KEPT = 128;

export function makePostingSets(index: SearchIndex, below: number): PostingSets {
  const large = new LRUCache<string, NumberSet>({ max: MOST_KEPT });

  function ofLists(key: string, lists: () => readonly Uint32Array[]): NumberSet {
    const known = large.get(key);
    if (known !== undefined) return known;
    const set = union(lists(), below);
    if (set.list !== undefined) return set;
    // A copy, since the next query uses the memory of this one again.
    const kept = { bits: set.bits.slice(), atMost: set.atMost };
    large.set(key, kept);
    return kept;
  }

  return {
    ofTexts(list, from, to = from + 1) {
      const entries = entriesAt(index[list], from, to);
      if (to - from === 1 && !isDense(entries, below)) return { list: entries };
      return ofLists(`${list} ${from} ${to}`, () => [entries]);
    },
    ofLists,
  };
}
