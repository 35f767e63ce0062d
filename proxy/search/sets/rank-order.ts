/**
 * Orders of all games that do not depend on a query. They are made while a generation is opened, in
 * memory that threads share, so that a page needs no sorting.
 */
import type { ReadingWords } from '../../../format/index/reading-words.ts';
import type { RecordIndex } from '../../../format/index/record-index.ts';
import { sharedZeros } from '../../../format/index/shared-zeros.ts';
import { bitAt } from './bits.ts';
import { union } from './combine.ts';
import { isDense, type NumberSet, slice, toBits, wholeRun } from './number-set.ts';

export interface RankOrder {
  /** The ranks in this order. */
  readonly ranks: Uint32Array;
  /** For each rank, its position in this order. */
  readonly positions: Uint32Array;
}

export interface RankOrders {
  /** Fewer words in the title, then more approved covers, then title order. */
  readonly byLength: RankOrder;
  /** The ranks by more approved covers, then title order. */
  readonly byCovers: Uint32Array;
}

export function makeRankOrders({ start }: ReadingWords, { games }: RecordIndex): RankOrders {
  const { gameOfRank, firstCover } = games;
  const coversOf = (rank: number) =>
    firstCover[gameOfRank[rank] + 1] - firstCover[gameOfRank[rank]];
  const titleOrder = Uint32Array.from(gameOfRank, (_, rank) => rank);
  const covers = titleOrder.map(coversOf);
  const mostCovers = covers.reduce((a, b) => Math.max(a, b), 0);
  const byCovers = sortByKey(titleOrder, (rank) => mostCovers - covers[rank], mostCovers + 1);
  const lengthOf = (rank: number) => start[rank + 1] - start[rank];
  const longest = titleOrder.reduce((most, rank) => Math.max(most, lengthOf(rank)), 0);
  return { byLength: orderOf(sortByKey(byCovers, lengthOf, longest + 1)), byCovers };
}

/** Sorts ranks by a key below `keys`, in two linear passes; those with the same key keep their order. */
function sortByKey(ranks: Uint32Array, keyOf: (rank: number) => number, keys: number): Uint32Array {
  const next = new Uint32Array(keys + 1);
  for (const rank of ranks) next[keyOf(rank) + 1]++;
  for (let key = 1; key <= keys; key++) next[key] += next[key - 1];
  const sorted = sharedZeros(Uint32Array, ranks.length);
  for (const rank of ranks) sorted[next[keyOf(rank)]++] = rank;
  return sorted;
}

function orderOf(ranks: Uint32Array): RankOrder {
  const positions = sharedZeros(Uint32Array, ranks.length);
  for (let position = 0; position < ranks.length; position++) positions[ranks[position]] = position;
  return { ranks, positions };
}

/** A page of a set, which must contain at least `start + count` ranks. */
export function pageInOrder(
  { ranks, positions }: RankOrder,
  set: NumberSet,
  start: number,
  count: number,
): number[] {
  const games = ranks.length;
  if (set.list !== undefined && !isDense(set.list, games)) {
    // As a set of positions, a list is sorted, or kept as bits if it is long.
    const found = union([wholeRun(set.list.map((rank) => positions[rank]))], games);
    return slice(found, start, count).map((position) => ranks[position]);
  }
  return pageByWalking(ranks, set, start, count);
}

/** A page like that of {@link pageInOrder}. It walks through the order, so it takes longer for small sets. */
export function pageByWalking(
  ranks: Uint32Array,
  set: NumberSet,
  start: number,
  count: number,
): number[] {
  const { bits } = toBits(set, ranks.length);
  const page: number[] = [];
  let before = 0;
  for (let position = 0; position < ranks.length && page.length < count; position++) {
    const rank = ranks[position];
    if (bitAt(bits, rank) === 0) continue;
    if (before >= start) page.push(rank);
    before++;
  }
  return page;
}
