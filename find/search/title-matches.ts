/**
 * Finds the games whose titles match the text of a query. Up to four steps are tried, and the first that
 * finds a game applies: all words, near spellings, names of platforms, all words but one.
 */

import { bitAt, setBit } from '../../lib/columns/bits.ts';
import type { Rank } from '../../lib/columns/numbers.ts';
import { textAt } from '../../lib/columns/postings.ts';
import { remember } from '../../lib/program/remember.ts';
import type { PlatformNames } from '../names/platform-names.ts';
import { isNumeral } from '../text/equal-words.ts';
import { nearSpellingDistance } from '../text/words.ts';
import {
  AlternativeFinder,
  type FindNear,
  isSingle,
  type Pattern,
  PatternMaker,
} from './alternatives.ts';
import { PatternMatcher } from './match-pattern.ts';
import { type AmongWords, nearSpellings } from './near-spellings.ts';
import type { SearchIndex, VariantNumber } from './open.ts';
import { Phrases } from './phrases.ts';
import type { PreparedSearch } from './prepare-search.ts';
import type { Step } from './query.ts';
import {
  cardinality,
  forEach,
  has,
  isEmpty,
  type NumberBits,
  type NumberList,
  type NumberSet,
  toList,
} from './sets/number-set.ts';
import { PostingSets } from './sets/posting-sets.ts';

export interface TitleMatch {
  readonly step: Step;
  /** The ranks of the games. */
  readonly ranks: NumberSet<Rank>;
  /**
   * Best tier first. A game can be in several tiers; the first one counts. Undefined if the query only names
   * platforms.
   */
  readonly tiers: Iterable<Tier> | undefined;
}

/** Games that match equally well, in parts: those of which more words match come first. */
export type Tier = readonly TierPart[];

interface TierPart {
  /** How many words match. Those of the title, as it is shown, less these are additional. */
  readonly matched: number;
  /** The ranks of the games, and of some on other platforms. */
  readonly ranks: NumberSet<Rank>;
}

type Variants = readonly (readonly string[])[];

/** The words of a query, their pattern, the variants that match it, and the ranks of their games. */
interface Attempt {
  readonly words: readonly string[];
  readonly pattern: Pattern;
  readonly found: NumberSet<VariantNumber>;
  readonly ranks: NumberSet<Rank>;
}

/** Finds what matches some words, with spaces between them; undefined if nothing can. */
type TryText = (text: string) => Attempt | undefined;
/** @param within limits the games; without it, to those of the query */
type TryWords = (
  words: readonly string[],
  within?: readonly NumberSet<Rank>[],
  tryText?: TryText,
) => Attempt[];

/** Near spellings must be this many times as frequent as the prefix, each by itself and in the games of a query. */
const FAR_MORE = 10;
/** What people write before a platform. */
const BEFORE_PLATFORM = new Set(['on', 'for']);

/** The tiers of titles that equal a query or begin with it. */
const TIERS_OF_BEGINNING = 3;

/**
 * So many near spellings count for all words of a query together: the words after them have none. Of 63,000 words in
 * 148,454 titles, no word is near more than 50.
 */
const MOST_SPELLINGS = 1_000;

/** In so few variants, the near spellings of a word are found faster than in all. */
const FEW_VARIANTS = 300;

export class TitleMatcher {
  private readonly index: SearchIndex;
  private readonly prepared: PreparedSearch;
  private readonly rankSets: PostingSets<Rank>;
  private readonly variantSets: PostingSets<VariantNumber>;
  private readonly alternatives: AlternativeFinder;
  private readonly matcher: PatternMatcher;
  /** The variants in which initials of a title are words of their own, as bits. */
  private readonly spelledOut: Uint32Array;
  /** These, and those of titles that are not the one which is shown, as a list and as bits. */
  private readonly apart: NumberSet<VariantNumber>;
  private readonly apartBits: Uint32Array;
  private readonly platformNames: PlatformNames;
  private readonly onPlatforms: (numbers: readonly number[]) => NumberSet<Rank>;

