/**
 * Makes the pattern of a reading of a query: looks up its words, the words that count as equal, parts of
 * words in scripts without spaces, and words that the query writes together or apart where the title does
 * not.
 */
import { LRUCache } from 'lru-cache';
import { equalWords } from '../../../format/index/equal-words.ts';
import {
  countReadings,
  findPrefix,
  runBetween,
  type SearchIndex,
} from '../../../format/index/search-index.ts';
import { isJoinedScript } from '../../../format/index/words.ts';
import { unite } from '../sets/combine.ts';
import { intersect } from '../sets/intersect.ts';
import type { PostingSets } from '../sets/posting-sets.ts';
import { atMost, EMPTY, isEmpty, type RankSet } from '../sets/rank-set.ts';
import type { Neighbours } from './neighbours.ts';
import { once } from './once.ts';
import { MOST_JOINED, type Pattern, type Way, type WordChoice } from './pattern.ts';
import type { Vocabulary } from './vocabulary.ts';

/** The cache of words that titles write as several keeps at most this many numbers of four bytes. */
const MOST_KEPT = 1_000_000;
/** What an entry and each way of it count as, besides their word and their readings. */
const ENTRY_SIZE = 50;

/**
 * @param isNear whether near spellings of a word count as the word
 * @returns undefined if no reading can match
 */
export type MakePattern = (words: readonly string[], isNear: boolean) => Pattern | undefined;

/**
 * @param sets of the readings
 * @param findNear returns the numbers of the near spellings of a word
 * @returns a function to call once for each query. What it returns remembers the words it has looked up
 */
