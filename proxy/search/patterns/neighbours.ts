/** Finds the readings in which words are next to each other, in order. */
import {
  type Postings,
  type ReadingWords,
  type Run,
  runBetween,
} from '../../../format/index/search-index.ts';
import { lowestBit } from '../sets/bits.ts';
import { filter, intersect, lengthOf, union, unite } from '../sets/combine.ts';
import { EMPTY, type NumberSet, sizeOf } from '../sets/number-set.ts';
import { isSingle, MOST_JOINED, type Pattern, type WordChoice } from './pattern.ts';
import { readingsOfPair, type WordPairs } from './word-pairs.ts';

export interface Neighbours {
  /** The readings in which neighbouring words match the choices one after another. */
  withChoices(choices: readonly WordChoice[]): NumberSet;
  /**
   * The readings that have the words of the query next to each other, in order, without prefixes.
   * @param whole the readings that match the pattern without prefixes
   */
  withPhrase(pattern: Pattern, whole: NumberSet): NumberSet;
}

/** For each of several neighbouring words of a title, the numbers of the words that it may be. */
type Phrase = readonly (readonly number[])[];

/** A way of a pattern as a phrase. */
interface PhraseWay {
  readonly queryWords: number;
  readonly phrase: Phrase;
}

/** At most this many readings are checked one by one without being narrowed first. */
const FEW = 1_000;

export function makeNeighbours(
  postings: Postings,
  { words, start }: ReadingWords,
  pairs: WordPairs,
): Neighbours {
  const readings = start.length - 1;

  /**
   * Runs that hold every reading in which a word of `first` is directly followed by a word of `second`.
   * They may hold other readings, too.
   */
  function candidates(first: WordChoice, second: WordChoice): Run[] {
    return first.numbers.flatMap((left) =>
      second.numbers.map(
        (right) => readingsOfPair(pairs, left, right) ?? rarer(runOf(left), runOf(right)),
      ),
    );
  }

  function runOf(number: number): Run {
    return runBetween(postings, number, number + 1);
  }

  /**
   * The readings to look at for a phrase. For each pair of neighbouring words of the query, a reading must
   * have both words as neighbours, or match one of the two together with other words.
   */
  function narrow(pattern: Pattern, whole: NumberSet): NumberSet {
    const narrowed = [whole];
    for (let at = 0; at + 1 < pattern.length; at++) {
      const runs: Run[] = [];
      const others: NumberSet[] = [];
      for (const way of pattern[at].filter(isSingle)) {
        for (const after of pattern[at + 1].filter(isSingle)) {
          runs.push(...candidates(way.choices[0], after.choices[0]));
        }
      }
      for (let from = Math.max(0, at - MOST_JOINED + 1); from <= at + 1; from++) {
        for (const way of pattern[from]) {
          if (!isSingle(way) && from + way.queryWords > at) {
            others.push(way.wholeReadings());
          }
        }
      }
      narrowed.push(unite([union(runs, readings), ...others], readings));
    }
    return intersect(narrowed);
  }

  /**
   * @param pattern for each word of the query, the ways to match it and the words after it
   * @returns a test: does a reading have neighbouring words that match the pattern?
   */
  function phraseTest(pattern: readonly (readonly PhraseWay[])[]): (reading: number) => boolean {
    const firsts = [...new Set(pattern[0].flatMap(({ phrase }) => phrase[0]))];
    // For each word of the query: a bit for each number of title words that match the words before it.
    // Several ways can lead to the same number. As separate paths, they would multiply at each word. Eight
    // words of a query match at most 24 words of a title, so the bits fit.
    const matched = new Uint32Array(pattern.length + 1);

    function matchesFrom(from: number, end: number): boolean {
      matched.fill(0);
      matched[0] = 1;
      for (let at = 0; at < pattern.length; at++) {
        for (let rest = matched[at]; rest !== 0; rest &= rest - 1) {
          const before = lowestBit(rest);
          for (const { queryWords, phrase } of pattern[at]) {
            if (from + before + phrase.length > end || !hasWords(phrase, from + before)) continue;
            matched[at + queryWords] |= 1 << (before + phrase.length);
          }
        }
      }
      return matched[pattern.length] !== 0;
    }

    return (reading) => {
      const end = start[reading + 1];
      for (let from = start[reading]; from < end; from++) {
        if (isOneOf(firsts, words[from]) && matchesFrom(from, end)) return true;
      }
      return false;
    };
  }

  function hasWords(phrase: Phrase, from: number): boolean {
    for (let i = 0; i < phrase.length; i++) if (!isOneOf(phrase[i], words[from + i])) return false;
    return true;
  }

  return {
    withChoices(choices) {
      let fewest: Run[] | undefined;
      for (let at = 0; at + 1 < choices.length; at++) {
        const runs = candidates(choices[at], choices[at + 1]);
        if (fewest === undefined || lengthOf(runs) < lengthOf(fewest)) fewest = runs;
      }
      const phrase = choices.map(({ numbers }) => numbers);
      return filter(union(fewest ?? [], readings), phraseTest([[{ queryWords: 1, phrase }]]));
    },
    withPhrase(pattern, whole) {
      if (pattern.length === 1 && pattern[0].every(({ allowsParts }) => !allowsParts)) return whole;
      const found = sizeOf(whole) <= FEW ? whole : narrow(pattern, whole);
      if (sizeOf(found) === 0) return EMPTY;
      const phrases = pattern.map((ways) =>
        ways.map(({ queryWords, choices }) => ({
          queryWords,
          phrase: choices.map(({ numbers }) => numbers),
        })),
      );
      return filter(found, phraseTest(phrases));
    },
  };
}

function rarer(one: Run, other: Run): Run {
  return lengthOf([one]) <= lengthOf([other]) ? one : other;
}

// A loop over indexes, since this runs for every word of thousands of readings.
function isOneOf(numbers: readonly number[], number: number): boolean {
  for (let at = 0; at < numbers.length; at++) if (numbers[at] === number) return true;
  return false;
}
