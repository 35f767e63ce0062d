/**
 * The pairs of words that are neighbours in readings. They are found while a generation is opened, in
 * memory that threads share.
 *
 * - A Bloom filter of all pairs. A word of a query can be words of a title written together, so the search
 *   tries every place to split it, and reads postings only for words that are neighbours somewhere.
 * - The readings of pairs of frequent words. Words that are in few readings need no such list, since their
 *   readings can be looked at one by one.
 */

import { sharedZeros } from '../../../format/index/arrays.ts';
import type { Postings, ReadingWords, Run } from '../../../format/index/search-index.ts';
import { bitAt, setBit } from '../sets/bits.ts';

export interface WordPairs {
  /** The Bloom filter. Its length is a power of two. */
  readonly bits: Uint32Array;
  readonly frequent: FrequentPairs;
}

interface FrequentPairs {
  /** For each word, its index among the frequent words plus 1, or 0 for other words. */
  readonly indexOf: Uint16Array;
  /** Where the readings of each pair start, at `first * words + second`, and the end. */
  readonly start: Uint32Array;
  /** The readings of all pairs, ascending for each. */
  readonly readings: Uint32Array;
}

/** With so many bits for each pair, at most one in five pairs that no reading has seems to be there. */
const BITS_PER_PAIR = 4;
/** A word that is in more than this share of all readings is frequent. */
const FREQUENT = 1 / 256;
const FEWEST_READINGS = 1_000;
/** The most frequent words: a table has an entry for every pair of them. */
const MOST_FREQUENT_WORDS = 512;

export function makeWordPairs(postings: Postings, readingWords: ReadingWords): WordPairs {
  const { words, start } = readingWords;
  const length = Math.max(2, (words.length * BITS_PER_PAIR) / 32);
  const bits = sharedZeros(Uint32Array, 2 ** Math.ceil(Math.log2(length)));
  for (let reading = 0; reading + 1 < start.length; reading++) {
    for (let at = start[reading] + 1; at < start[reading + 1]; at++) {
      setBit(bits, bitOf(bits, words[at - 1], words[at]));
    }
  }
  return { bits, frequent: makeFrequentPairs(postings, readingWords) };
}

/** True if two words are neighbours, in this order, in some reading; usually false if they are not. */
export function mayBeNeighbours({ bits }: WordPairs, first: number, second: number): boolean {
  return bitAt(bits, bitOf(bits, first, second)) === 1;
}

function bitOf(bits: Uint32Array, first: number, second: number): number {
  const hash = Math.imul(first, 0x9e3779b1) ^ second;
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((mixed ^ (mixed >>> 13)) >>> 0) & (bits.length * 32 - 1);
}

function makeFrequentPairs(postings: Postings, readingWords: ReadingWords): FrequentPairs {
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
  { frequent: { indexOf, start, readings } }: WordPairs,
  first: number,
  second: number,
): Run | undefined {
  const [left, right] = [indexOf[first], indexOf[second]];
  if (left === 0 || right === 0) return undefined;
  const words = Math.round(Math.sqrt(start.length - 1));
  const pair = (left - 1) * words + right - 1;
  return { entries: readings, from: start[pair], to: start[pair + 1] };
}
