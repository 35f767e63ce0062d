/**
 * The search engine. For a query it finds the ranks of one page and the total, without reading a record.
 * `title-matches.ts` finds the games by their titles, the filters narrow them, and the page is read from one of the
 * orders that exist before the query. Only parts of a tier are merged by sorting, as far as the page.
 *
 * MiniSearch's `search()` is not used: it scores and sorts every hit, which blocks the event loop for
 * tenths of a second with this many titles.
 */
import type { Rank } from '../../lib/columns/numbers.ts';
import type { PlatformNames } from '../names/platform-names.ts';
import { type CountFacet, makeFacetCounter, type ValueCount } from './facets.ts';
import { Filters } from './filters.ts';
import type { SearchedGames, SearchIndex } from './open.ts';
import type { PreparedSearch } from './prepare-search.ts';
import type { FacetName, Query, Sort, Step } from './query.ts';
import { addTo, cardinality, type NumberSet, slice } from './sets/number-set.ts';
import { PostingSets } from './sets/posting-sets.ts';
import { pageInOrder, type RankOrders } from './sets/rank-order.ts';
import { QueryMemory } from './sets/set-algebra.ts';
import { type Tier, type TitleMatch, TitleMatcher } from './title-matches.ts';

interface Hits {
  readonly total: number;
  /** The step that found the hits; undefined without a text, and if no title matches. */
  readonly step: Step | undefined;
  /** The ranks of the page, in the order of the query. */
  readonly ranks: readonly Rank[];
}

const NO_HITS: Hits = { total: 0, step: undefined, ranks: [] };

/** For each facet that was asked for, the values of the hits. */
type Facets = Partial<Readonly<Record<FacetName, readonly ValueCount[]>>>;

/** The games of a part of a tier that are on no earlier page, and how many. */
interface FoundPart {
  readonly matched: number;
  readonly part: NumberSet<Rank>;
  readonly size: number;
}

export class Search {
  private readonly orders: RankOrders;
  private readonly rankSets: PostingSets<Rank>;
  private readonly filters: Filters;
  private readonly titles: TitleMatcher;
  private readonly countFacet: CountFacet;

  /**
   * @param prepared the result of `prepareSearch` for the index
   * @param frontTypes the types of covers that are fronts, in any case
   */
  constructor(
    index: SearchIndex,
    prepared: PreparedSearch,
    catalogue: SearchedGames,
    platformNames: PlatformNames,
    frontTypes: readonly string[],
  ) {
    this.orders = prepared.orders;
    this.rankSets = new PostingSets<Rank>(index, index.games, new QueryMemory());
    this.filters = new Filters(
      index,
      catalogue,
      platformNames,
      this.rankSets,
      prepared.orders.year_asc,
      frontTypes,
    );
    this.titles = new TitleMatcher(index, prepared, platformNames, this.rankSets, (numbers) =>
      this.filters.onPlatforms(numbers),
    );
    this.countFacet = makeFacetCounter(index, catalogue, this.rankSets);
  }

  /** Finds at most `count` hits, after skipping the first `start`. */
  find(query: Query, start: number, count: number): Hits {
    this.rankSets.memory.startQuery();
    const match = this.matchOf(query);
    if (query.variants !== undefined && match === undefined) return NO_HITS;
    const found = this.hitsOf(query, match, match && 'platform');
    const total = found === this.filters.all ? this.rankSets.below : cardinality(found);
    const most = Math.min(count, total - start);
    const page = most > 0 ? this.pageOf(query.sort, match, found, total, start, most) : [];
    return { total, step: match?.step, ranks: page };
  }

  /**
   * For each value, counts the hits that the query would have with it instead of its own filter. A
   * platform counts 0 if its games would be found only by a later step than those of others.
   */
  countFacets(query: Query, names: readonly FacetName[]): Facets {
    this.rankSets.memory.startQuery();
    const match = this.matchOf(query);
    const counted = names.map((name) => {
      const isAny = name === 'platform' && query.platform !== undefined;
      const ofName = isAny ? this.matchOf({ ...query, platform: undefined }) : match;
      if (query.variants !== undefined && ofName === undefined) return [name, []] as const;
      return [name, this.countFacet(name, this.hitsOf(query, ofName, name))] as const;
    });
    return Object.fromEntries(counted);
  }

