/**
 * Finds the ways to match words of a query: looks up the words that count as equal, the words that begin
 * with the last one, parts of words in scripts without spaces, and words that the query writes together or
 * apart where titles do not.
 */
import { LRUCache } from 'lru-cache';
import { equalWords } from '../../../format/index/equal-words.ts';
import {
  findPrefix,
  findText,
  LONGEST_ENDING,
  runBetween,
  type SearchIndex,
} from '../../../format/index/search-index.ts';
import { isScriptWithoutSpaces } from '../../../format/index/words.ts';
import { unite } from '../sets/combine.ts';
import { EMPTY, isEmpty, type NumberSet } from '../sets/number-set.ts';
import type { PostingSets } from '../sets/posting-sets.ts';
import type { Neighbours } from './neighbours.ts';
import { MOST_JOINED, once, type Way, type WordChoice } from './pattern.ts';
import { mayBeNeighbours, type WordPairs } from './word-pairs.ts';

/** Ways that no reading matches are left out. */
export interface Ways {
  /**
   * The way to match a word with one word of a title, if there is one.
   * @param isLast whether it is the last word of the query
   * @param near the numbers of its near spellings
   */
  ofWord(word: string, isLast: boolean, near: readonly number[]): Way[];
  /** The ways to match a word that titles split: with two or three neighbouring words. */
  ofSplitWord(word: string): readonly Way[];
  /**
   * The way to match two or three words that titles join: with one word, if there is one.
   * @param hasLast whether the last word of the query is among them
   */
  ofJoinedWords(words: readonly string[], hasLast: boolean): Way[];
}

/** The cache of split words keeps at most this many numbers of four bytes. */
const MOST_KEPT = 1_000_000;
/** What an entry and each way of it count as, besides their word and their readings. */
const ENTRY_SIZE = 50;
const FEWEST_CHARACTERS_OF_PART = 2;

