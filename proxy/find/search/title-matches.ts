/**
 * Finds the games whose titles match the text of a query. Up to four steps are tried, and the first that
 * finds a game applies: all words, near spellings, names of platforms, all words but one.
 */
import { setBit } from '../../../lib/format/index/bits.ts';
import { type SearchIndex, textAt } from '../../../lib/format/index/search-index.ts';
import { nearSpellingDistance } from '../../../lib/format/index/words.ts';
import type { PlatformNames } from '../platform-names.ts';
import { remember } from '../remember.ts';
import { PatternMatcher } from './match-pattern.ts';
import { nearSpellings } from './near-spellings.ts';
import { type FindNear, type Pattern, PatternMaker } from './pattern.ts';
import { Phrases } from './phrases.ts';
import type { PreparedSearch } from './prepare-search.ts';
import type { Step } from './query.ts';
import { forEach, from, has, isEmpty, type NumberSet, sizeOf } from './sets/number-set.ts';
import { PostingSets } from './sets/posting-sets.ts';
import { WayFinder } from './ways.ts';

export interface TitleMatch {
  readonly step: Step;
  /** The ranks of the games. */
  readonly ranks: NumberSet;
  /**
   * Best tier first. A game can be in several tiers; the first one counts. Undefined if the query only names
   * platforms.
   */
  readonly tiers: Iterable<Tier> | undefined;
}

export interface Tier {
  /** The ranks of the games, and of some on other platforms. */
  readonly ranks: NumberSet;
  /**
   * How many words of its title, as it is shown, the query does not have, for each game of which that is not the
   * number of its words less that of the query.
   * @param among the only games that matter
   */
  exceptions(among: NumberSet): ReadonlyMap<number, number>;
  /** How many words the query has. */
  readonly words: number;
}

type Readings = readonly (readonly string[])[];

/** The words for which near spellings count. */
type Near = 'all' | 'last';

/** The words of a query, their pattern, the readings that match it, and the ranks of their games. */
interface Attempt {
  readonly words: readonly string[];
  readonly pattern: Pattern;
  readonly found: NumberSet;
  readonly ranks: NumberSet;
}

/** In so few readings, the near spellings of a word are found faster than in all. */
const FEW_READINGS = 300;

export class TitleMatcher {
  private readonly index: SearchIndex;
  private readonly prepared: PreparedSearch;
  private readonly ranks: PostingSets;
  private readonly readings: PostingSets;
  private readonly ways: WayFinder;
  private readonly matcher: PatternMatcher;
  private readonly platformNames: PlatformNames;
  private readonly onPlatforms: (numbers: readonly number[]) => NumberSet;

  /**
   * @param ranks the sets of the ranks
   * @param onPlatforms returns the ranks of the games of some platforms
   */
  constructor(
    index: SearchIndex,
    prepared: PreparedSearch,
    platformNames: PlatformNames,
    ranks: PostingSets,
    onPlatforms: (numbers: readonly number[]) => NumberSet,
  ) {
    this.index = index;
    this.prepared = prepared;
    this.ranks = ranks;
    this.readings = new PostingSets(index, index.readingsByWords.length, ranks.memory);
    const phrases = new Phrases(index.readings, prepared.pairs, this.readings);
    this.ways = new WayFinder(index, phrases);
    this.matcher = new PatternMatcher(index, phrases);
    this.platformNames = platformNames;
    this.onPlatforms = onPlatforms;
  }

