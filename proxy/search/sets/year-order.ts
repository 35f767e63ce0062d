/**
 * Makes pages in the order of years, without sorting. Games of the same year are in title order. Games
 * without a year come last in both directions.
 */
import type { SearchIndex } from '../../../format/index/search-index.ts';
import { bitAt } from './bits.ts';
import { isDense, type NumberSet, toBits } from './number-set.ts';

export interface YearOrder {
  /** A page of a set, which must contain at least `start + count` ranks. */
  pageOf(found: NumberSet, newestFirst: boolean, start: number, count: number): number[];
  /** A page of all games, of which there must be at least `start + count`. */
  pageOfAll(newestFirst: boolean, start: number, count: number): number[];
}

export function makeYearOrder(index: SearchIndex): YearOrder {
  const { games, years, yearOfRank, ranksByYear, yearStart } = index;

  // One pass counts the games of each year. Another computes the position of each rank and keeps those
  // on the page.
  function pageOfList(
    list: Uint32Array,
    newestFirst: boolean,
    start: number,
    count: number,
  ): number[] {
    const counts = new Uint32Array(years.length + 1);
    for (let i = 0; i < list.length; i++) counts[yearOfRank[list[i]]]++;
    const next = startsOf(counts, newestFirst);
    const ranks = new Array<number>(count).fill(0);
    for (let i = 0, missing = count; missing > 0; i++) {
      const rank = list[i];
      const position = next[yearOfRank[rank]]++;
      if (position < start || position >= start + count) continue;
      ranks[position - start] = rank;
      missing--;
    }
    return ranks;
  }

  // Walks through all games year by year, and counts those in the set up to the end of the page.
  function pageOfBits(
    bits: Uint32Array,
    newestFirst: boolean,
    start: number,
    count: number,
  ): number[] {
    const ranks: number[] = [];
    let before = 0;
    for (const year of yearsInOrder(newestFirst)) {
      const to = yearStart[year + 1];
      for (let at = yearStart[year]; at < to; at++) {
        const rank = ranksByYear[at];
        const isIn = bitAt(bits, rank);
        if (isIn === 1 && before >= start) {
          ranks.push(rank);
          if (ranks.length === count) return ranks;
        }
        before += isIn;
      }
    }
    return ranks;
  }

  /** For each year, the position of its first game. */
  function startsOf(counts: Uint32Array, newestFirst: boolean): number[] {
    const starts = new Array<number>(counts.length).fill(0);
    let position = 0;
    for (const year of yearsInOrder(newestFirst)) {
      starts[year] = position;
      position += counts[year];
    }
    return starts;
  }

  /** The indexes of the years in the order of the sort; the last one stands for no year. */
  function yearsInOrder(newestFirst: boolean): number[] {
    const known = Array.from(years.keys());
    if (newestFirst) known.reverse();
    return [...known, known.length];
  }

  return {
    pageOf(found, newestFirst, start, count) {
      if (found.list !== undefined && !isDense(found.list, games)) {
        return pageOfList(found.list, newestFirst, start, count);
      }
      return pageOfBits(toBits(found, games).bits, newestFirst, start, count);
    },
    pageOfAll(newestFirst, start, count) {
      const ranks: number[] = [];
      let before = 0;
      for (const year of yearsInOrder(newestFirst)) {
        const end = yearStart[year + 1];
        const from = Math.min(yearStart[year] + Math.max(0, start - before), end);
        const to = Math.min(from + count - ranks.length, end);
        ranks.push(...ranksByYear.subarray(from, to));
        before += end - yearStart[year];
        if (ranks.length === count) break;
      }
      return ranks;
    },
  };
}