/** @param sets of the readings */
export function makeWays(
  index: SearchIndex,
  pairs: WordPairs,
  neighbours: Neighbours,
  sets: PostingSets,
): Ways {
  const readings = index.readingsByWords.length;
  // The parts of a common word are often neighbours in some title by chance. Finding these titles takes
  // long, so they are kept.
  const splits = new LRUCache<string, readonly Way[]>({
    maxSize: MOST_KEPT,
    sizeCalculation: (ways, word) =>
      ways.reduce((size, way) => size + ENTRY_SIZE + sizeInMemory(way.readings()), ENTRY_SIZE) +
      word.length,
  });

  /** The numbers of the given words that titles have, each once, ascending. */
  function numbersOf(words: readonly string[]): readonly number[] {
    const numbers = words
      .map((word) => findText(index.words, word))
      .filter((number) => number >= 0);
    return ascending(numbers);
  }

  function withNumbers(numbers: readonly number[]): NumberSet {
    if (numbers.length === 0) return EMPTY;
    if (numbers.length === 1) return sets.ofText(index.words, numbers[0]);
    return sets.ofRuns(`words ${numbers}`, () =>
      numbers.map((number) => runBetween(index.words, number, number + 1)),
    );
  }

  function withPrefix(list: 'words' | 'endings', [from, to]: readonly [number, number]): NumberSet {
    if (to - from === 1) return sets.ofText(index[list], from);
    return sets.ofRuns(`${list} ${from}-${to}`, () => [runBetween(index[list], from, to)]);
  }

  /** The readings with a word that contains a word in a script without spaces. */
  function withPart(word: string): NumberSet {
    if (!isScriptWithoutSpaces(word)) return EMPTY;
    const characters = [...word];
    if (characters.length < FEWEST_CHARACTERS_OF_PART) return EMPTY;
    // A part of a word is the beginning of an ending. Folding can make a word longer than any ending.
    const part = characters.slice(0, LONGEST_ENDING).join('');
    return withPrefix('endings', findPrefix(index.endings, part));
  }

  /** The range of the words that begin with a text. */
  function prefixOf(text: string): WordChoice['prefix'] {
    const prefix = findPrefix(index.words, text);
    return prefix[0] < prefix[1] ? prefix : undefined;
  }

  /**
   * A way to match words of a query with one word of a title.
   * @param parts the readings with a word that contains the word of the query
   */
  function wayOfOne(queryWords: number, choice: WordChoice, parts = EMPTY): Way {
    const { numbers, prefix } = choice;
    const [from, to] = prefix ?? [0, 0];
    const beginning = prefix === undefined ? EMPTY : withPrefix('words', prefix);
    // Most words that match whole also begin with the last word: they need not be looked up again.
    const others = numbers.filter((number) => number < from || number >= to);
    return {
      queryWords,
      choices: [choice],
      allowsParts: !isEmpty(parts),
      readings: once(() => unite([beginning, withNumbers(others), parts], readings)),
      wholeReadings: once(() => unite([withNumbers(numbers), parts], readings)),
    };
  }

  function areNeighbours(first: WordChoice, second: WordChoice): boolean {
    return first.numbers.some((left) =>
      second.numbers.some((right) => mayBeNeighbours(pairs, left, right)),
    );
  }

  function findSplits(word: string): readonly Way[] {
    const ways: Way[] = [];
    const choiceOf = (text: string) => ({
      numbers: numbersOf(equalWords(text)),
      prefix: undefined,
    });
    const extend = (choices: readonly WordChoice[], rest: string) => {
      const before = choices.at(-1);
      const last = choiceOf(rest);
      if (before !== undefined && areNeighbours(before, last)) {
        const all = [...choices, last];
        const found = neighbours.withChoices(all);
        if (!isEmpty(found)) ways.push(wayOfSeveral(all, found));
      }
      if (choices.length === MOST_JOINED - 1) return;
      for (let end = 1; end < rest.length; end++) {
        const choice = choiceOf(rest.slice(0, end));
        const fits =
          before === undefined ? choice.numbers.length > 0 : areNeighbours(before, choice);
        if (fits) extend([...choices, choice], rest.slice(end));
      }
    };
    extend([], word);
    return ways;
  }

  return {
    ofWord(word, isLast, near) {
      const numbers = ascending([...numbersOf(equalWords(word)), ...near]);
      const prefix = isLast ? prefixOf(word) : undefined;
      const parts = withPart(word);
      const canMatch = numbers.length > 0 || prefix !== undefined || !isEmpty(parts);
      return canMatch ? [wayOfOne(1, { numbers, prefix }, parts)] : [];
    },
    ofSplitWord(word) {
      const known = splits.get(word);
      if (known !== undefined) return known;
      const found = findSplits(word);
      splits.set(word, found);
      return found;
    },
    ofJoinedWords(words, hasLast) {
      const numbers = numbersOf(join(words));
      const prefix = hasLast ? prefixOf(words.join('')) : undefined;
      const canMatch = numbers.length > 0 || prefix !== undefined;
      return canMatch ? [wayOfOne(words.length, { numbers, prefix })] : [];
    },
  };
}

/** A way to match one word of a query with several words of a title. @param found the readings */
function wayOfSeveral(choices: readonly WordChoice[], found: NumberSet): Way {
  return {
    queryWords: 1,
    choices,
    allowsParts: false,
    readings: () => found,
    wholeReadings: () => found,
  };
}

/** Every way to write words, or words that equal them, as one word. */
function join(words: readonly string[]): string[] {
  return words.reduce(
    (texts, word) => texts.flatMap((text) => equalWords(word).map((equal) => text + equal)),
    [''],
  );
}

/** How many numbers a set keeps in memory. */
function sizeInMemory(set: NumberSet): number {
  return (set.list ?? set.bits).length;
}

/** Distinct numbers in ascending order. */
function ascending(numbers: readonly number[]): readonly number[] {
  return numbers.length < 2 ? numbers : [...new Set(numbers)].sort((a, b) => a - b);
}
