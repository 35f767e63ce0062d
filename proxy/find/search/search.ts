/**
 * The search engine. For a query it finds the ranks of one page and the total, without reading a record
 * and without sorting. `title-matches.ts` finds the games by their titles, the filters narrow them, and
 * the page is read from one of the orders that exist before the query. The work is bounded by the number
 * of games and the limit on words.
 *
 * MiniSearch's `search()` is not used: it scores and sorts every hit, which blocks the event loop for
 * tenths of a second with this many titles. Only the way it splits texts into words is used.
 */
import { firstIndex } from '../../../lib/format/index/arrays.ts';
import type { RecordIndex } from '../../../lib/format/index/record-index.ts';
import {
  entriesAt,
  findText,
  type Postings,
  type SearchIndex,
  textAt,
  textCount,
} from '../../../lib/format/index/search-index.ts';
import { foldCase } from '../../../lib/format/index/words.ts';
import { namesOfRegion } from '../regions.ts';
import { makeFacetCounter, type ValueCount } from './facets.ts';
import type { PreparedSearch } from './prepare-search.ts';
import type { FacetName, Query, Sort, Step, Years } from './query.ts';
import { newBits, startQuery } from './sets/bits.ts';
import { intersect, subtract, union, unite } from './sets/combine.ts';
import {
  addTo,
  EMPTY,
  everyNumber,
  type NumberSet,
  sizeOf,
  slice,
  toBits,
} from './sets/number-set.ts';
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

/** For each facet that was asked for, the values of the hits. */
export type Facets = Partial<Readonly<Record<FacetName, readonly ValueCount[]>>>;

export interface Search {
  /** Finds at most `count` hits, after skipping the first `start`. */
  find(query: Query, start: number, count: number): Hits;
  /**
   * For each value, counts the hits that the query would have with it instead of its own filter. A
   * platform counts 0 if only a later step would find games on it than on others.
   */
  countFacets(query: Query, names: readonly FacetName[]): Facets;
}

