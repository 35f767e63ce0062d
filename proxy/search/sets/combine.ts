/** Unions and differences of sets of numbers. No function changes the sets that it gets. */
import type { Run } from '../../../format/index/search-index.ts';
import { bitAt, clearBit, copyBits, lowestBit, newBits } from './bits.ts';
import { firstAtLeast } from './intersect.ts';
import {
  addToBits,
  atMost,
  EMPTY,
  LONGEST_SORTED,
  type NumberSet,
  wholeRun,
} from './number-set.ts';

/**
 * The union of runs.
 * @param runs in any order; they may overlap
 */
export function union(runs: readonly Run[], below: number): NumberSet {
  const total = lengthOf(runs);
  if (total === 0) return EMPTY;
  if (total <= LONGEST_SORTED) {
    const all = new Uint32Array(total);
    let end = 0;
    for (const { entries, from, to } of runs) {
      for (let i = from; i < to; i++) all[end++] = entries[i];
    }
    return { list: withoutRepeats(all.sort()) };
  }
  const bits = newBits(Math.ceil(below / 32));
  for (const run of runs) addToBits(run, bits);
  return { bits, atMost: Math.min(total, below) };
}

/** The numbers that are in any of the sets. */
export function unite(sets: readonly NumberSet[], below: number): NumberSet {
  const filled = sets.filter((set) => atMost(set) > 0);
  if (filled.length < 2) return filled[0] ?? EMPTY;
  const lists: Run[] = [];
  let bits: Uint32Array | undefined;
  for (const set of filled) {
    if (set.list !== undefined) lists.push(wholeRun(set.list));
    else if (bits === undefined) bits = copyBits(set.bits);
    else for (let i = 0; i < bits.length; i++) bits[i] |= set.bits[i];
  }
  if (bits === undefined) return union(lists, below);
  for (const list of lists) addToBits(list, bits);
  const total = filled.reduce((sum, set) => sum + atMost(set), 0);
  return { bits, atMost: Math.min(total, below) };
}

/** The numbers of the first set that are not in the second. */
export function subtract(set: NumberSet, removed: NumberSet): NumberSet {
  if (atMost(set) === 0 || atMost(removed) === 0) return set;
  if (set.list !== undefined) {
    const has = membershipOf(removed);
    return { list: set.list.filter((number) => !has(number)) };
  }
  const bits = copyBits(set.bits);
  if (removed.bits !== undefined) {
    for (let i = 0; i < bits.length; i++) bits[i] &= ~removed.bits[i];
  } else {
    for (const number of removed.list) clearBit(bits, number);
  }
  return { bits, atMost: set.atMost };
}

/** @returns a function that says whether a number is in the set; it must get ascending numbers */
function membershipOf(set: NumberSet): (number: number) => boolean {
  if (set.bits !== undefined) return (number) => bitAt(set.bits, number) === 1;
  let at = 0;
  return (number) => {
    at = firstAtLeast(set.list, number, at);
    return set.list[at] === number;
  };
}

/** The numbers of a set that pass a test, which gets them in ascending order. */
export function filter(set: NumberSet, passes: (number: number) => boolean): NumberSet {
  if (set.list !== undefined) return { list: set.list.filter(passes) };
  const bits = newBits(set.bits.length);
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

/** How many numbers the runs have, repeated ones included. */
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
