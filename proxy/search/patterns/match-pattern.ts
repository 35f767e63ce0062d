/**
 * Finds the readings that match a pattern, and sorts them into tiers: how well they match. No tier needs
 * a pass over all readings. Those that begin like the query are neighbours in the order of words, and
 * only readings that have all words whole are looked at one by one.
 */
import { firstIndex } from '../../../format/index/arrays.ts';
import type { WordIndex } from '../../../format/index/search-index.ts';
import { intersect, subtract, union, unite } from '../sets/combine.ts';
import { compact, isEmpty, type NumberSet } from '../sets/number-set.ts';
import type { Neighbours } from './neighbours.ts';
import { isSingle, once, type Pattern, type WordChoice } from './pattern.ts';

/**
 * The readings that a relevance order puts first, tier by tier. A reading can be in several tiers; the
 * first one counts:
 * 0. it equals the query; 1. it begins with the words of the query; 2. it begins with them, but has the
 * last one only as a prefix; 3. it has them next to each other, in order; 4. it has all of them as whole
 * words; 5. the same for the words of a slug; 6. it has the last one only as a prefix; 7. the same for the
 * words of a slug. People do not see slugs, so these are in no earlier tier.
 *
 * Each tier is a function, since the first tiers often fill a page and the others need not be found.
 */
export type Tiers = readonly (() => NumberSet)[];

export interface PatternMatcher {
  /** The readings that match a pattern. */
  find(pattern: Pattern): NumberSet;
  /** @param found the result of `find` */
  tiers(pattern: Pattern, found: NumberSet): Tiers;
}

/** A range of `readingsByWords`, `from` inclusive, `to` exclusive. */
type Range = readonly [from: number, to: number];

export function makePatternMatcher(
  { readings: { words, start }, readingsByWords, slugReadings }: WordIndex,
  neighbours: Neighbours,
): PatternMatcher {
  const readings = readingsByWords.length;
  const ofSlugs = { list: slugReadings };

  /**
   * The readings that match each word by itself are an intersection of large sets, which is found last, the
   * smallest set first. Those that match words together with their neighbours, or written together, are
   * few. They are collected for each position of the query, so the work grows with the number of ways.
   * @param within limits the result to these readings
   */
  function findReadings(
    pattern: Pattern,
    readingsOf: 'readings' | 'wholeReadings',
    within: readonly NumberSet[],
  ): NumberSet {
    // For each position, the readings that match the words before it, with at least one such way.
    const reached: NumberSet[][] = Array.from({ length: pattern.length + 1 }, () => []);
    // The sets of the words before a position, each matched by itself; undefined if one has no such way.
    let singles: NumberSet[] | undefined = [...within];
    for (const [at, ways] of pattern.entries()) {
      const before = unite(reached[at], readings);
      for (const way of ways) {
        const ofWay = way[readingsOf]();
        const found = [intersect([ofWay, before])];
        if (!isSingle(way) && singles !== undefined) {
          found.push(intersect([ofWay, ...singles]));
        }
        reached[at + way.queryWords].push(...found.filter((set) => !isEmpty(set)));
      }
      const single = ways.find(isSingle);
      singles = single && singles && [...singles, single[readingsOf]()];
    }
    const all = [...reached[pattern.length]];
    if (singles !== undefined) all.push(intersect(singles));
    return compact(unite(all, readings));
  }

  /** The first three tiers: the readings that equal the query, and those that begin with it. */
  function findBeginnings(pattern: Pattern): readonly [NumberSet, NumberSet, NumberSet] {
    const equal: Range[] = [];
    const beginning: Range[] = [];
    const withPrefix: Range[] = [];
    const visited = new Set<string>();

    // The readings in `range` have the same first `depth` words, which match the query up to `at`.
    function matchRest(range: Range, at: number, depth: number): void {
      // Several ways can lead to the same range. Without this, their number would multiply at each word.
      const key = `${range} ${at} ${depth}`;
      if (visited.has(key)) return;
      visited.add(key);
      if (at === pattern.length) {
        beginning.push(range);
        // A reading comes before the longer readings that begin with it.
        equal.push([range[0], firstAbove(range, depth, -1)]);
        return;
      }
      for (const { choices, queryWords } of pattern[at]) {
        matchChoices(range, choices, depth, (narrower, end) =>
          matchRest(narrower, at + queryWords, end),
        );
      }
    }

    function matchChoices(
      range: Range,
      [choice, ...others]: readonly WordChoice[],
      depth: number,
      use: (range: Range, depth: number) => void,
    ): void {
      const { numbers, prefix } = choice;
      for (const number of numbers) {
        const narrower = withWords(range, depth, number, number + 1);
        if (narrower === undefined) continue;
        if (others.length === 0) use(narrower, depth + 1);
        else matchChoices(narrower, others, depth + 1, use);
      }
      if (prefix === undefined) return;
      // Only a way with the last word of the query has a prefix, and only one choice: nothing follows.
      const narrower = withWords(range, depth, ...prefix);
      if (narrower !== undefined) withPrefix.push(narrower);
    }

    matchRest([0, readings], 0, 0);
    return [readingsIn(equal), readingsIn(beginning), readingsIn(withPrefix)];
  }

  /** The part of a range whose word at a depth has a number from `from` (inclusive) to `to` (exclusive). */
  function withWords(range: Range, depth: number, from: number, to: number): Range | undefined {
    const first = firstAbove(range, depth, from - 1);
    if (first === range[1]) return undefined;
    const end = firstAbove([first, range[1]], depth, to - 1);
    return first < end ? [first, end] : undefined;
  }

  /** The first in a range whose word at a depth has a number above another one; no word counts as -1. */
  function firstAbove([from, to]: Range, depth: number, number: number): number {
    return firstIndex(from, to, (at) => {
      const reading = readingsByWords[at];
      const position = start[reading] + depth;
      return position < start[reading + 1] && words[position] > number;
    });
  }

  function readingsIn(ranges: readonly Range[]): NumberSet {
    const runs = ranges.map(([from, to]) => ({ entries: readingsByWords, from, to }));
    return union(runs, readings);
  }

  return {
    find: (pattern) => findReadings(pattern, 'readings', []),
    tiers(pattern, found) {
      const beginnings = once(() => findBeginnings(pattern));
      const whole = once(() => findReadings(pattern, 'wholeReadings', [found]));
      const ofTitles = (set: NumberSet) => subtract(set, ofSlugs);
      return [
        () => ofTitles(beginnings()[0]),
        () => ofTitles(beginnings()[1]),
        () => ofTitles(beginnings()[2]),
        () => neighbours.withPhrase(pattern, ofTitles(whole())),
        () => ofTitles(whole()),
        whole,
        () => ofTitles(found),
        () => found,
      ];
    },
  };
}