  /**
   * Which step applies is decided among the games of the platform, so that an exact match on another one
   * hides no near spelling on this one. The other filters only narrow the result.
   */
  private matchOf({ variants, platform }: Query): TitleMatch | undefined {
    if (variants === undefined) return undefined;
    return this.titles.match(variants, platform && this.filters.onNamed(platform));
  }

  /** The games that match and pass the filters. @param except a filter to ignore */
  private hitsOf(query: Query, match: TitleMatch | undefined, except?: FacetName): NumberSet<Rank> {
    const filters = this.filters.of(query, except);
    const required = match === undefined ? filters : [match.ranks, ...filters];
    return required.length === 0 ? this.filters.all : this.rankSets.intersect(required);
  }

  private pageOf(
    sort: Sort,
    match: TitleMatch | undefined,
    found: NumberSet<Rank>,
    total: number,
    start: number,
    count: number,
  ): Rank[] {
    if (sort === 'title_asc') return slice(found, start, count);
    if (sort === 'title_desc') return slice(found, total - start - count, count).reverse();
    const tiers = sort === 'relevance' ? match?.tiers : undefined;
    if (tiers !== undefined) return this.pageOfTiers(tiers, found, start, count);
    const order = this.orders[sort];
    // A scan of all games takes milliseconds.
    if (total === this.rankSets.below) return slice<Rank>({ list: order.ranks }, start, count);
    return pageInOrder(order, this.rankSets, found, start, count);
  }

  /** A page of the games that are found, one tier after another. */
  private pageOfTiers(
    tiers: Iterable<Tier>,
    found: NumberSet<Rank>,
    start: number,
    count: number,
  ): Rank[] {
    const { rankSets } = this;
    const page: Rank[] = [];
    let before = 0;
    const seen = rankSets.emptyBits();
    for (const tier of tiers) {
      const parts = tier.map(({ matched, ranks: all }) => {
        const part = rankSets.subtract(rankSets.intersect([all, found]), seen);
        addTo(seen, part);
        return { matched, part, size: cardinality(part) };
      });
      const size = parts.reduce((sum, part) => sum + part.size, 0);
      const skipped = Math.max(0, start - before);
      const wanted = Math.min(count - page.length, size - skipped);
      if (wanted > 0) page.push(...this.pageOfTier(parts, skipped, wanted));
      if (page.length === count) break;
      before += size;
    }
    return page;
  }

  /** A page of a tier: fewer additional words, then more covers, then title order. */
  private pageOfTier(all: readonly FoundPart[], start: number, count: number): Rank[] {
    const { rankSets, orders } = this;
    const parts = all.filter(({ size }) => size > 0);
    if (parts.length === 1)
      return pageInOrder(orders.inTier, rankSets, parts[0].part, start, count);
    // Parts are merged as numbers that contain the order. Nearly all of a tier is one part, and those of it
    // that come before the page even without the others need not be found.
    const { ranks: byCovers, positions } = orders.relevance;
    const largest = parts.reduce((most, part) => (part.size > most.size ? part : most));
    const others = parts.reduce((sum, { size }) => sum + size, -largest.size);
    const before = Math.max(0, start - others);
    const keys = parts.flatMap(({ matched, part, size }) => {
      const skipped = part === largest.part ? before : 0;
      const most = Math.min(size, start + count) - skipped;
      return pageInOrder(orders.inTier, rankSets, part, skipped, most).map((rank) => {
        const additional = this.titles.lengthOf(rank) + parts[0].matched - matched;
        return additional * rankSets.below + positions[rank];
      });
    });
    const page = Float64Array.from(keys)
      .sort()
      .subarray(start - before, start - before + count);
    return Array.from(page, (key) => byCovers[key % rankSets.below]);
  }
}
