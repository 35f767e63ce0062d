/**
 * Makes the pattern of a reading of a query: for each of its words, the ways to match it, alone or together
 * with the words after it. A way is either one word of a title, or two or three neighbouring words of a title
 * that the query writes as one word.
 */
import { LRUCache } from 'lru-cache';
import { equalWords } from '../../../lib/format/index/equal-words.ts';
import {
  entriesAt,
  findPrefix,
  findText,
  LONGEST_ENDING,
  type SearchIndex,
} from '../../../lib/format/index/search-index.ts';
import { isScriptWithoutSpaces } from '../../../lib/format/index/words.ts';
import type { Phrase, Phrases, PhraseWay } from './phrases.ts';
import { intersect, unite } from './sets/combine.ts';
import { atMost, EMPTY, isEmpty, type NumberSet } from './sets/number-set.ts';
import type { PostingSets } from './sets/posting-sets.ts';

/** One way to match neighbouring words of a query, which some reading matches. */
export interface Way extends PhraseWay {
  /**
   * The range of the words that begin with the last word of the query: `from` inclusive, `to` exclusive.
   * Only a way with one word of a title has it, besides the phrase.
   */
  readonly prefix: readonly [from: number, to: number] | undefined;
  /** Whether a part of a word in a script without spaces is enough, whatever the phrase is. */
  readonly allowsParts: boolean;
  /** The readings that match. */
  readonly readings: NumberSet;
  /** Those of them that match without the prefix. */
  readonly wholeReadings: NumberSet;
}

/** For each word of a query, by position, the ways to match it and the words after it. */
export type Pattern = readonly (readonly Way[])[];

/** Whether a way matches one word of the query with one word of a title. A word has at most one such way. */
export function isSingle({ queryWords, phrase }: Way): boolean {
  return queryWords === 1 && phrase.length === 1;
}

/**
 * @param findNear returns the numbers of the near spellings of a word, which then count as the word; if there
 *   is a set, only those in its readings matter
 * @returns undefined if no reading can match
 */
export type MakePattern = (
  words: readonly string[],
  findNear?: (word: string, among?: NumberSet) => readonly number[],
) => Pattern | undefined;

/** At most this many neighbouring words count as one. */
const MOST_JOINED = 3;
const FEWEST_CHARACTERS_OF_PART = 2;
/** How many numbers the kept splits of words may have: with them, different searches take 0.6 of the time. */
const MOST_KEPT = 1_000_000;
/** What a split of a word counts as, besides its readings. */
const SPLIT_SIZE = 50;

/**
 * @param sets of the readings
 * @returns a function to call once for each query. What it returns remembers the words it has looked up
 */