export function makePatternMaker(
  index: SearchIndex,
  vocabulary: Vocabulary,
  neighbours: Neighbours,
  sets: PostingSets,
  findNear: (word: string) => readonly number[],
): () => MakePattern {
  const readings = countReadings(index);
  // The parts of a common word are often neighbours in some title by chance. Finding these titles takes
  // long, so they are kept.
  const splits = new LRUCache<string, readonly Way[]>({
    maxSize: MOST_KEPT,
    sizeCalculation: (ways, word) =>
      word.length + sum([ENTRY_SIZE, ...ways.map(({ found }) => ENTRY_SIZE + lengthOf(found()))]),
  });

  /** The numbers of the words that count as a word, ascending. */
  function numbersOf(word: string): readonly number[] {
    const numbers = equalWords(word).map(vocabulary.numberOf);
    return ascending(numbers.filter((number) => number >= 0));
  }

  function withNumbers(numbers: readonly number[]): RankSet {
    if (numbers.length === 0) return EMPTY;
    if (numbers.length === 1) return sets.ofText(index.words, numbers[0]);
    return sets.ofRuns(`words ${numbers}`, () =>
      numbers.map((number) => runBetween(index.words, number, number + 1)),
    );
  }

  function withPrefix(kind: 'words' | 'endings', [from, to]: readonly [number, number]): RankSet {
    if (to - from === 1) return sets.ofText(index[kind], from);
    return sets.ofRuns(`${kind} ${from}-${to}`, () => [runBetween(index[kind], from, to)]);
  }

  /**
   * The way to match words of a query with one word of a title.
   * @param parts the readings with a word of which the word of the query is a part
   */
  function wayOfOne(length: number, choice: WordChoice, parts = EMPTY): Way {
    const { numbers, prefix } = choice;
    const begins = (number: number) =>
      prefix !== undefined && number >= prefix[0] && number < prefix[1];
    const others = numbers.filter((number) => !begins(number));
    const beginning = prefix === undefined ? EMPTY : withPrefix('words', prefix);
    return {
      length,
      choices: [choice],
      found: once(() => unite([beginning, withNumbers(others), parts], readings)),
      foundIn: (set) =>
        unite(
          [beginning, parts, ...others.map((number) => sets.ofText(index.words, number))].map(
            (one) => intersect([one, set]),
          ),
          readings,
        ),
      whole: once(() => unite([withNumbers(numbers), parts], readings)),
      isExact: isEmpty(parts),
    };
  }

  /** The readings with a part of a word in a script without spaces. */
  function withPart(word: string): RankSet {
    if (!isJoinedScript(word) || [...word].length < 2) return EMPTY;
    // A prefix of an ending of a word is any part of the word.
    return withPrefix('endings', findPrefix(index.endings, word));
  }

  function wayOfFound(length: number, choices: readonly WordChoice[], found: RankSet): Way {
    return {
      length,
      choices,
      found: () => found,
      foundIn: (set) => intersect([found, set]),
      whole: () => found,
      isExact: true,
    };
  }

  /** The ways to match one word of a query with two or three neighbouring words of a title. */
  function waysOfSeveral(word: string): readonly Way[] {
    const known = splits.get(word);
    if (known !== undefined) return known;
    const ways: Way[] = [];
    const extend = (choices: WordChoice[], rest: string) => {
      const last = { numbers: numbersOf(rest), prefix: undefined };
      if (areNeighbours(choices.at(-1), last)) {
        const all = [...choices, last];
        const found = neighbours.withChoices(all);
        if (!isEmpty(found)) ways.push(wayOfFound(1, all, found));
      }
      if (choices.length === MOST_JOINED - 1) return;
      for (let end = 1; end < rest.length; end++) {
        const choice = { numbers: numbersOf(rest.slice(0, end)), prefix: undefined };
        const fits =
          choices.length === 0 ? choice.numbers.length > 0 : areNeighbours(choices.at(-1), choice);
        if (fits) extend([...choices, choice], rest.slice(end));
      }
    };
    extend([], word);
    splits.set(word, ways);
    return ways;
  }

  function areNeighbours(first: WordChoice | undefined, second: WordChoice): boolean {
    return (
      first?.numbers.some((left) =>
        second.numbers.some((right) => vocabulary.mayBeNeighbours(left, right)),
      ) ?? false
    );
  }

  /** The numbers of the words of a title that several words of a query make when written together. */
  function numbersOfJoined(words: readonly string[]): readonly number[] {
    let texts: string[] = [''];
    for (const word of words) {
      texts = texts.flatMap((text) => equalWords(word).map((equal) => text + equal));
    }
    return ascending(texts.map(vocabulary.numberOf).filter((number) => number >= 0));
  }

  function prefixOf(text: string): WordChoice['prefix'] {
    const prefix = findPrefix(index.words, text);
    return prefix[0] < prefix[1] ? prefix : undefined;
  }

  function waysOfWord(word: string, isLast: boolean, near: readonly number[]): Way[] {
    const numbers = ascending([...numbersOf(word), ...near]);
    const prefix = isLast ? prefixOf(word) : undefined;
    const parts = withPart(word);
    const canMatch = numbers.length > 0 || prefix !== undefined || !isEmpty(parts);
    return canMatch ? [wayOfOne(1, { numbers, prefix }, parts)] : [];
  }

  function waysOfJoined(words: readonly string[], hasLast: boolean): Way[] {
    const numbers = numbersOfJoined(words);
    const prefix = hasLast ? prefixOf(words.join('')) : undefined;
    const canMatch = numbers.length > 0 || prefix !== undefined;
    return canMatch ? [wayOfOne(words.length, { numbers, prefix })] : [];
  }

  return () => {
    const known = new Map<string, readonly Way[]>();
    const remember = (key: string, make: () => Way[]) => {
      const ways = known.get(key) ?? make();
      known.set(key, ways);
      return ways;
    };
    const single = (words: readonly string[], at: number, isNear: boolean) => {
      const word = words[at];
      const isLast = at === words.length - 1;
      return remember(`${isNear ? 'near' : 'word'} ${isLast} ${word}`, () =>
        waysOfWord(word, isLast, isNear ? findNear(word) : []),
      );
    };
    const joined = (words: readonly string[], at: number, length: number) => {
      const part = words.slice(at, at + length);
      const hasLast = at + length === words.length;
      return remember(`joined ${hasLast} ${part.join(' ')}`, () => waysOfJoined(part, hasLast));
    };

    return (words, isNear) => {
      const pattern = words.map((word) => [...waysOfSeveral(word)]);
      const isCovered = words.map(() => false);
      for (let at = 0; at < words.length; at++) {
        for (let length = 2; length <= Math.min(MOST_JOINED, words.length - at); length++) {
          const ways = joined(words, at, length);
          pattern[at].push(...ways);
          if (ways.length > 0) isCovered.fill(true, at, at + length);
        }
      }
      const order = [...words.keys()];
      if (isNear) {
        // Near spellings take long to find: begin with rare words, and stop when no reading is left.
        const sizes = order.map((at) =>
          sum(single(words, at, false).map(({ found }) => atMost(found()))),
        );
        order.sort((a, b) => sizes[a] - sizes[b]);
      }
      let rest: RankSet | undefined;
      for (const at of order) {
        pattern[at].push(...single(words, at, isNear));
        if (isCovered[at]) continue;
        if (pattern[at].length === 0) return undefined;
        if (!isNear) continue;
        rest = unite(
          pattern[at].map((way) => (rest === undefined ? way.found() : way.foundIn(rest))),
          readings,
        );
        if (isEmpty(rest)) return undefined;
      }
      return pattern;
    };
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0);
}

/** How many numbers a set keeps in memory. */
function lengthOf(set: RankSet): number {
  return (set.list ?? set.bits).length;
}

/** Distinct numbers in ascending order. */
function ascending(numbers: readonly number[]): readonly number[] {
  if (numbers.length < 2) return numbers;
  return [...new Set(numbers)].sort((a, b) => a - b);
}
