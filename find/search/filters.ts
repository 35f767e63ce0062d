/** Finds the games that pass each filter of a query, as sets of ranks. */

import { firstIndex } from '../../lib/columns/arrays.ts';
import type { Rank } from '../../lib/columns/numbers.ts';
import { entriesAt, findText, textsIn } from '../../lib/columns/postings.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import type { PlatformNames } from '../names/platform-names.ts';
import { foldCase } from '../text/words.ts';
import type { FilterIndex, SearchedGames, SearchIndex } from './open.ts';
import type { FacetName, Query, Years } from './query.ts';
import { everyNumber, type NumberSet } from './sets/number-set.ts';
import type { PostingSets } from './sets/posting-sets.ts';
import type { RankOrder } from './sets/rank-order.ts';
import {
  type FilterList,
  filterRow,
  VALUE_FILTER_NAMES,
  type ValueFilter,
} from './value-filters.ts';

export class Filters {
  /** Every game. */
  readonly all: NumberSet<Rank>;
  private readonly index: SearchIndex;
  private readonly catalogue: SearchedGames;
  private readonly platformNames: PlatformNames;
  private readonly rankSets: PostingSets<Rank>;
  private readonly byYear: RankOrder;
  private readonly frontTypes: readonly string[];
  /** The values of lists that are searched by part, made by the first query that does so. */
  private readonly texts = new Map<FilterList, readonly string[]>();

  /** @param byYear the order of `year_asc` @param frontTypes in any case */
  constructor(
    index: SearchIndex,
    catalogue: SearchedGames,
    platformNames: PlatformNames,
    rankSets: PostingSets<Rank>,
    byYear: RankOrder,
    frontTypes: readonly string[],
  ) {
    this.all = everyNumber(index.games);
    this.index = index;
    this.catalogue = catalogue;
    this.platformNames = platformNames;
    this.rankSets = rankSets;
    this.byYear = byYear;
    this.frontTypes = frontTypes;
  }

  /** One set for each filter of a query. @param except a filter to ignore */
  of(query: Query, except?: FacetName): NumberSet<Rank>[] {
    const { platform, year, has_cover: hasCover } = query;
    const found: NumberSet<Rank>[] = [];
    if (platform !== undefined && except !== 'platform') found.push(this.onNamed(platform));
    for (const name of VALUE_FILTER_NAMES) {
      const text = query[name];
      if (text !== undefined && except !== name) found.push(this.withValue(name, text));
    }
    if (year !== undefined && except !== 'year') found.push(this.withYear(year));
    if (hasCover !== undefined) found.push(this.withFront(hasCover));
    return found;
  }

  /** The games of the platforms that values of `platform` mean. */
  onNamed(values: readonly string[]): NumberSet<Rank> {
    return this.onPlatforms([...new Set(values.flatMap(this.platformNames.find))]);
  }

  /** The games of the platforms with these numbers. */
  onPlatforms(numbers: readonly number[]): NumberSet<Rank> {
    // A platform's games are numbered in title order, so their ranks ascend.
    const lists = numbers.map((number) => {
      const { firstGame, games: count } = this.catalogue.platforms[number];
      return this.catalogue.games.rank.subarray(firstGame, firstGame + count);
    });
    return lists.length === 1 ? { list: lists[0] } : this.rankSets.union(lists);
  }

  /** The games with a value that a text means. */
  private withValue(name: ValueFilter, text: string): NumberSet<Rank> {
    const { list, finds } = filterRow(name);
    if (finds === 'part') return this.withPart(list, text);
    const found = findValues(this.index, name, text);
    return this.rankSets.unite(found.map((at) => this.rankSets.ofTexts(list, at)));
  }

  private withYear([from, to]: Years): NumberSet<Rank> {
    const { years, yearOfRank } = this.index;
    const first = firstIndex(0, years.length, (at) => years[at] >= from);
    const end = firstIndex(first, years.length, (at) => years[at] > to);
    // Games without a year, which have the highest number, are last.
    const { ranks } = this.byYear;
    const startOf = (year: number) =>
      firstIndex(0, ranks.length, (at) => yearOfRank[ranks[at]] >= year);
    const list = ranks.subarray(startOf(first), startOf(end));
    return end - first === 1 ? { list } : this.rankSets.ofLists(`year ${from} ${to}`, () => [list]);
  }

  private withFront(isWanted: boolean): NumberSet<Rank> {
    const fronts = this.rankSets.unite(this.frontTypes.map((type) => this.withValue('type', type)));
    return isWanted ? fronts : this.rankSets.subtract(this.all, this.rankSets.toBits(fronts).bits);
  }

  private withPart(list: FilterList, part: string): NumberSet<Rank> {
    const values = this.index[list];
    const folded = foldCase(part);
    return this.rankSets.ofLists(`${list} ${folded}`, () =>
      this.textsOf(list).flatMap((text, at) =>
        text.includes(folded) ? [entriesAt(values, at)] : [],
      ),
    );
  }

  private textsOf(list: FilterList): readonly string[] {
    return getOrAdd(this.texts, list, () => textsIn(this.index[list]));
  }
}

/**
 * The indexes of the values that a text means: of the one that it is, in any case, otherwise of all that have
 * another name for the same.
 */
export function findValues(index: FilterIndex, name: ValueFilter, text: string): number[] {
  const { list, otherNames } = filterRow(name);
  const found = findText(index[list], foldCase(text));
  if (found >= 0) return [found];
  return (otherNames?.(text) ?? [])
    .map((other) => findText(index[list], other))
    .filter((at) => at >= 0);
}