  /**
   * @param rankSets the sets of the ranks
   * @param onPlatforms returns the ranks of the games of some platforms
   */
  constructor(
    index: SearchIndex,
    prepared: PreparedSearch,
    platformNames: PlatformNames,
    rankSets: PostingSets<Rank>,
    onPlatforms: (numbers: readonly number[]) => NumberSet<Rank>,
  ) {
    this.index = index;
    this.prepared = prepared;
    this.rankSets = rankSets;
    this.variantSets = new PostingSets(index, index.variantsByWords.length, rankSets.memory);
    const phrases = new Phrases(index.variants, prepared.pairs, this.variantSets);
    this.alternatives = new AlternativeFinder(index, phrases);
    this.matcher = new PatternMatcher(index, phrases);
    // Copies, since each query uses the memory of the one before again.
    this.spelledOut = this.variantSets.toBits({ list: prepared.spelledOut }).bits.slice();
    this.apart = { list: Uint32Array.from([...prepared.spelledOut, ...prepared.ofOthers]).sort() };
    this.apartBits = this.variantSets.toBits(this.apart).bits.slice();
    this.platformNames = platformNames;
    this.onPlatforms = onPlatforms;
  }

  /**
   * @param onPlatform the games among which a title must match; undefined for all
   * @returns undefined if no game matches
   */
  match(variants: Variants, onPlatform?: NumberSet<Rank>): TitleMatch | undefined {
    const limits = onPlatform === undefined ? [] : [onPlatform];
    const patterns = new PatternMaker(this.alternatives);
    let left = MOST_SPELLINGS;
    const findSome = (word: string, among?: AmongWords) => {
      const found = left === 0 ? [] : this.findNear(word, among).slice(0, left);
      left -= found.length;
      return found;
    };
    const findAllNear = remember((word: string) => findSome(word));
    const findNear: FindNear = (word, among) =>
      among?.list !== undefined && among.list.length <= FEW_VARIANTS
        ? findSome(word, { numbers: this.wordsIn(among.list) })
        : findAllNear(word);

    // Several steps try the same words.
    const makeTry = (near?: FindNear) =>
      remember((text: string): Attempt | undefined => {
        const words = text.split(' ');
        const pattern = patterns.make(words, near);
        if (pattern === undefined) return undefined;
        const found = this.matcher.find(pattern);
        return { words, pattern, found, ranks: this.ranksOf(found) };
      });
    const tryExact = makeTry();
    const tryNear = makeTry(findNear);

    const attempt: TryWords = (words, within = limits, tryText = tryExact) => {
      const tried = tryText(words.join(' '));
      if (tried === undefined) return [];
      const ranks = this.rankSets.intersect([tried.ranks, ...within]);
      return isEmpty(ranks) ? [] : [{ ...tried, ranks }];
    };

    const matchPlatforms = (tryText: TryText): TitleMatch | undefined => {
      for (const { platforms, rest } of variants.flatMap(this.platformNames.runsIn)) {
        const within = [this.onPlatforms(platforms), ...limits];
        if (rest.length === 0) {
          const ranks = this.rankSets.intersect(within);
          if (!isEmpty(ranks)) return { step: 'platform', ranks, tiers: undefined };
          continue;
        }
        const match = this.matchOf('platform', attempt(rest, within, tryText));
        if (match !== undefined) return match;
      }
      return undefined;
    };

    const attemptAll = (all: Variants, tryText?: TryText) =>
      all.flatMap((words) => attempt(words, limits, tryText));
    const exact = attemptAll(variants);
    const beside = this.findNearBesidePrefixes(exact, limits);
    const both = beside && this.matchOf('near', exact, attemptAll(variants, makeTry(beside)));
    if (both) {
      const ofExact = cardinality(this.uniteRanks(exact));
      if (cardinality(both.ranks) - ofExact >= FAR_MORE * ofExact) return both;
    }
    return (
      this.matchPlatformAtEnds(variants, exact, limits, attempt) ??
      this.matchOf('exact', exact) ??
      this.matchOf('near', attemptAll(variants, tryNear)) ??
      matchPlatforms(tryExact) ??
      matchPlatforms(tryNear) ??
      this.matchOf('partial', attemptAll(variants.flatMap(withoutOne)))
    );
  }

