/**
 * Finds the games whose titles match the text of a query. Up to four steps are tried, and the first that
 * finds a game applies: all words, near spellings, names of platforms, all words but one.
 */
import type { RecordIndex } from '../../format/index/record-index.ts';
import { type SearchIndex, textAt } from '../../format/index/search-index.ts';
import { nearSpellingDistance } from '../../format/index/words.ts';
import { nearSpellings } from './near-spellings.ts';
import { makePatternMaker } from './patterns/make-pattern.ts';
import { makePatternMatcher, type Tiers } from './patterns/match-pattern.ts';
import { makeNeighbours } from './patterns/neighbours.ts';
import type { Pattern } from './patterns/pattern.ts';
import { makeWays } from './patterns/ways.ts';
import { makePlatformWords } from './platform-words.ts';
import type { PreparedSearch } from './prepare-search.ts';
import type { Step } from './query.ts';
import { copyBits, lowestBit, setBit } from './sets/bits.ts';
import { intersect, union, unite } from './sets/combine.ts';
import { isEmpty, type NumberSet, wholeRun } from './sets/number-set.ts';
import { makePostingSets } from './sets/posting-sets.ts';

export interface TitleMatch {
  readonly step: Step;
  /** The ranks of the games. */
  readonly ranks: NumberSet;
  /**
   * The ranks of the games, best tier first. A game can be in several tiers; the first one counts.
   * Undefined if the query only names platforms.
   */
  tiers(): Tiers | undefined;
}

type Readings = readonly (readonly string[])[];

/** A pattern with the readings that match it, and the sets of games to which it is limited. */
interface Attempt {
  readonly pattern: Pattern;
  readonly found: NumberSet;
  readonly within: readonly NumberSet[];
}

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
  const neighbours = makeNeighbours(index.words, readingWords, pairs);
  const ways = makeWays(index, pairs, neighbours, makePostingSets(readingCount));
  const startPatterns = makePatternMaker(ways, readingCount, findNear);
  const matcher = makePatternMatcher(index, neighbours);
  const platformWords = makePlatformWords(records);

  function matchOf(step: Step, attempts: readonly Attempt[]): TitleMatch | undefined {
    if (attempts.length === 0) return undefined;
    // The ranks of the games that have one of the readings. The sets are those of the attempts, in order.
    const ranksOfAll = (readings: readonly NumberSet[]) => {
      const ranks = readings.map((set, at) => ranksWithin(ranksOf(set), attempts[at].within));
      return unite(ranks, games);
    };
    return {
      step,
      ranks: ranksOfAll(attempts.map(({ found }) => found)),
      tiers() {
        const all = attempts.map(({ pattern, found }) => matcher.tiers(pattern, found));
        return all[0].map((_, tier) => () => ranksOfAll(all.map((tiers) => tiers[tier]())));
      },
    };
  }

  /** The ranks of the games that have these readings. */
  function ranksOf(set: NumberSet): NumberSet {
    if (rankOfFurther.length === 0) return set;
    if (set.list !== undefined) {
      if ((set.list.at(-1) ?? 0) < games) return set;
      const ranks = set.list.map((reading) =>
        reading < games ? reading : rankOfFurther[reading - games],
      );
      return union([wholeRun(ranks)], games);
    }
    const bits = copyBits(set.bits.subarray(0, Math.ceil(games / 32)));
    // The last 32 bits can include those of further readings.
    if (games % 32 !== 0) bits[bits.length - 1] &= (1 << (games % 32)) - 1;
    for (let block = Math.floor(games / 32); block < set.bits.length; block++) {
      for (let rest = set.bits[block]; rest !== 0; rest &= rest - 1) {
        const reading = block * 32 + lowestBit(rest);
        if (reading < games) continue;
        setBit(bits, rankOfFurther[reading - games]);
      }
    }
    return { bits, atMost: Math.min(set.atMost, games) };
  }

  return (readings, onPlatform) => {
    const limits = onPlatform === undefined ? [] : [onPlatform];
    const makePattern = startPatterns();

    function attempt(words: readonly string[], isNear: boolean, within = limits): Attempt[] {
      const pattern = makePattern(words, isNear);
      if (pattern === undefined) return [];
      const found = matcher.find(pattern);
      if (isEmpty(found) || isEmpty(ranksWithin(ranksOf(found), within))) return [];
      return [{ pattern, found, within }];
    }

    function matchPlatforms(isNear: boolean): TitleMatch | undefined {
      for (const { platforms, rest } of readings.flatMap(platformWords.runsIn)) {
        const within = [onPlatforms(platforms), ...limits];
        if (rest.length === 0) {
          const ranks = intersect(within);
          if (!isEmpty(ranks)) return { step: 'platform', ranks, tiers: () => undefined };
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

function ranksWithin(ranks: NumberSet, within: readonly NumberSet[]): NumberSet {
  return within.length === 0 ? ranks : intersect([ranks, ...within]);
}

function digitsOf(word: string): string {
  return word.replace(/\P{N}+/gu, '');
}

/** A reading without its first word, without its second word, and so on. */
function withoutOne(words: readonly string[]): string[][] {
  return words.length < 2 ? [] : words.map((_, at) => words.toSpliced(at, 1));
}
