/**
 * The readings of pairs of frequent words that are neighbours. Words that are in few readings need no
 * such list, since their readings can be looked at one by one. The lists are made while a generation is
 * opened, in memory that threads share.
 */
import type { ReadingWords } from '../../../format/index/reading-words.ts';
import type { Postings, Run } from '../../../format/index/search-index.ts';
import { sharedZeros } from '../../../format/index/shared-zeros.ts';

export interface FrequentPairs {
  /** For each word, its index among the frequent words plus 1, or 0 for other words. */
  readonly indexOf: Uint16Array;
  /** Where the readings of each pair start, at `first * words + second`, and the end. */
  readonly start: Uint32Array;
  /** The readings of all pairs, ascending for each. */
  readonly readings: Uint32Array;
}

/** A word that is in more than this share of all readings is frequent. */
const FREQUENT = 1 / 256;
const FEWEST_READINGS = 1_000;
/** The most frequent words: a table has an entry for every pair of them. */
const MOST_FREQUENT_WORDS = 512;

export function makeFrequentPairs(postings: Postings, readingWords: ReadingWords): FrequentPairs {
  const { entriesStart } = postings;
  const count = entriesStart.length - 1;
  const { words: wordAt, start: readingStart } = readingWords;
  const readings = readingStart.length - 1;
  const threshold = Math.max(FEWEST_READINGS, readings * FREQUENT);
  const countOf = (word: number) => entriesStart[word + 1] - entriesStart[word];
  const frequent: number[] = [];
  for (let word = 0; word < count; word++) if (countOf(word) > threshold) frequent.push(word);
  frequent.sort((a, b) => countOf(b) - countOf(a));
  const indexOf = sharedZeros(Uint16Array, count);
  const words = Math.min(frequent.length, MOST_FREQUENT_WORDS);
  for (let index = 0; index < words; index++) indexOf[frequent[index]] = index + 1;

  /** Calls `use` for every pair of every reading, each pair once. */
  function eachPair(use: (pair: number, reading: number) => void): void {
    const last = new Uint32Array(words * words).fill(readings);
    for (let reading = 0; reading < readings; reading++) {
      for (let at = readingStart[reading] + 1; at < readingStart[reading + 1]; at++) {
        const first = indexOf[wordAt[at - 1]];
        const second = indexOf[wordAt[at]];
        if (first === 0 || second === 0) continue;
        const pair = (first - 1) * words + second - 1;
        if (last[pair] === reading) continue;
        last[pair] = reading;
        use(pair, reading);
      }
    }
  }

  const start = sharedZeros(Uint32Array, words * words + 1);
  eachPair((pair) => start[pair + 1]++);
  for (let pair = 0; pair < words * words; pair++) start[pair + 1] += start[pair];
  const next = start.slice();
  const found = sharedZeros(Uint32Array, start[words * words]);
  eachPair((pair, reading) => {
    found[next[pair]++] = reading;
  });
  return { indexOf, start, readings: found };
}

/** The readings in which two words are neighbours, in this order; undefined if one of them is not frequent. */
export function readingsOfPair(
  { indexOf, start, readings }: FrequentPairs,
  first: number,
  second: number,
): Run | undefined {
  const [left, right] = [indexOf[first], indexOf[second]];
  if (left === 0 || right === 0) return undefined;
  const words = Math.round(Math.sqrt(start.length - 1));
  const pair = (left - 1) * words + right - 1;
  return { entries: readings, from: start[pair], to: start[pair + 1] };
}