export function makePatternMaker(
  index: SearchIndex,
  phrases: Phrases,
  sets: PostingSets,
): () => MakePattern {
  const readings = index.readingsByWords.length;
  const splits = new LRUCache<string, readonly Way[]>({
    maxSize: MOST_KEPT,
    sizeCalculation: (ways) =>
      ways.reduce((size, { readings }) => size + SPLIT_SIZE + lengthOf(readings), SPLIT_SIZE),
  });

  /** The numbers of the given words that titles have, each once, ascending. */
  function numbersOf(words: readonly string[]): readonly number[] {
    const numbers = words.map((word) => findText(index.words, word));
    return ascending(numbers.filter((number) => number >= 0));
  }

  function withNumbers(numbers: readonly number[]): NumberSet {
    if (numbers.length === 0) return EMPTY;
    if (numbers.length === 1) return sets.ofTexts('words', numbers[0]);
    return sets.ofLists(`numbers ${numbers}`, () =>
      numbers.map((number) => entriesAt(index.words, number)),
    );
  }

  /** The readings with a word that contains a word in a script without spaces. */
  function withPart(word: string): NumberSet {
    if (!isScriptWithoutSpaces(word)) return EMPTY;
    const characters = [...word];
    if (characters.length < FEWEST_CHARACTERS_OF_PART) return EMPTY;
    // A part of a word is the beginning of an ending. Folding can make a word longer than any ending.
    const part = characters.slice(0, LONGEST_ENDING).join('');
    return sets.ofTexts('endings', ...findPrefix(index.endings, part));
  }

  /**
   * The way to match words of a query with one word of a title, if there is one.
   * @param beginning what a word of the title may begin with
   * @param parts the readings with a word that contains the word of the query
   */
  function waysOfOne(
    queryWords: number,
    numbers: readonly number[],
    beginning: string | undefined,
    parts = EMPTY,
  ): Way[] {
    const wholeReadings = unite([withNumbers(numbers), parts], readings);
    const way = { queryWords, phrase: [numbers], allowsParts: !isEmpty(parts), wholeReadings };
    const [from, to] = beginning === undefined ? [0, 0] : findPrefix(index.words, beginning);
    if (from < to) {
      // Most words that match whole also begin with the last word: they need not be looked up again.
      const others = withNumbers(numbers.filter((number) => number < from || number >= to));
      const all = unite([sets.ofTexts('words', from, to), others, parts], readings);
      return [{ ...way, prefix: [from, to], readings: all }];
    }
    return isEmpty(wholeReadings) ? [] : [{ ...way, prefix: undefined, readings: wholeReadings }];
  }

  /** @param near the numbers of its near spellings */
  function waysOfWord(word: string, isLast: boolean, near: readonly number[] = []): Way[] {
    const numbers = ascending([...numbersOf(equalWords(word)), ...near]);
    return waysOfOne(1, numbers, isLast ? word : undefined, withPart(word));
  }

  /** The ways to match words that titles join: with one word. */
  function waysOfJoined(words: readonly string[], hasLast: boolean): Way[] {
    // Every way to write the words, or words that equal them, as one word.
    const texts = words.reduce(
      (before, word) => before.flatMap((text) => equalWords(word).map((equal) => text + equal)),
      [''],
    );
    return waysOfOne(words.length, numbersOf(texts), hasLast ? words.join('') : undefined);
  }

  /** The ways to match a word that titles split: with two or three neighbouring words. */
  function waysOfSplit(word: string): readonly Way[] {
    const known = splits.get(word);
    if (known !== undefined) return known;
    const ways: Way[] = [];
    const add = (...phrase: Phrase) => {
      const found = phrases.find([[{ queryWords: 1, phrase }]], phrases.candidates(phrase));
      if (isEmpty(found)) return;
      // A copy, since the next query uses the memory of bits again.
      const kept = found.bits === undefined ? found : { ...found, bits: found.bits.slice() };
      const sets = { readings: kept, wholeReadings: kept };
      ways.push({ queryWords: 1, phrase, prefix: undefined, allowsParts: false, ...sets });
    };
    const numbersAt = (from: number, to?: number) => numbersOf(equalWords(word.slice(from, to)));
    for (let i = 1; i < word.length; i++) {
      const first = numbersAt(0, i);
      if (first.length === 0) continue;
      for (let j = i + 1; j <= word.length; j++) {
        const second = numbersAt(i, j);
        if (!phrases.mayBeNeighbours(first, second)) continue;
        if (j === word.length) {
          add(first, second);
          continue;
        }
        const third = numbersAt(j);
        if (phrases.mayBeNeighbours(second, third)) add(first, second, third);
      }
    }
    splits.set(word, ways);
    return ways;
  }

  return () => {
    const known = new Map<string, readonly Way[]>();
    const once = (key: string, find: () => readonly Way[]) => {
      const ways = known.get(key) ?? find();
      known.set(key, ways);
      return ways;
    };

    return (words, findNear) => {
      const last = words.length - 1;
      const pattern: Way[][] = words.map(() => []);
      // Words that can match together with their neighbours need no way of their own.
      const isJoined = words.map(() => false);
      for (let at = 0; at < words.length; at++) {
        for (let end = at + 2; end <= Math.min(at + MOST_JOINED, words.length); end++) {
          const parts = words.slice(at, end);
          const key = `joined ${end > last} ${parts.join(' ')}`;
          const joined = once(key, () => waysOfJoined(parts, end > last));
          pattern[at].push(...joined);
          if (joined.length > 0) isJoined.fill(true, at, end);
        }
      }
      const exact = words.map((word, at) =>
        once(`word ${at === last} ${word}`, () => waysOfWord(word, at === last)),
      );
      const sizes = exact.map(([way]) => (way === undefined ? 0 : atMost(way.readings)));
      // Splits and near spellings take long to find, so those of rare words come first: no more are searched
      // once no reading can match. That is tested only with near spellings; otherwise it takes longer.
      let among: NumberSet | undefined;
      for (const at of [...words.keys()].sort((a, b) => sizes[a] - sizes[b])) {
        const word = words[at];
        const near = findNear?.(word, among) ?? [];
        pattern[at].push(
          ...waysOfSplit(word),
          ...(near.length === 0 ? exact[at] : waysOfWord(word, at === last, near)),
        );
        if (isJoined[at]) continue;
        if (pattern[at].length === 0) return undefined;
        if (findNear === undefined) continue;
        const found = unite(
          pattern[at].map((way) => way.readings),
          readings,
        );
        among = among === undefined ? found : intersect([among, found]);
        if (isEmpty(among)) return undefined;
      }
      return pattern;
    };
  };
}

/** How many numbers a set has in memory. */
function lengthOf(set: NumberSet): number {
  return (set.list ?? set.bits).length;
}

/** Distinct numbers in ascending order. */
function ascending(numbers: readonly number[]): readonly number[] {
  return numbers.length < 2 ? numbers : [...new Set(numbers)].sort((a, b) => a - b);
}
