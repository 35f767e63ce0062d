/**
 * Finds the variants that match a pattern, and sorts them into tiers: how well they match. No tier needs
 * a pass over all variants. Those that begin like the query are neighbours in the order of words, and
 * only variants that have all words whole are looked at one by one.
 */

import { firstIndex } from '../../lib/columns/arrays.ts';
import { isSingle, type Pattern } from './alternatives.ts';
import type { VariantNumber, WordIndex } from './open.ts';
import type { Phrases } from './phrases.ts';
import { isEmpty, type NumberSet } from './sets/number-set.ts';
import type { PostingSets } from './sets/posting-sets.ts';

/** A range of `variantsByWords`, `from` inclusive, `to` exclusive. */
type Range = readonly [from: number, to: number];

export class PatternMatcher {
  private readonly index: WordIndex;
  private readonly phrases: Phrases;
  private readonly variantSets: PostingSets<VariantNumber>;
  private readonly ofSlugs: Uint32Array;

  constructor(index: WordIndex, phrases: Phrases) {
    this.index = index;
    this.phrases = phrases;
    this.variantSets = phrases.variantSets;
    // A copy, since each query uses the memory of the one before again.
    this.ofSlugs = this.variantSets.toBits({ list: index.slugVariants }).bits.slice();
  }

  /** The variants that match a pattern. */
  find(pattern: Pattern): NumberSet<VariantNumber> {
    return this.findVariants(pattern, 'found', []);
  }

  /** Those of them that match without a prefix. @param found the result of `find` */
  findWhole(pattern: Pattern, found: NumberSet<VariantNumber>): NumberSet<VariantNumber> {
    return this.findVariants(pattern, 'foundWhole', [found]);
  }

  /** The same variants by how many of their words match, the most first. A variant can be in several sets. */
  byMatched(
    pattern: Pattern,
    found: NumberSet<VariantNumber>,
  ): (readonly [matched: number, NumberSet<VariantNumber>])[] {
    if (pattern.every((alternatives) => alternatives.every(isSingle)))
      return [[pattern.length, found]];
    return this.findByMatched(pattern, 'found', []).sort(([a], [b]) => b - a);
  }

  /**
   * The variants that a relevance order puts first, tier by tier. A variant can be in several tiers; the
   * first one counts:
   * 0. it equals the query; 1. it begins with the words of the query; 2. it begins with them, but has the
   * last one only as a prefix; 3. it has them next to each other, in order; 4. it has all of them as whole
   * words; 5. the same for the words of a slug; 6. it has the last one only as a prefix; 7. the same for the
   * words of a slug. People do not see slugs, so these are in no earlier tier.
   *
   * A generator, since the first tiers often fill a page and the others need not be found.
   * @param found the result of `find`
   */
  *tiers(
    pattern: Pattern,
    found: NumberSet<VariantNumber>,
  ): Generator<NumberSet<VariantNumber>, void> {
    const ofTitles = (set: NumberSet<VariantNumber>) =>
      this.variantSets.subtract(set, this.ofSlugs);
    for (const set of this.findFirstTiers(pattern)) yield ofTitles(set);
    const whole = this.findWhole(pattern, found);
    const wholeOfTitles = ofTitles(whole);
    yield this.withPhrase(pattern, wholeOfTitles);
    yield wholeOfTitles;
    yield whole;
    yield ofTitles(found);
    yield found;
  }

  /**
   * The variants that match each word by itself are an intersection of large sets, which is found last, the
   * smallest set first. Those that match words together with their neighbours, or written together, are
   * few. They are collected for each position of the query, so the work grows with the number of
   * alternatives.
   * @param within limits the result to these variants
   */
  private findVariants(
    pattern: Pattern,
    which: 'found' | 'foundWhole',
    within: readonly NumberSet<VariantNumber>[],
  ): NumberSet<VariantNumber> {
    const all = this.findByMatched(pattern, which, within, () => 0);
    return this.variantSets.unite(all.map(([, set]) => set));
  }

  /** @param keyOf what the sets are kept apart by */
  private findByMatched(
    pattern: Pattern,
    which: 'found' | 'foundWhole',
    within: readonly NumberSet<VariantNumber>[],
    keyOf = (matched: number) => matched,
  ): (readonly [key: number, NumberSet<VariantNumber>])[] {
    const { variantSets } = this;
    // For each position, the variants that match the words before it, with at least one such alternative.
    const reached: Map<number, NumberSet<VariantNumber>[]>[] = Array.from(
      { length: pattern.length + 1 },
      () => new Map(),
    );
    const add = (at: number, matched: number, sets: readonly NumberSet<VariantNumber>[]) => {
      const found = variantSets.intersect(sets);
      if (isEmpty(found)) return;
      const key = keyOf(matched);
      reached[at].set(key, [...(reached[at].get(key) ?? []), found]);
    };
    const reachedAt = (at: number) =>
      Array.from(reached[at], ([key, sets]) => [key, variantSets.unite(sets)] as const);
    // The sets of the words before a position, each matched by itself; undefined if one cannot be.
    let singles: NumberSet<VariantNumber>[] | undefined = [...within];
    for (const [at, alternatives] of pattern.entries()) {
      const before = reachedAt(at);
      for (const alternative of alternatives) {
        const { queryWords, phrase, [which]: ofAlternative } = alternative;
        for (const [matched, set] of before)
          add(at + queryWords, matched + phrase.length, [ofAlternative, set]);
        if (!isSingle(alternative) && singles !== undefined) {
          add(at + queryWords, at + phrase.length, [ofAlternative, ...singles]);
        }
      }
      const single = alternatives.find(isSingle);
      singles = single && singles && [...singles, single[which]];
    }
    if (singles !== undefined) add(pattern.length, pattern.length, singles);
    return reachedAt(pattern.length);
  }

