/** Unions and differences of sets of ranks. No function changes the sets that it gets. */
import type { Run } from '../../../format/index/search-index.ts';
import { bitAt, clearBit, lowestBit } from './bits.ts';
import { firstAtLeast } from './intersect.ts';
import { addToBits, atMost, EMPTY, LONGEST_SORTED, type RankSet, wholeRun } from './rank-set.ts';

/**
 * The union of runs.
 * @param runs in any order; they may overlap
 * @param games how many ranks there are in total
 */
export function union(runs: readonly Run[], games: number): RankSet {
  const total = lengthOf(runs);
  if (total === 0) return EMPTY;
  if (total <= LONGEST_SORTED) {
    const all = new Uint32Array(total);
    let end = 0;
    for (const { ranks, from, to } of runs) {
      for (let i = from; i < to; i++) all[end++] = ranks[i];
    }
    return { list: withoutRepeats(all.sort()) };
  }
  const bits = new Uint32Array(Math.ceil(games / 32));
  for (const run of runs) addToBits(run, bits);
  return { bits, atMost: Math.min(total, games) };
}

/** The ranks that are in any of the sets. */
export function unite(sets: readonly RankSet[], games: number): RankSet {
  const filled = sets.filter((set) => atMost(set) > 0);
  if (filled.length < 2) return filled[0] ?? EMPTY;
  const lists: Run[] = [];
  let bits: Uint32Array | undefined;
  for (const set of filled) {
    if (set.list !== undefined) lists.push(wholeRun(set.list));
    else if (bits === undefined) bits = set.bits.slice();
    else for (let i = 0; i < bits.length; i++) bits[i] |= set.bits[i];
  }
  if (bits === undefined) return union(lists, games);
  for (const list of lists) addToBits(list, bits);
  return {
    bits,
    atMost: Math.min(
      filled.reduce((sum, set) => sum + atMost(set), 0),
      games,
    ),
  };
}

/** The ranks of the first set that are not in the second. */
export function subtract(set: RankSet, removed: RankSet): RankSet {
  if (atMost(set) === 0 || atMost(removed) === 0) return set;
  if (set.list !== undefined) {
    const has = membershipOf(removed);
    return { list: set.list.filter((rank) => !has(rank)) };
  }
  const bits = set.bits.slice();
  if (removed.bits !== undefined) {
    for (let i = 0; i < bits.length; i++) bits[i] &= ~removed.bits[i];
  } else {
    for (const rank of removed.list) clearBit(bits, rank);
  }
  return { bits, atMost: set.atMost };
}

/** @returns a function that says whether a rank is in the set; it must get ranks in ascending order */
function membershipOf(set: RankSet): (rank: number) => boolean {
  if (set.bits !== undefined) return (rank) => bitAt(set.bits, rank) === 1;
  let at = 0;
  return (rank) => {
    at = firstAtLeast(set.list, rank, at);
    return set.list[at] === rank;
  };
}

/** The ranks of a set that pass a test, which gets them in ascending order. */
export function filter(set: RankSet, passes: (rank: number) => boolean): RankSet {
  if (set.list !== undefined) return { list: set.list.filter(passes) };
  const bits = new Uint32Array(set.bits.length);
  for (let block = 0; block < bits.length; block++) {
    let kept = 0;
    for (let rest = set.bits[block]; rest !== 0; rest &= rest - 1) {
      const bit = lowestBit(rest);
      if (passes(block * 32 + bit)) kept |= 1 << bit;
    }
    bits[block] = kept;
  }
  return { bits, atMost: set.atMost };
}

/** How many ranks the runs have, repeated ones included. */
export function lengthOf(runs: readonly Run[]): number {
  let length = 0;
  for (const { from, to } of runs) length += to - from;
  return length;
}

function withoutRepeats(sorted: Uint32Array): Uint32Array {
  let end = 0;
  for (let i = 0; i < sorted.length; i++) {
    if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[end++] = sorted[i];
  }
  return sorted.subarray(0, end);
}