  /**
   * If words at the end or the beginning name a platform, and games of it have titles that equal the other words or
   * begin with them: the exact matches and these games, since "tetris nes" is a rare title and more likely means another
   * one; without exact matches, all games of the platform that the other words find.
   */
  private matchPlatformAtEnds(
    variants: Variants,
    exact: readonly Attempt[],
    limits: readonly NumberSet<Rank>[],
    attempt: TryWords,
  ): TitleMatch | undefined {
    const several = variants.filter(({ length }) => length > 1);
    for (const { platforms, rest, isAtEnd } of several.flatMap(this.platformNames.runsIn)) {
      if (!isAtEnd || rest.length === 0) continue;
      const isBefore = rest.length > 1 && BEFORE_PLATFORM.has(rest[rest.length - 1]);
      const within = this.rankSets.intersect([this.onPlatforms(platforms), ...limits]);
      const found = attempt(isBefore ? rest.slice(0, -1) : rest, [within]);
      const tiers = this.tiersOf(found)
        .take(TIERS_OF_BEGINNING)
        .map((tier) =>
          tier.map((part) => ({ ...part, ranks: this.rankSets.intersect([part.ranks, within]) })),
        )
        .toArray();
      const ofPlatform = this.uniteRanks(tiers.flat());
      if (isEmpty(ofPlatform)) continue;
      if (exact.length === 0) return this.matchOf('platform', found);
      const ranks = this.rankSets.unite([ofPlatform, this.uniteRanks(exact)]);
      return { step: 'platform', ranks, tiers: inTurn(this.tiersOf(exact), tiers) };
    }
    return undefined;
  }

  /**
   * If titles have the last word only as a prefix, and far more titles have words that are spelled
   * nearly like it, these words: "teken" begins "Tekenen", but more likely means "Tekken".
   */
  private findNearBesidePrefixes(
    exact: readonly Attempt[],
    within: readonly NumberSet<Rank>[],
  ): FindNear | undefined {
    const lastWords = exact.map(({ words }) => words[words.length - 1]);
    if (lastWords.some((word) => nearSpellingDistance(word) === 0)) return undefined;
    const isOnlyPrefix = ({ pattern, found }: Attempt) => {
      const whole = this.ranksOf(this.matcher.findWhole(pattern, found));
      return isEmpty(this.rankSets.intersect([whole, ...within]));
    };
    // That is quick to tell of few variants. Of many, it is quicker to tell that no word is in far more.
    const areFew = exact.every(({ found }) => found.list !== undefined);
    if (areFew && !exact.every(isOnlyPrefix)) return undefined;
    const { entriesStart } = this.index.words;
    const near = new Map<string, readonly number[]>();
    for (const word of lastWords) {
      const counts = this.alternatives
        .prefixRangesOf(word)
        .map(([from, to]) => entriesStart[to] - entriesStart[from]);
      const ofMoreThan = FAR_MORE * counts.reduce((sum, one) => sum + one, 0);
      const numbers = this.findNear(word, { ofMoreThan });
      if (numbers.length > 0) near.set(word, numbers);
    }
    if (near.size === 0 || !(areFew || exact.every(isOnlyPrefix))) return undefined;
    return (word) => near.get(word) ?? [];
  }

  /** @param groups those of a group come after those of the groups before it */
  private matchOf(step: Step, ...groups: readonly (readonly Attempt[])[]): TitleMatch | undefined {
    const attempts = groups.flat();
    if (attempts.length === 0) return undefined;
    return { step, ranks: this.uniteRanks(attempts), tiers: this.tiersOfGroups(groups) };
  }

  private uniteRanks(all: readonly { readonly ranks: NumberSet<Rank> }[]): NumberSet<Rank> {
    return this.rankSets.unite(all.map(({ ranks }) => ranks));
  }

  private *tiersOfGroups(groups: readonly (readonly Attempt[])[]): Generator<Tier> {
    for (const attempts of groups) yield* this.tiersOf(attempts);
  }

  private *tiersOf(attempts: readonly Attempt[]): Generator<Tier> {
    if (attempts.length === 0) return;
    const all = attempts.map(({ pattern, found }) => ({
      pattern,
      tiers: this.matcher.tiers(pattern, found),
      byMatched: this.matcher.byMatched(pattern, found),
    }));
    for (;;) {
      const parts: TierPart[] = [];
      for (const { pattern, tiers, byMatched } of all) {
        const { value: tier } = tiers.next();
        if (tier === undefined) return;
        for (const [matched, set] of byMatched) {
          const isOnly = byMatched.length === 1;
          parts.push(
            ...this.partsOf(
              isOnly ? tier : this.variantSets.intersect([tier, set]),
              matched,
              pattern,
            ),
          );
        }
      }
      const byMatched = [...Map.groupBy(parts, ({ matched }) => matched)];
      yield byMatched
        .sort(([a], [b]) => b - a)
        .map(([matched, same]) => ({ matched, ranks: this.uniteRanks(same) }));
    }
  }