  /** The first three tiers: the variants that equal the query, and those that begin with it. */
  private findFirstTiers(
    pattern: Pattern,
  ): readonly [NumberSet<VariantNumber>, NumberSet<VariantNumber>, NumberSet<VariantNumber>] {
    const equal: Range[] = [];
    const starting: Range[] = [];
    const withPrefix: Range[] = [];
    const visited = new Set<string>();

    // The variants in `range` have the same first `depth` words, which match the query up to `at`.
    const matchRest = (range: Range, at: number, depth: number): void => {
      // Several alternatives can lead to one range. Without this, their number would multiply at each word.
      const key = `${range} ${at} ${depth}`;
      if (visited.has(key)) return;
      visited.add(key);
      if (at === pattern.length) {
        starting.push(range);
        // A variant comes before the longer variants that begin with it.
        equal.push([range[0], this.firstAbove(range, depth, -1)]);
        return;
      }
      for (const { phrase, prefixRanges, queryWords } of pattern[at]) {
        // Only an alternative with the last word of the query has any: nothing follows.
        for (const words of prefixRanges)
          withPrefix.push(...this.withWords(range, depth, ...words));
        let ranges = [range];
        for (const [i, numbers] of phrase.entries()) {
          ranges = ranges.flatMap((wider) =>
            numbers.flatMap((number) => this.withWords(wider, depth + i, number, number + 1)),
          );
        }
        for (const narrower of ranges) matchRest(narrower, at + queryWords, depth + phrase.length);
      }
    };

    matchRest([0, this.variantSets.below], 0, 0);
    return [this.variantsIn(equal), this.variantsIn(starting), this.variantsIn(withPrefix)];
  }

  /**
   * The part of a range whose word at a depth has a number from `from` (inclusive) to `to` (exclusive).
   * @returns one range, or none
   */
  private withWords(range: Range, depth: number, from: number, to: number): Range[] {
    const first = this.firstAbove(range, depth, from - 1);
    if (first === range[1]) return [];
    const end = this.firstAbove([first, range[1]], depth, to - 1);
    return first < end ? [[first, end]] : [];
  }

  /** The first in a range whose word at a depth has a number above another one; no word counts as -1. */
  private firstAbove([from, to]: Range, depth: number, number: number): number {
    const { variants, variantsByWords } = this.index;
    const { words, start } = variants;
    return firstIndex(from, to, (at) => {
      const variant = variantsByWords[at];
      const position = start[variant] + depth;
      return position < start[variant + 1] && words[position] > number;
    });
  }

  private variantsIn(ranges: readonly Range[]): NumberSet<VariantNumber> {
    const { variantsByWords } = this.index;
    return this.variantSets.union(ranges.map(([from, to]) => variantsByWords.subarray(from, to)));
  }

  /**
   * The variants that have the words of the query next to each other, in order, without prefixes.
   * @param whole the variants that match the pattern without prefixes
   */
  private withPhrase(pattern: Pattern, whole: NumberSet<VariantNumber>): NumberSet<VariantNumber> {
    if (pattern.length === 1 && pattern[0].every(({ allowsParts }) => !allowsParts)) return whole;
    const among = this.variantSets.intersect([whole, ...this.withRepeated(pattern)]);
    return this.phrases.find(pattern, among);
  }

  /**
   * Most variants that have the words of "of of" have "of" once. Those that do not have it twice are ruled
   * out, unless they match words together with their neighbours.
   */
  private withRepeated(pattern: Pattern): NumberSet<VariantNumber>[] {
    const single = pattern.map((alternatives) => alternatives.find(isSingle)?.phrase[0] ?? []);
    const repeated = single.filter(
      (numbers, at) => at > 0 && numbers.length === 1 && single[at - 1].join() === numbers.join(),
    );
    const others = pattern.flat().filter((alternative) => !isSingle(alternative));
    return repeated.map((numbers) => {
      const twice = this.phrases.candidates([numbers, numbers]);
      return this.variantSets.unite([
        twice,
        ...others.map((alternative) => alternative.foundWhole),
      ]);
    });
  }
}
