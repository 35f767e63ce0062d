/**
 * The search engine. For a query it finds the ranks of one page and the total, without reading a record
 * and without sorting. The work is bounded by the number of games and the limit on words.
 *
 * MiniSearch's `search()` is not used: it scores and sorts every hit, which blocks the event loop for
 * tenths of a second with this many titles. Only the way it splits texts into words is used.
 */
import type { RecordIndex } from '../../format/index/record-index.ts';
import {
  findText,
  type Postings,
  runBetween,
  type SearchIndex,
} from '../../format/index/search-index.ts';
import { foldCase } from '../../format/index/words.ts';
import { makePostingSets } from './posting-sets.ts';
import type { Query, Sort } from './query.ts';
import { EMPTY, intersect, type RankSet, sizeOf, slice, union, wholeRun } from './rank-set.ts';
import type { SpellingIndex } from './spelling-index.ts';
import { joinTexts, textsWith } from './texts-with.ts';
import { makeTitleMatcher } from './title-matches.ts';
import { makeYearOrder } from './year-order.ts';

export interface Hits {
  readonly total: number;
  /** The ranks of the page, in the order of the query. */
  readonly ranks: readonly number[];
}

export interface Search {
  /** Finds at most `count` hits, after skipping the first `start`. */
  find(query: Query, start: number, count: number): Hits;
}

/** @param spellings of `makeSpellingIndex` for `index.words` */
export function makeSearch(
  index: SearchIndex,
  spellings: SpellingIndex,
  records: RecordIndex,
): Search {
  const { games } = index;
  const sets = makePostingSets(games);
  const matchTitles = makeTitleMatcher(index, spellings, sets);
  const yearOrder = makeYearOrder(index);
  const platformsBySlug = groupPlatforms(records);
  // Created by the first query with a genre.
  let genres: string | undefined;

  function onPlatform(slug: string): RankSet {
    // A platform's games are numbered in title order, so their ranks ascend.
    const lists = (platformsBySlug.get(foldCase(slug)) ?? []).map((number) => {
      const { first_game, games: count } = records.platforms[number];
      return records.games.rank.subarray(first_game, first_game + count);
    });
    return lists.length === 1 ? { list: lists[0] } : union(lists.map(wholeRun), games);
  }

  function withValue(postings: Postings, value: string): RankSet {
    const found = findText(postings, foldCase(value));
    return found < 0 ? EMPTY : sets.ofText(postings, found);
  }

  function withGenre(part: string): RankSet {
    const folded = foldCase(part);
    return sets.ofRuns(`genre ${folded}`, () => {
      genres ??= joinTexts(index.genres);
      const ranges = textsWith(index.genres, genres, folded);
      return ranges.map(([from, to]) => runBetween(index.genres, from, to));
    });
  }

  function setsOf({ platform, region, type, genre, words }: Query): RankSet[] {
    const found: RankSet[] = [];
    if (platform !== undefined) found.push(onPlatform(platform));
    if (region !== undefined) found.push(withValue(index.regions, region));
    if (type !== undefined) found.push(withValue(index.types, type));
    if (genre !== undefined) found.push(withGenre(genre));
    // Whether near spellings are used depends on the titles alone. Filters only narrow the result.
    if (words.length > 0) found.push(matchTitles(words));
    return found;
  }

  function pageOf(found: RankSet, total: number, sort: Sort, start: number, count: number) {
    if (sort === 'title_asc') return slice(found, start, count);
    if (sort === 'title_desc') return slice(found, total - start - count, count).reverse();
    return yearOrder.pageOf(found, sort, start, count);
  }

  function pageOfAll(sort: Sort, start: number, count: number): number[] {
    if (sort === 'title_asc') return Array.from({ length: count }, (_, i) => start + i);
    if (sort === 'title_desc')
      return Array.from({ length: count }, (_, i) => games - 1 - start - i);
    return yearOrder.pageOfAll(sort, start, count);
  }

  return {
    find(query, start, count) {
      const required = setsOf(query);
      const found = required.length === 0 ? undefined : intersect(required);
      const total = found === undefined ? games : sizeOf(found);
      const most = Math.min(count, total - start);
      if (most <= 0) return { total, ranks: [] };
      const { sort } = query;
      const ranks =
        found === undefined
          ? pageOfAll(sort, start, most)
          : pageOf(found, total, sort, start, most);
      return { total, ranks };
    },
  };
}

/** For each case-folded slug, the numbers of the platforms that have it. */
function groupPlatforms({ platforms }: RecordIndex): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  platforms.forEach(({ slug }, number) => {
    const folded = foldCase(slug);
    groups.set(folded, [...(groups.get(folded) ?? []), number]);
  });
  return groups;
}