/** @param prepared the result of `prepareSearch` for the index */
export function makeSearch(
  index: SearchIndex,
  prepared: PreparedSearch,
  records: RecordIndex,
): Search {
  const { games } = index;
  const { orders } = prepared;
  const sets = makePostingSets(index, games);
  const matchTitles = makeTitleMatcher(index, prepared, records, onPlatforms);
  const platformsBySlug = groupPlatforms(records);
  const countFacet = makeFacetCounter(index, records, sets);
  const all = everyNumber(games);
  // Made by the first query with a genre.
  let genres: readonly string[] | undefined;

  function onPlatforms(numbers: readonly number[]): NumberSet {
    // A platform's games are numbered in title order, so their ranks ascend.
    const lists = numbers.map((number) => {
      const { firstGame, games: count } = records.platforms[number];
      return records.games.rank.subarray(firstGame, firstGame + count);
    });
    return lists.length === 1 ? { list: lists[0] } : union(lists, games);
  }

  function withType(value: string): NumberSet {
    const found = findText(index.types, foldCase(value));
    return found < 0 ? EMPTY : sets.ofTexts('types', found);
  }

  function withRegion(value: string): NumberSet {
    const found = findRegions(index.regions, value);
    return unite(
      found.map((at) => sets.ofTexts('regions', at)),
      games,
    );
  }

  function withYear([from, to]: Years): NumberSet {
    const { years, yearOfRank } = index;
    const first = firstIndex(0, years.length, (at) => years[at] >= from);
    const end = firstIndex(first, years.length, (at) => years[at] > to);
    // Games without a year, which have the highest number, are last.
    const { ranks } = orders.year_asc;
    const startOf = (year: number) =>
      firstIndex(0, ranks.length, (at) => yearOfRank[ranks[at]] >= year);
    const list = ranks.subarray(startOf(first), startOf(end));
    return end - first === 1 ? { list } : sets.ofLists(`year ${from} ${to}`, () => [list]);
  }

  function withFront(isWanted: boolean): NumberSet {
    const fronts = withType('front');
    return isWanted ? fronts : subtract(all, toBits(fronts, games).bits);
  }

  function withGenre(part: string): NumberSet {
    const folded = foldCase(part);
    return sets.ofLists(`genre ${folded}`, () => {
      genres ??= Array.from({ length: textCount(index.genres) }, (_, at) =>
        textAt(index.genres, at),
      );
      return genres.flatMap((text, at) =>
        text.includes(folded) ? [entriesAt(index.genres, at)] : [],
      );
    });
  }

  const withPlatforms = (slugs: readonly string[]) =>
    onPlatforms(slugs.flatMap((slug) => platformsBySlug.get(foldCase(slug)) ?? []));

  /** The games that pass the filters, as one set for each. @param except a filter to ignore */
  function filtersOf(query: Query, except?: FacetName): NumberSet[] {
    const { platform, region, type, genre, year, has_cover: hasCover } = query;
    const found: NumberSet[] = [];
    if (platform !== undefined && except !== 'platform') found.push(withPlatforms(platform));
    if (region !== undefined && except !== 'region') found.push(withRegion(region));
    if (type !== undefined && except !== 'type') found.push(withType(type));
    if (genre !== undefined && except !== 'genre') found.push(withGenre(genre));
    if (year !== undefined && except !== 'year') found.push(withYear(year));
    if (hasCover !== undefined) found.push(withFront(hasCover));
    return found;
  }

  /**
   * Which step applies is decided among the games of the platform, so that an exact match on another one
   * hides no near spelling on this one. The other filters only narrow the result.
   */
  function matchOf({ readings, platform }: Query): TitleMatch | undefined {
    if (readings === undefined) return undefined;
    return matchTitles(readings, platform === undefined ? undefined : withPlatforms(platform));
  }

  const inAll = (required: readonly NumberSet[]) =>
    required.length === 0 ? all : intersect(required);

  function pageOf(
    found: NumberSet,
    total: number,
    sort: Sort,
    start: number,
    count: number,
  ): number[] {
    if (sort === 'title_asc') return slice(found, start, count);
    if (sort === 'title_desc') return slice(found, total - start - count, count).reverse();
    const order = orders[sort];
    // A scan of all games takes milliseconds.
    if (total === games) return [...order.ranks.subarray(start, start + count)];
    return pageInOrder(order, found, start, count);
  }

  /** A page of the games that are found, one tier after another. */
  function pageOfTiers(
    tiers: Iterable<NumberSet>,
    found: NumberSet,
    start: number,
    count: number,
  ): number[] {
    const page: number[] = [];
    let before = 0;
    const seen = newBits(Math.ceil(games / 32));
    for (const tier of tiers) {
      const inTier = subtract(intersect([tier, found]), seen);
      const size = sizeOf(inTier);
      const skipped = Math.max(0, start - before);
      const wanted = Math.min(count - page.length, size - skipped);
      if (wanted > 0) page.push(...pageInOrder(orders.inTier, inTier, skipped, wanted));
      if (page.length === count) break;
      before += size;
      addTo(seen, inTier);
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
      const found = inAll(match === undefined ? filters : [match.ranks, ...filters]);
      const total = found === all ? games : sizeOf(found);
      const most = Math.min(count, total - start);
      const hits = { total, step: match?.step };
      if (most <= 0) return { ...hits, ranks: [] };
      const tiers = sort === 'relevance' ? match?.tiers : undefined;
      if (tiers !== undefined) return { ...hits, ranks: pageOfTiers(tiers, found, start, most) };
      return { ...hits, ranks: pageOf(found, total, sort, start, most) };
    },
    countFacets(query, names) {
      startQuery();
      const match = matchOf(query);
      const counted = names.map((name) => {
        const isAny = name === 'platform' && query.platform !== undefined;
        const ofName = isAny ? matchOf({ ...query, platform: undefined }) : match;
        if (query.readings !== undefined && ofName === undefined) return [name, []] as const;
        const filters = filtersOf(query, name);
        const ranks = inAll(ofName === undefined ? filters : [ofName.ranks, ...filters]);
        return [name, countFacet(name, ranks)] as const;
      });
      return Object.fromEntries(counted);
    },
  };
}

/**
 * The indexes of the regions that a text names: of the one with this name, otherwise of all that the
 * catalogue writes in other ways.
 */
export function findRegions(regions: Postings, text: string): number[] {
  const found = findText(regions, foldCase(text));
  if (found >= 0) return [found];
  return namesOfRegion(text)
    .map((name) => findText(regions, name))
    .filter((at) => at >= 0);
}

/** For each case-folded slug, the numbers of the platforms that have it. */
function groupPlatforms({ platforms }: RecordIndex): Map<string, number[]> {
  return Map.groupBy(platforms.keys(), (number) => foldCase(platforms[number].slug));
}
