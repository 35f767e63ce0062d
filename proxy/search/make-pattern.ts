/**
 * Makes the pattern of a reading of a query: looks up its words, the words that count as equal, parts of
 * words in scripts without spaces, and words that the query writes together or apart where the title does
 * not.
 */

import type { ReadingWords } from '../../format/index/reading-words.ts';
import {
  findPrefix,
  findText,
  runBetween,
  type SearchIndex,
} from '../../format/index/search-index.ts';
import { isJoinedScript } from '../../format/index/words.ts';
import { equalWords } from './equal-words.ts';
import type { Pattern, Way, WordChoice } from './pattern.ts';
import type { PostingSets } from './posting-sets.ts';
import { EMPTY, type RankSet, unite } from './rank-set.ts';

/** How many neighbouring words count as one word. */
const MOST_JOINED = 3;

/** @returns the numbers of further words that count as a word; used for near spellings */
export type Widen = (word: string) => readonly number[];

export type MakePattern = (words: readonly string[], widen?: Widen) => Pattern;

/** @param sets of the readings */
export function makePatternMaker(
  index: SearchIndex,
  spelled: ReadingWords,
  sets: PostingSets,
): MakePattern {
  const readings = spelled.start.length - 1;

  /** The numbers of the words that count as a word, ascending. */
  function numbersOf(word: string): number[] {
    const numbers = equalWords(word).map((equal) => findText(index.words, equal));
    return numbers.filter((number) => number >= 0).sort((a, b) => a - b);
  }

  function withNumbers(numbers: readonly number[]): RankSet {
    if (numbers.length === 1) return sets.ofText(index.words, numbers[0]);
    return sets.ofRuns(`words ${numbers}`, () =>
      numbers.map((number) => runBetween(index.words, number, number + 1)),
    );
  }

  function withPrefix(kind: 'words' | 'endings', [from, to]: readonly [number, number]): RankSet {
    if (to - from === 1) return sets.ofText(index[kind], from);
    return sets.ofRuns(`${kind} ${from}-${to}`, () => [runBetween(index[kind], from, to)]);
  }

  /** The way to match words of a query with one word of a title. @param parts readings that match besides */
  function wayOfOne(next: number, choice: WordChoice, parts = EMPTY): Way {
    const whole = unite([withNumbers(choice.numbers), parts], readings);
    const { prefix } = choice;
    const found =
      prefix === undefined ? whole : unite([withPrefix('words', prefix), whole], readings);
    return { next, choices: [choice], found, whole };
  }

  /** The readings with a part of a word in a script without spaces. */
  function withPart(word: string): RankSet {
    if (!isJoinedScript(word) || [...word].length < 2) return EMPTY;
    // A prefix of an ending of a word is any part of the word.
    return withPrefix('endings', findPrefix(index.endings, word));
  }

  /** The ways to match one word of a query with two or three neighbouring words of a title. */
  function waysOfSeveral(word: string, next: number): Way[] {
    const ways: Way[] = [];
    const extend = (choices: WordChoice[], rest: string) => {
      if (choices.length > 0) {
        const last = choiceOf(numbersOf(rest));
        if (last !== undefined) {
          const all = [...choices, last];
          const found = withNeighbours(all);
          if (found !== EMPTY) ways.push({ next, choices: all, found, whole: found });
        }
      }
      if (choices.length === MOST_JOINED - 1) return;
      for (let end = 1; end < rest.length; end++) {
        const choice = choiceOf(numbersOf(rest.slice(0, end)));
        if (choice !== undefined) extend([...choices, choice], rest.slice(end));
      }
    };
    extend([], word);
    return ways;
  }

  /** The readings in which neighbouring words match the choices one after another. */
  function withNeighbours(choices: readonly WordChoice[]): RankSet {
    const rarest = choices.map(countPostings).reduce((a, b) => (a.count <= b.count ? a : b));
    const found = new Set<number>();
    const { words, start } = spelled;
    const { ranks, ranksStart } = index.words;
    for (const number of rarest.numbers) {
      for (let at = ranksStart[number]; at < ranksStart[number + 1]; at++) {
        const reading = ranks[at];
        const last = start[reading + 1] - choices.length;
        for (let from = start[reading]; from <= last; from++) {
          if (choices.every(({ numbers }, i) => numbers.includes(words[from + i]))) {
            found.add(reading);
          }
        }
      }
    }
    return found.size === 0 ? EMPTY : unite([{ list: Uint32Array.from(found).sort() }], readings);
  }

  function countPostings({ numbers }: WordChoice) {
    const { ranksStart } = index.words;
    let count = 0;
    for (const number of numbers) count += ranksStart[number + 1] - ranksStart[number];
    return { numbers, count };
  }

  /** The numbers of the words of a title that several words of a query make when written together. */
  function numbersOfJoined(words: readonly string[]): number[] {
    let texts: string[] = [''];
    for (const word of words) {
      texts = texts.flatMap((text) => equalWords(word).map((equal) => text + equal));
    }
    const numbers = texts
      .map((text) => findText(index.words, text))
      .filter((number) => number >= 0);
    return [...new Set(numbers)].sort((a, b) => a - b);
  }

  function prefixOf(text: string): WordChoice['prefix'] {
    const prefix = findPrefix(index.words, text);
    return prefix[0] < prefix[1] ? prefix : undefined;
  }

  return (words, widen = () => []) =>
    words.map((word, at) => {
      const ways: Way[] = [];
      const isLast = at === words.length - 1;
      const numbers = [...new Set([...numbersOf(word), ...widen(word)])].sort((a, b) => a - b);
      const prefix = isLast ? prefixOf(word) : undefined;
      const parts = withPart(word);
      if (numbers.length > 0 || prefix !== undefined || parts !== EMPTY) {
        ways.push(wayOfOne(at + 1, { numbers, prefix }, parts));
      }
      ways.push(...waysOfSeveral(word, at + 1));
      for (let next = at + 2; next <= Math.min(at + MOST_JOINED, words.length); next++) {
        const joined = words.slice(at, next);
        const numbers = numbersOfJoined(joined);
        const prefix = next === words.length ? prefixOf(joined.join('')) : undefined;
        if (numbers.length > 0 || prefix !== undefined)
          ways.push(wayOfOne(next, { numbers, prefix }));
      }
      return ways;
    });
}

function choiceOf(numbers: readonly number[]): WordChoice | undefined {
  return numbers.length > 0 ? { numbers, prefix: undefined } : undefined;
}
