/**
 * Finds the games whose titles match the text of a query. Up to four steps are tried, and the first that
 * finds a game applies: all words, near spellings, names of platforms, all words but one.
 */
import type { RecordIndex } from '../../../lib/format/index/record-index.ts';
import { type SearchIndex, textAt } from '../../../lib/format/index/search-index.ts';
import { nearSpellingDistance } from '../../../lib/format/index/words.ts';
import { remember } from '../remember.ts';
import { makePatternMatcher } from './match-pattern.ts';
import { nearSpellings } from './near-spellings.ts';
import { makePatternMaker, type Pattern } from './pattern.ts';
import { makePhrases } from './phrases.ts';
import { makePlatformWords } from './platform-names.ts';
import type { PreparedSearch } from './prepare-search.ts';
import type { Step } from './query.ts';
import { copyBits, setBit } from './sets/bits.ts';
import { intersect, union, unite } from './sets/combine.ts';
import { forEach, isEmpty, type NumberSet } from './sets/number-set.ts';
import { makePostingSets } from './sets/posting-sets.ts';

export interface TitleMatch {
  readonly step: Step;
  /** The ranks of the games. */
  readonly ranks: NumberSet;
  /**
   * The ranks of the games, best tier first, and those of games on other platforms. A game can be in several
   * tiers; the first one counts. Undefined if the query only names platforms.
   */
  readonly tiers: Iterable<NumberSet> | undefined;
}

type Readings = readonly (readonly string[])[];

/** A pattern, the readings that match it, and the ranks of their games. */
interface Attempt {
  readonly pattern: Pattern;
  readonly found: NumberSet;
  readonly ranks: NumberSet;
}

/** In so few readings, the near spellings of a word are found faster than in all. */
const FEW_READINGS = 300;

/** @param onPlatform the games among which a title must match; undefined for all */
export type MatchTitles = (readings: Readings, onPlatform?: NumberSet) => TitleMatch | undefined;

/** @returns a function that finds the games; undefined if there are none */
export function makeTitleMatcher(
  index: SearchIndex,
  { spellingIndex, pairs }: PreparedSearch,
  records: RecordIndex,
  onPlatforms: (numbers: readonly number[]) => NumberSet,
): MatchTitles {
  const { games, rankOfFurther, readings: readingWords } = index;
  const readingCount = index.readingsByWords.length;
  const sets = makePostingSets(index, readingCount);
  const phrases = makePhrases(readingWords, pairs, sets);
  const startPatterns = makePatternMaker(index, phrases, sets);
  const matcher = makePatternMatcher(index, phrases);
  const platformWords = makePlatformWords(records);

  function matchOf(step: Step, attempts: readonly Attempt[]): TitleMatch | undefined {
    if (attempts.length === 0) return undefined;
    function* findTiers() {
      const all = attempts.map(({ pattern, found }) => matcher.tiers(pattern, found));
      for (;;) {
        const tier = all.flatMap((tiers) => tiers.next().value ?? []);
        if (tier.length === 0) return;
        yield ranksOf(unite(tier, readingCount));
      }
    }
    const ranks = attempts.map((attempt) => attempt.ranks);
    return { step, ranks: unite(ranks, games), tiers: findTiers() };
  }

  /** The ranks of the games that have these readings. */
  function ranksOf(set: NumberSet): NumberSet {
    if (rankOfFurther.length === 0) return set;
    if (set.list !== undefined) {
      if ((set.list.at(-1) ?? 0) < games) return set;
      const ranks = set.list.map((reading) =>
        reading < games ? reading : rankOfFurther[reading - games],
      );
      return union([ranks], games);
    }
    const bits = copyBits(set.bits.subarray(0, Math.ceil(games / 32)));
    // The last 32 bits can include those of further readings.
    if (games % 32 !== 0) bits[bits.length - 1] &= (1 << (games % 32)) - 1;
    const skipped = Math.floor(games / 32);
    forEach({ bits: set.bits.subarray(skipped), atMost: set.atMost }, (at) => {
      const reading = skipped * 32 + at;
      if (reading >= games) setBit(bits, rankOfFurther[reading - games]);
    });
    return { bits, atMost: Math.min(set.atMost, games) };
  }

  return (readings, onPlatform) => {
    const limits = onPlatform === undefined ? [] : [onPlatform];
    const makePattern = startPatterns();
    const findAllNear = remember((word: string) => findNear(word));
    const findNearAmong = (word: string, among?: NumberSet) =>
      among?.list !== undefined && among.list.length <= FEW_READINGS
        ? findNear(word, among.list)
        : findAllNear(word);

    function attempt(words: readonly string[], isNear: boolean, within = limits): Attempt[] {
      const pattern = makePattern(words, isNear ? findNearAmong : undefined);
      if (pattern === undefined) return [];
      const found = matcher.find(pattern);
      const ranks = intersect([ranksOf(found), ...within]);
      return isEmpty(ranks) ? [] : [{ pattern, found, ranks }];
    }

    function matchPlatforms(isNear: boolean): TitleMatch | undefined {
      for (const { platforms, rest } of readings.flatMap(platformWords.runsIn)) {
        const within = [onPlatforms(platforms), ...limits];
        if (rest.length === 0) {
          const ranks = intersect(within);
          if (!isEmpty(ranks)) return { step: 'platform', ranks, tiers: undefined };
          continue;
        }
        const match = matchOf('platform', attempt(rest, isNear, within));
        if (match !== undefined) return match;
      }
      return undefined;
    }

    const attemptAll = (all: Readings, isNear = false) =>
      all.flatMap((words) => attempt(words, isNear));
    return (
      matchOf('exact', attemptAll(readings)) ??
      matchOf('near', attemptAll(readings, true)) ??
      matchPlatforms(false) ??
      matchPlatforms(true) ??
      matchOf('partial', attemptAll(readings.flatMap(withoutOne)))
    );
  };

  /**
   * The numbers of the near spellings of a word that have the same digits.
   * @param readings the only ones that matter; undefined for all
   */
  function findNear(word: string, readings?: Uint32Array): number[] {
    const distance = nearSpellingDistance(word);
    // "snes" is not a misspelled "nes": it names a platform.
    if (distance === 0 || platformWords.isName(word)) return [];
    const digits = digitsOf(word);
    return nearSpellings(
      spellingIndex,
      index.words,
      word,
      distance,
      readings && wordsIn(readings),
    ).filter((number) => digitsOf(textAt(index.words, number)) === digits);
  }

  function wordsIn(readings: Uint32Array): number[] {
    const found = new Set<number>();
    for (const reading of readings) {
      for (let at = readingWords.start[reading]; at < readingWords.start[reading + 1]; at++) {
        found.add(readingWords.words[at]);
      }
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
