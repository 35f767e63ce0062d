/**
 * Orders of all games that do not depend on a query. They are made while the index is opened, in
 * memory that threads share, so that a page needs no sorting. Title order needs none: it is that of the
 * ranks themselves.
 */

import { sharedZeros } from '../../../lib/columns/arrays.ts';
import { bitAt } from '../../../lib/columns/bits.ts';
import { type Lookup, lookupOf, type Rank } from '../../../lib/columns/numbers.ts';
import type { SearchedGames, SearchIndex } from '../open.ts';
import { cardinality, type NumberSet, slice, toList } from './number-set.ts';
import type { SetAlgebra } from './set-algebra.ts';

export interface RankOrder {
  /** The ranks in this order. */
  readonly ranks: Lookup<number, Rank>;
  /** For each rank, its position in this order. */
  readonly positions: Uint32Array;
}

/** In all of them, title order decides last. */
export interface RankOrders {
  /** Fewer words in the title, then more approved covers: that of relevance within a tier. */
  readonly inTier: RankOrder;
  /** More approved covers: that of relevance without a text. */
  readonly relevance: RankOrder;
  /** By year. Games without one are last in both orders. */
  readonly year_asc: RankOrder;
  readonly year_desc: RankOrder;
}

export function makeRankOrders(
  { games }: SearchedGames,
  { years, yearOfRank, variants: { start } }: SearchIndex,
): RankOrders {
  const { gameOfRank, firstCover } = games;
  const count = gameOfRank.length;
  // Plain loops: the thread that opens an index is new, and calls of functions are slow there.
  const titleOrder = new Uint32Array(count);
  const lengths = new Uint32Array(count);
  const covers = new Uint32Array(count);
  const yearsAgo = new Uint32Array(count);
  let mostCovers = 0;
  for (let rank = 0; rank < count; rank++) {
    const game = gameOfRank[rank];
    titleOrder[rank] = rank;
    lengths[rank] = start[rank + 1] - start[rank];
    covers[rank] = firstCover[game + 1] - firstCover[game];
    if (covers[rank] > mostCovers) mostCovers = covers[rank];
    // "No year" comes after all years.
    const year = yearOfRank[rank];
    yearsAgo[rank] = year === years.length ? year : years.length - 1 - year;
  }
  const fewerCovers = new Uint32Array(count);
  for (let rank = 0; rank < count; rank++) fewerCovers[rank] = mostCovers - covers[rank];
  const byCovers = sortByKey(titleOrder, fewerCovers);
  return {
    inTier: orderOf(sortByKey(byCovers, lengths)),
    relevance: orderOf(byCovers),
    year_asc: orderOf(sortByKey(titleOrder, yearOfRank)),
    year_desc: orderOf(sortByKey(titleOrder, yearsAgo)),
  };
}

/**
 * Sorts numbers by a key, in linear passes; those with the same key keep their order.
 * @param keyOf the key of each number: a small one
 */
export function sortByKey(numbers: Uint32Array, keyOf: Uint16Array | Uint32Array): Uint32Array {
  let highest = 0;
  for (let at = 0; at < keyOf.length; at++) if (keyOf[at] > highest) highest = keyOf[at];
  const next = new Uint32Array(highest + 2);
  for (let at = 0; at < keyOf.length; at++) next[keyOf[at] + 1]++;
  for (let key = 1; key <= highest; key++) next[key] += next[key - 1];
  const sorted = sharedZeros(Uint32Array, numbers.length);
  for (let at = 0; at < numbers.length; at++) sorted[next[keyOf[numbers[at]]]++] = numbers[at];
  return sorted;
}

function orderOf(ranks: Uint32Array): RankOrder {
  const positions = sharedZeros(Uint32Array, ranks.length);
  for (let position = 0; position < ranks.length; position++) positions[ranks[position]] = position;
  return { ranks: lookupOf(ranks), positions };
}

/** A page of a set, which must contain at least `start + count` ranks. @param sets of the ranks */
export function pageInOrder(
  { ranks, positions }: RankOrder,
  sets: SetAlgebra<Rank>,
  set: NumberSet<Rank>,
  start: number,
  count: number,
): Rank[] {
  const games = ranks.length;
  const size = cardinality(set);
  // A walk through the order takes about `games / size` steps for each rank of the set. Looking up the
  // positions of all its ranks can take fewer, which makes the deepest pages take 0.7 of the time.
  if ((start + count) * games > size * size) {
    // As a set of positions, a list is sorted, or kept as bits if it is long.
    const found = sets.union([toList(set).map((rank) => positions[rank])]);
    return slice(found, start, count).map((position) => ranks[position]);
  }
  const { bits } = sets.toBits(set);
  const page: Rank[] = [];
  let before = 0;
  for (let position = 0; position < games && page.length < count; position++) {
    const rank = ranks[position];
    if (bitAt(bits, rank) === 0) continue;
    if (before >= start) page.push(rank);
    before++;
  }
  return page;
}
