/**
 * The search engine. For a query it finds the ranks of one page and the total, without reading a record
 * and without sorting. `title-matches.ts` finds the games by their titles, the filters narrow them, and
 * the page is read from one of the orders that exist before the query. The work is bounded by the number
 * of games and the limit on words.
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
  textAt,
  textCount,
} from '../../format/index/search-index.ts';
import { foldCase } from '../../format/index/words.ts';
import type { Tiers } from './patterns/match-pattern.ts';
import type { PreparedSearch } from './prepare-search.ts';
import { FILTERS, type FilterName, type Query, type Sort, type Step } from './query.ts';
import { startQuery } from './sets/bits.ts';
import { intersect, subtract, union, unite } from './sets/combine.ts';
import { compact, EMPTY, type NumberSet, sizeOf, slice, wholeRun } from './sets/number-set.ts';
import { makePostingSets } from './sets/posting-sets.ts';
import { pageInOrder } from './sets/rank-order.ts';
import { makeTitleMatcher, type TitleMatch } from './title-matches.ts';

export interface Hits {
  readonly total: number;
  /** The step that found the hits; undefined without a text, and if no title matches. */
  readonly step: Step | undefined;
  /** The ranks of the page, in the order of the query. */
  readonly ranks: readonly number[];
}

/** For some filters, values that they can have. */
export type FilterValues = Partial<Readonly<Record<FilterName, readonly string[]>>>;

/** For each value of each filter, a number of games. */
export type ValueCounts = Readonly<Record<FilterName, readonly number[]>>;

export interface Search {
  /** Finds at most `count` hits, after skipping the first `start`. */
  find(query: Query, start: number, count: number): Hits;
  /**
   * Counts the hits that the query would have with each value, instead of its own, in that filter. A
   * platform counts 0 if only a later step would find games on it than on others.
   */
  countValues(query: Query, values: FilterValues): ValueCounts;
}

/** @param prepared the result of `prepareSearch` for the index */
export function makeSearch(
  index: SearchIndex,
  prepared: PreparedSearch,
  records: RecordIndex,
): Search {
  const { games } = index;
  const { orders } = prepared;
  const sets = makePostingSets(games);
  const matchTitles = makeTitleMatcher(index, prepared, records, onPlatforms);
  const platformsBySlug = groupPlatforms(records);
  // Made by the first query with a genre.
  let genres: readonly string[] | undefined;

  function onPlatforms(numbers: readonly number[]): NumberSet {
    // A platform's games are numbered in title order, so their ranks ascend.
    const lists = numbers.map((number) => {
      const { first_game, games: count } = records.platforms[number];
      return records.games.rank.subarray(first_game, first_game + count);
    });
    return lists.length === 1 ? { list: lists[0] } : union(lists.map(wholeRun), games);
  }

  function withValue(postings: Postings, value: string): NumberSet {
    const found = findText(postings, foldCase(value));
    return found < 0 ? EMPTY : sets.ofText(postings, found);
  }

  function withGenre(part: string): NumberSet {
    const folded = foldCase(part);
    return sets.ofRuns(`genre ${folded}`, () => {
      genres ??= Array.from({ length: textCount(index.genres) }, (_, at) =>
        textAt(index.genres, at),
      );
      return genres.flatMap((text, at) =>
        text.includes(folded) ? [runBetween(index.genres, at, at + 1)] : [],
      );
    });
  }

  const passing: Readonly<Record<FilterName, (value: string) => NumberSet>> = {
    platform: (slug) => onPlatforms(platformsBySlug.get(foldCase(slug)) ?? []),
    region: (value) => withValue(index.regions, value),
    type: (value) => withValue(index.types, value),
    genre: withGenre,
  };

  /** The games that pass the filters, as one set for each. @param except a filter to ignore */
  function filtersOf(query: Query, except?: FilterName): NumberSet[] {
    const found: NumberSet[] = [];
    for (const name of FILTERS) {
      const value = query[name];
      if (value !== undefined && name !== except) found.push(passing[name](value));
    }
    return found;
  }

  /**
   * Which step applies is decided among the games of the platform, so that an exact match on another one
   * hides no near spelling on this one. The other filters only narrow the result.
   */
  function matchOf({ readings, platform }: Query): TitleMatch | undefined {
    if (readings === undefined) return undefined;
    return matchTitles(readings, platform === undefined ? undefined : passing.platform(platform));
  }

  /** @param found undefined for all games */
  function pageOf(
    found: NumberSet | undefined,
    total: number,
    sort: Sort,
    start: number,
    count: number,
  ): number[] {
    if (sort === 'title_desc') {
      return pageOf(found, total, 'title_asc', total - start - count, count).reverse();
    }
    if (sort === 'title_asc') {
      if (found !== undefined) return slice(found, start, count);
      return Array.from({ length: count }, (_, i) => start + i);
    }
    const order = sort === 'relevance' ? orders.covers : orders[sort];
    if (found !== undefined) return pageInOrder(order, found, start, count);
    return [...order.ranks.subarray(start, start + count)];
  }

  /** A page of the games in all tiers, one tier after another. */
  function pageOfTiers(
    tiers: Tiers,
    filters: readonly NumberSet[],
    start: number,
    count: number,
  ): number[] {
    const page: number[] = [];
    let before = 0;
    let seen: NumberSet = EMPTY;
    for (const [number, tier] of tiers.entries()) {
      const found = subtract(compact(intersect([tier(), ...filters])), seen);
      const size = sizeOf(found);
      const skipped = Math.max(0, start - before);
      const wanted = Math.min(count - page.length, size - skipped);
      if (wanted > 0) page.push(...pageInOrder(orders.length, found, skipped, wanted));
      if (page.length === count) break;
      before += size;
      if (number < tiers.length - 1) seen = unite([seen, found], games);
    }
    return page;
  }

  return {
    find(query, start, count) {
      startQuery();
      const { readings, sort } = query;
      const match = matchOf(query);
      if (readings !== undefined && match === undefined) {
        return { total: 0, ranks: [], step: undefined };
      }
      const filters = filtersOf(query, match && 'platform');
      const required = match === undefined ? filters : [match.ranks, ...filters];
      const found = required.length === 0 ? undefined : intersect(required);
      const total = found === undefined ? games : sizeOf(found);
      const most = Math.min(count, total - start);
      const hits = { total, step: match?.step };
      if (most <= 0) return { ...hits, ranks: [] };
      const tiers = sort === 'relevance' ? match?.tiers() : undefined;
      if (tiers !== undefined) return { ...hits, ranks: pageOfTiers(tiers, filters, start, most) };
      return { ...hits, ranks: pageOf(found, total, sort, start, most) };
    },
    countValues(query, values) {
      startQuery();
      const ofQuery = matchOf(query);
      const ofAnyPlatform =
        query.platform === undefined ? ofQuery : matchOf({ ...query, platform: undefined });
      const count = (name: FilterName): number[] => {
        const match = name === 'platform' ? ofAnyPlatform : ofQuery;
        if (query.readings !== undefined && match === undefined) {
          return (values[name] ?? []).map(() => 0);
        }
        const required = filtersOf(query, name);
        if (match !== undefined) required.push(match.ranks);
        // Intersected once, and then with each value.
        const others = required.length === 0 ? [] : [compact(intersect(required))];
        return (values[name] ?? []).map((value) =>
          sizeOf(intersect([...others, passing[name](value)])),
        );
      };
      return {
        platform: count('platform'),
        region: count('region'),
        type: count('type'),
        genre: count('genre'),
      };
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