  /**
   * Letters of initials are shown as words of their own, so variants that do not join them are longer. Of a title that
   * is not shown, only the words count that the one which is shown has.
   */
  private partsOf(found: NumberSet<VariantNumber>, matched: number, pattern: Pattern): TierPart[] {
    const { games, rankOfFurther } = this.index;
    const apart = this.variantSets.intersect([found, this.apart]);
    if (isEmpty(apart)) return [{ matched, ranks: this.ranksOf(found) }];
    const others = this.variantSets.subtract(found, this.apartBits);
    const singles = pattern.flatMap((alternatives) => alternatives.filter(isSingle));
    const byMatched = Map.groupBy(toList(apart), (variant) => {
      // The number of a game's first variant is its rank.
      const shown = rankOfFurther[variant - games];
      return bitAt(this.spelledOut, variant) === 1
        ? matched - this.lengthOf(variant) + this.lengthOf(shown)
        : singles.filter((single) => has(single.found, shown)).length;
    });
    const parts = Array.from(byMatched, ([fewer, variants]) => {
      return { matched: fewer, ranks: this.ranksOf({ list: Uint32Array.from(variants) }) };
    });
    return [{ matched, ranks: this.ranksOf(others) }, ...parts];
  }

  /** How many words a variant has. */
  lengthOf(variant: number): number {
    const { start } = this.index.variants;
    return start[variant + 1] - start[variant];
  }

  /** The ranks of the games that have these variants. */
  private ranksOf(set: NumberSet<VariantNumber>): NumberSet<Rank> {
    const { games, rankOfFurther } = this.index;
    // The number of a game's first variant is its rank.
    const ofFirst: NumberList | NumberBits = set;
    if (rankOfFurther.length === 0) return ofFirst;
    if (set.list !== undefined) {
      if ((set.list.at(-1) ?? 0) < games) return ofFirst;
      const ranks = set.list.map((variant) =>
        variant < games ? variant : rankOfFurther[variant - games],
      );
      return this.rankSets.union([ranks]);
    }
    const bits = this.rankSets.copyBits(set.bits.subarray(0, Math.ceil(games / 32)));
    // The last 32 bits can include those of further variants.
    if (games % 32 !== 0) bits[bits.length - 1] &= (1 << (games % 32)) - 1;
    const skipped = Math.floor(games / 32);
    forEach({ bits: set.bits.subarray(skipped), atMost: set.atMost }, (at) => {
      const variant = skipped * 32 + at;
      if (variant >= games) setBit(bits, rankOfFurther[variant - games]);
    });
    return { bits, atMost: Math.min(set.atMost, games) };
  }

  /** The numbers of the near spellings of a word that have the same digits. */
  private findNear(word: string, among?: AmongWords): number[] {
    const distance = nearSpellingDistance(word);
    // "snes" is not a misspelled "nes": it names a platform.
    if (distance === 0 || this.platformNames.isName(word)) return [];
    const { words } = this.index;
    const digits = digitsOf(word);
    return nearSpellings(this.prepared.spellingIndex, words, word, distance, among).filter(
      (number) => digitsOf(textAt(words, number)) === digits,
    );
  }

  private wordsIn(variants: Uint32Array): number[] {
    const { words, start } = this.index.variants;
    const found = new Set<number>();
    for (const variant of variants) {
      for (let at = start[variant]; at < start[variant + 1]; at++) found.add(words[at]);
    }
    return [...found];
  }
}

/** What equals the whole query, what equals it without the platform, and the others of each. */
function* inTurn(exact: Generator<Tier>, [equal, ...others]: readonly Tier[]): Generator<Tier> {
  const { value: first } = exact.next();
  if (first !== undefined) yield first;
  yield equal;
  yield* exact;
  yield* others;
}

/** The digits of a word. Each letter of a Roman numeral is one. */
function digitsOf(word: string): string {
  return isNumeral(word) ? word : word.replace(/\P{N}+/gu, '');
}

/** A variant without its first word, without its second word, and so on; each once. */
function withoutOne(words: readonly string[]): string[][] {
  if (words.length < 2) return [];
  // Without either of two equal neighbours, the same words are left.
  return words.flatMap((word, at) => (word === words[at - 1] ? [] : [words.toSpliced(at, 1)]));
}