  /**
   * @param onPlatform the games among which a title must match; undefined for all
   * @returns undefined if no game matches
   */
  match(readings: Readings, onPlatform?: NumberSet): TitleMatch | undefined {
    const limits = onPlatform === undefined ? [] : [onPlatform];
    const patterns = new PatternMaker(this.ways);
    const findAllNear = remember((word: string) => this.findNear(word));
    const findNear: FindNear = (word, among) =>
      among?.list !== undefined && among.list.length <= FEW_READINGS
        ? this.findNear(word, among.list)
        : findAllNear(word);

    const attempt = (words: readonly string[], near?: Near, within = limits): Attempt[] => {
      const pattern = patterns.make(words, near && findNear, near);
      if (pattern === undefined) return [];
      const found = this.matcher.find(pattern);
      const ranks = this.ranks.intersect([this.ranksOf(found), ...within]);
      return isEmpty(ranks) ? [] : [{ words, pattern, found, ranks }];
    };

    const matchPlatforms = (near?: Near): TitleMatch | undefined => {
      for (const { platforms, rest } of readings.flatMap(this.platformNames.runsIn)) {
        const within = [this.onPlatforms(platforms), ...limits];
        if (rest.length === 0) {
          const ranks = this.ranks.intersect(within);
          if (!isEmpty(ranks)) return { step: 'platform', ranks, tiers: undefined };
          continue;
        }
        const match = this.matchOf('platform', attempt(rest, near, within));
        if (match !== undefined) return match;
      }
      return undefined;
    };

    const attemptAll = (all: Readings, near?: Near) => all.flatMap((words) => attempt(words, near));
    const exact = attemptAll(readings);
    if (this.areBeginnings(exact, limits)) {
      // "teken" begins "Tekenen", but rather is "Tekken".
      const near = this.matchOf('near', exact, attemptAll(readings, 'last'));
      if (near !== undefined && sizeOf(near.ranks) > sizeOf(this.uniteRanks(exact))) return near;
    }
    return (
      this.matchOf('exact', exact) ??
      this.matchOf('near', attemptAll(readings, 'all')) ??
      matchPlatforms() ??
      matchPlatforms('all') ??
      this.matchOf('partial', attemptAll(readings.flatMap(withoutOne)))
    );
  }

  /** Whether titles match attempts only with a beginning of a word that could be misspelled. */
  private areBeginnings(attempts: readonly Attempt[], within: readonly NumberSet[]): boolean {
    return (
      attempts.length > 0 &&
      attempts.every(({ words, pattern, found }) => {
        if (nearSpellingDistance(words[words.length - 1]) === 0) return false;
        const whole = this.ranksOf(this.matcher.findWhole(pattern, found));
        return isEmpty(this.ranks.intersect([whole, ...within]));
      })
    );
  }

  /** @param groups those of a group come after those of the groups before it */
  private matchOf(step: Step, ...groups: readonly (readonly Attempt[])[]): TitleMatch | undefined {
    const attempts = groups.flat();
    if (attempts.length === 0) return undefined;
    return { step, ranks: this.uniteRanks(attempts), tiers: this.tiersOfGroups(groups) };
  }

  private uniteRanks(attempts: readonly Attempt[]): NumberSet {
    return this.ranks.unite(attempts.map(({ ranks }) => ranks));
  }

  private *tiersOfGroups(groups: readonly (readonly Attempt[])[]): Generator<Tier> {
    for (const attempts of groups) yield* this.tiersOf(attempts);
  }

  private *tiersOf(attempts: readonly Attempt[]): Generator<Tier> {
    const all = attempts.map(({ pattern, found }) => this.matcher.tiers(pattern, found));
    const words = attempts[0]?.words.length ?? 0;
    for (;;) {
      const sets = all.flatMap((tiers) => tiers.next().value ?? []);
      if (sets.length === 0) return;
      const exceptions = (among: NumberSet) => this.exceptionsOf(attempts, sets, words, among);
      yield { ranks: this.ranksOf(this.readings.unite(sets)), exceptions, words };
    }
  }

