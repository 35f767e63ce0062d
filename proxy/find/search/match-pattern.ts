/**
 * Finds the readings that match a pattern, and sorts them into tiers: how well they match. No tier needs
 * a pass over all readings. Those that begin like the query are neighbours in the order of words, and
 * only readings that have all words whole are looked at one by one.
 */
import { firstIndex } from '../../../lib/format/index/arrays.ts';
import type { WordIndex } from '../../../lib/format/index/search-index.ts';
import { isSingle, type Pattern } from './pattern.ts';
import type { Phrases } from './phrases.ts';
import { intersect, subtract, union, unite } from './sets/combine.ts';
import { isEmpty, type NumberSet, toBits } from './sets/number-set.ts';

export interface PatternMatcher {
  /** The readings that match a pattern. */
  find(pattern: Pattern): NumberSet;
  /**
   * The readings that a relevance order puts first, tier by tier. A reading can be in several tiers; the
   * first one counts:
   * 0. it equals the query; 1. it begins with the words of the query; 2. it begins with them, but has the
   * last one only as a prefix; 3. it has them next to each other, in order; 4. it has all of them as whole
   * words; 5. the same for the words of a slug; 6. it has the last one only as a prefix; 7. the same for the
   * words of a slug. People do not see slugs, so these are in no earlier tier.
   *
   * A generator, since the first tiers often fill a page and the others need not be found.
   * @param found the result of `find`
   */
  tiers(pattern: Pattern, found: NumberSet): Generator<NumberSet, void>;
}

/** A range of `readingsByWords`, `from` inclusive, `to` exclusive. */
type Range = readonly [from: number, to: number];

export function makePatternMatcher(
  { readings: { words, start }, readingsByWords, slugReadings }: WordIndex,
  phrases: Phrases,
): PatternMatcher {
  const readings = readingsByWords.length;
  // A copy, since each query uses the memory of the one before again.
  const ofSlugs = toBits({ list: slugReadings }, readings).bits.slice();

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
        const found = [intersect([way[readingsOf], before])];
        if (!isSingle(way) && singles !== undefined) {
          found.push(intersect([way[readingsOf], ...singles]));
        }
        reached[at + way.queryWords].push(...found.filter((set) => !isEmpty(set)));
      }
      const single = ways.find(isSingle);
      singles = single && singles && [...singles, single[readingsOf]];
    }
    const all = [...reached[pattern.length]];
    if (singles !== undefined) all.push(intersect(singles));
    return unite(all, readings);
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
      for (const { phrase, prefix, queryWords } of pattern[at]) {
        // Only a way with the last word of the query has a prefix: nothing follows.
        if (prefix !== undefined) withPrefix.push(...withWords(range, depth, ...prefix));
        let ranges = [range];
        for (const [i, numbers] of phrase.entries()) {
          ranges = ranges.flatMap((wider) =>
            numbers.flatMap((number) => withWords(wider, depth + i, number, number + 1)),
          );
        }
        for (const narrower of ranges) matchRest(narrower, at + queryWords, depth + phrase.length);
      }
    }

    matchRest([0, readings], 0, 0);
    return [readingsIn(equal), readingsIn(beginning), readingsIn(withPrefix)];
  }

  /**
   * The part of a range whose word at a depth has a number from `from` (inclusive) to `to` (exclusive).
   * @returns one range, or none
   */
  function withWords(range: Range, depth: number, from: number, to: number): Range[] {
    const first = firstAbove(range, depth, from - 1);
    if (first === range[1]) return [];
    const end = firstAbove([first, range[1]], depth, to - 1);
    return first < end ? [[first, end]] : [];
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
    const lists = ranges.map(([from, to]) => readingsByWords.subarray(from, to));
    return union(lists, readings);
  }

  /**
   * The readings that have the words of the query next to each other, in order, without prefixes.
   * @param whole the readings that match the pattern without prefixes
   */
  function withPhrase(pattern: Pattern, whole: NumberSet): NumberSet {
    if (pattern.length === 1 && pattern[0].every(({ allowsParts }) => !allowsParts)) return whole;
    return phrases.find(pattern, intersect([whole, ...withRepeated(pattern)]));
  }

  /**
   * Most readings that have the words of "of of" have "of" once. Those that do not have it twice are ruled
   * out, unless they match words together with their neighbours.
   */
  function withRepeated(pattern: Pattern): NumberSet[] {
    const single = pattern.map((ways) => ways.find(isSingle)?.phrase[0] ?? []);
    const repeated = single.filter(
      (numbers, at) => at > 0 && numbers.length === 1 && single[at - 1].join() === numbers.join(),
    );
    const others = pattern.flat().filter((way) => !isSingle(way));
    return repeated.map((numbers) => {
      const twice = phrases.candidates([numbers, numbers]);
      return unite([twice, ...others.map((way) => way.wholeReadings)], readings);
    });
  }

  return {
    find: (pattern) => findReadings(pattern, 'readings', []),
    *tiers(pattern, found) {
      const ofTitles = (set: NumberSet) => subtract(set, ofSlugs);
      for (const set of findBeginnings(pattern)) yield ofTitles(set);
      const whole = findReadings(pattern, 'wholeReadings', [found]);
      const wholeOfTitles = ofTitles(whole);
      yield withPhrase(pattern, wholeOfTitles);
      yield wholeOfTitles;
      yield whole;
      yield ofTitles(found);
      yield found;
    },
  };
}
