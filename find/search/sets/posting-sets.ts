/** The sets of the ranks, or the variants, that have a text of the index. Large ones are kept as bits. */

import { LRUCache } from 'lru-cache';
import { entriesAt } from '../../../lib/columns/postings.ts';
import type { SearchIndex } from '../open.ts';
import type { FilterList } from '../value-filters.ts';
import { isDense, kept, type NumberSet } from './number-set.ts';
import { type QueryMemory, SetAlgebra } from './set-algebra.ts';

type ListName = 'words' | 'endings' | FilterList;

/** With a million below, this many bitsets take 16 MB. */
const MOST_KEPT = 128;

export class PostingSets<N extends number> extends SetAlgebra<N> {
  private readonly index: SearchIndex;
  private readonly large = new LRUCache<string, NumberSet<N>>({ max: MOST_KEPT });

  constructor(index: SearchIndex, below: number, memory: QueryMemory) {
    super(below, memory);
    this.index = index;
  }

  /** The entries of the texts of a list from `from` (inclusive) to `to` (exclusive); by default, of one. */
  ofTexts(list: ListName, from: number, to = from + 1): NumberSet<N> {
    const entries = entriesAt(this.index[list], from, to);
    if (to - from === 1 && !isDense(entries, this.below)) return { list: entries };
    return this.ofLists(`${list} ${from} ${to}`, () => [entries]);
  }

  /** The union of lists. @param key identifies it in the cache */
  ofLists(key: string, lists: () => readonly Uint32Array[]): NumberSet<N> {
    const known = this.large.get(key);
    if (known !== undefined) return known;
    const set = kept(this.union(lists()));
    if (set.bits !== undefined) this.large.set(key, set);
    return set;
  }
}
