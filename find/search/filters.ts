/** Finds the games that pass each filter of a query, as sets of ranks. */

import { firstIndex } from '../../lib/columns/arrays.ts';
import type { Rank } from '../../lib/columns/numbers.ts';
import type { RecordIndex } from '../../lib/format/index/record-index.ts';
import type { PlatformNames } from '../names/platform-names.ts';
import { findRegions } from '../names/regions.ts';
import { foldCase } from '../text/words.ts';
import { entriesAt, findText, type SearchIndex, textAt, textCount } from './open.ts';
import type { FacetName, Query, Years } from './query.ts';
import { EMPTY, everyNumber, type NumberSet } from './sets/number-set.ts';
import type { PostingSets } from './sets/posting-sets.ts';
import type { RankOrder } from './sets/rank-order.ts';

export class Filters {
  /** Every game. */
  readonly all: NumberSet<Rank>;
  private readonly index: SearchIndex;
  private readonly records: RecordIndex;
  private readonly platformNames: PlatformNames;
  private readonly ranks: PostingSets<Rank>;
  private readonly byYear: RankOrder;
  /** Made by the first query with a genre. */
  private genres: readonly string[] | undefined;

  /** @param byYear the order of `year_asc` */
  constructor(
    index: SearchIndex,
    records: RecordIndex,
    platformNames: PlatformNames,
    ranks: PostingSets<Rank>,
    byYear: RankOrder,
  ) {
    this.all = everyNumber(index.games);
    this.index = index;
    this.records = records;
    this.platformNames = platformNames;
    this.ranks = ranks;
    this.byYear = byYear;
  }

  /** One set for each filter of a query. @param except a filter to ignore */
  of(query: Query, except?: FacetName): NumberSet<Rank>[] {
    const { platform, region, type, genre, year, has_cover: hasCover } = query;
    const found: NumberSet<Rank>[] = [];
    if (platform !== undefined && except !== 'platform') found.push(this.onNamed(platform));
    if (region !== undefined && except !== 'region') found.push(this.withRegion(region));
    if (type !== undefined && except !== 'type') found.push(this.withType(type));
    if (genre !== undefined && except !== 'genre') found.push(this.withGenre(genre));
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
      const { firstGame, games: count } = this.records.platforms[number];
      return this.records.games.rank.subarray(firstGame, firstGame + count);
    });
    return lists.length === 1 ? { list: lists[0] } : this.ranks.union(lists);
  }

  private withType(value: string): NumberSet<Rank> {
    const found = findText(this.index.types, foldCase(value));
    return found < 0 ? EMPTY : this.ranks.ofTexts('types', found);
  }

  private withRegion(value: string): NumberSet<Rank> {
    const found = findRegions(this.index.regions, value);
    return this.ranks.unite(found.map((at) => this.ranks.ofTexts('regions', at)));
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
    return end - first === 1 ? { list } : this.ranks.ofLists(`year ${from} ${to}`, () => [list]);
  }

  private withFront(isWanted: boolean): NumberSet<Rank> {
    const fronts = this.withType('front');
    return isWanted ? fronts : this.ranks.subtract(this.all, this.ranks.toBits(fronts).bits);
  }

  private withGenre(part: string): NumberSet<Rank> {
    const { genres } = this.index;
    const folded = foldCase(part);
    return this.ranks.ofLists(`genre ${folded}`, () => {
      this.genres ??= Array.from({ length: textCount(genres) }, (_, at) => textAt(genres, at));
      return this.genres.flatMap((text, at) =>
        text.includes(folded) ? [entriesAt(genres, at)] : [],
      );
    });
  }
}