  /**
   * The additional words of the games that are found by further readings, by words that are written together, or
   * by a reading of the query with another number of words.
   * @param sets for each attempt, the readings of the tier
   * @param among the only games that matter
   */
  private exceptionsOf(
    attempts: readonly Attempt[],
    sets: readonly NumberSet[],
    words: number,
    among: NumberSet,
  ): Map<number, number> {
    const { games, rankOfFurther } = this.index;
    const found = new Map<number, number>();
    const add = (rank: number, additional: number) =>
      found.set(rank, Math.min(additional, found.get(rank) ?? additional));
    const rankOf = (reading: number) =>
      reading < games ? reading : rankOfFurther[reading - games];
    for (const [at, { pattern }] of attempts.entries()) {
      const set = sets[at];
      const together = this.matcher.findTogether(pattern, set);
      const unusual = this.readings.unite([together, from(set, games)]);
      forEach(pattern.length === words ? unusual : set, (reading) => {
        const rank = rankOf(reading);
        if (!has(among, rank)) return;
        const matched = this.matcher.mostMatched(pattern, reading);
        if (reading < games) add(rank, this.lengthOf(rank) - matched);
        else add(rank, Math.max(0, this.shownLength(reading, rank) - matched));
      });
    }
    // A game can also be in the tier by the words of its title alone.
    for (const rank of found.keys()) {
      for (const [at, { pattern }] of attempts.entries()) {
        if (!has(sets[at], rank)) continue;
        add(rank, this.lengthOf(rank) - this.matcher.mostMatched(pattern, rank));
      }
    }
    return found;
  }

  /** How many words the title has as it is shown. Initials that are words of their own count as such. */
  private shownLength(reading: number, rank: number): number {
    const own = this.lengthOf(reading);
    const shown = this.lengthOf(rank);
    return own > shown && this.lettersOf(reading) === this.lettersOf(rank) ? own : shown;
  }

  /** How many words a reading has. */
  lengthOf(reading: number): number {
    const { start } = this.index.readings;
    return start[reading + 1] - start[reading];
  }

  private lettersOf(reading: number): string {
    const { words, start } = this.index.readings;
    const all = words.subarray(start[reading], start[reading + 1]);
    return Array.from(all, (word) => textAt(this.index.words, word)).join('');
  }

  /** The ranks of the games that have these readings. */
  private ranksOf(set: NumberSet): NumberSet {
    const { games, rankOfFurther } = this.index;
    if (rankOfFurther.length === 0) return set;
    if (set.list !== undefined) {
      if ((set.list.at(-1) ?? 0) < games) return set;
      const ranks = set.list.map((reading) =>
        reading < games ? reading : rankOfFurther[reading - games],
      );
      return this.ranks.union([ranks]);
    }
    const bits = this.ranks.copyBits(set.bits.subarray(0, Math.ceil(games / 32)));
    // The last 32 bits can include those of further readings.
    if (games % 32 !== 0) bits[bits.length - 1] &= (1 << (games % 32)) - 1;
    const skipped = Math.floor(games / 32);
    forEach({ bits: set.bits.subarray(skipped), atMost: set.atMost }, (at) => {
      const reading = skipped * 32 + at;
      if (reading >= games) setBit(bits, rankOfFurther[reading - games]);
    });
    return { bits, atMost: Math.min(set.atMost, games) };
  }

  /**
   * The numbers of the near spellings of a word that have the same digits.
   * @param readings the only ones that matter; undefined for all
   */
  private findNear(word: string, readings?: Uint32Array): number[] {
    const distance = nearSpellingDistance(word);
    // "snes" is not a misspelled "nes": it names a platform.
    if (distance === 0 || this.platformNames.isName(word)) return [];
    const { words } = this.index;
    const among = readings && this.wordsIn(readings);
    const digits = digitsOf(word);
    return nearSpellings(this.prepared.spellingIndex, words, word, distance, among).filter(
      (number) => digitsOf(textAt(words, number)) === digits,
    );
  }

  private wordsIn(readings: Uint32Array): number[] {
    const { words, start } = this.index.readings;
    const found = new Set<number>();
    for (const reading of readings) {
      for (let at = start[reading]; at < start[reading + 1]; at++) found.add(words[at]);
    }
    return [...found];
  }
}

function digitsOf(word: string): string {
  return word.replace(/\P{N}+/gu, '');
}

/** A reading without its first word, without its second word, and so on. */
function withoutOne(words: readonly string[]): string[][] {
  return words.length < 2 ? [] : words.map((_, at) => words.toSpliced(at, 1));
}
