/** Finds the variants in which words are next to each other, in order. */

import { sharedZeros } from '../../lib/columns/arrays.ts';
import { bitAt, lowestBit, setBit } from '../../lib/columns/bits.ts';
import type { VariantNumber, VariantWords } from './open.ts';
import type { NumberSet } from './sets/number-set.ts';
import type { PostingSets } from './sets/posting-sets.ts';

/** For each of several neighbouring words of a title, the numbers of the words that it may be. */
export type Phrase = readonly (readonly number[])[];

/** A phrase that matches neighbouring words of a query, and how many. */
export interface PhraseAlternative {
  readonly queryWords: number;
  readonly phrase: Phrase;
}

/** The pairs of words that are neighbours in variants, in memory that threads share. */
export interface WordPairs {
  /** A Bloom filter of all pairs. The number of its bits is a power of two. */
  readonly bits: Uint32Array;
  /** The variants in which a word follows itself, ascending. */
  readonly doubled: Uint32Array;
}

/** With this many bits for each pair, at most one in five pairs that no variant has seems to be there. */
const BITS_PER_PAIR = 4;

/**
 * Finds the pairs while an index is opened. A word of a query can be words of a title written together,
 * so the search tries every place to split it, and looks only for words that are neighbours somewhere.
 */
export function makeWordPairs({ words, start }: VariantWords): WordPairs {
  const length = Math.max(2, (words.length * BITS_PER_PAIR) / 32);
  const bits = sharedZeros(Uint32Array, 2 ** Math.ceil(Math.log2(length)));
  const found: number[] = [];
  for (let variant = 0; variant + 1 < start.length; variant++) {
    let isDoubled = false;
    for (let at = start[variant] + 1; at < start[variant + 1]; at++) {
      setBit(bits, bitOf(bits, words[at - 1], words[at]));
      if (words[at - 1] === words[at]) isDoubled = true;
    }
    if (isDoubled) found.push(variant);
  }
  const doubled = sharedZeros(Uint32Array, found.length);
  doubled.set(found);
  return { bits, doubled };
}

/** The bit of two words that are neighbours in this order. */
function bitOf(bits: Uint32Array, first: number, second: number): number {
  const hash = Math.imul(first, 0x9e3779b1) ^ second;
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((mixed ^ (mixed >>> 13)) >>> 0) & (bits.length * 32 - 1);
}

export class Phrases {
  private readonly words: Uint32Array;
  private readonly start: Uint32Array;
  private readonly pairs: WordPairs;
  readonly variantSets: PostingSets<VariantNumber>;

  constructor(
    { words, start }: VariantWords,
    pairs: WordPairs,
    variantSets: PostingSets<VariantNumber>,
  ) {
    this.words = words;
    this.start = start;
    this.pairs = pairs;
    this.variantSets = variantSets;
  }

  /** False if no word of `first` is directly followed by a word of `second` in any variant. */
  mayBeNeighbours(first: readonly number[], second: readonly number[]): boolean {
    return first.some((left) => second.some((right) => this.mayBePair(left, right)));
  }

  private mayBePair(left: number, right: number): boolean {
    const { bits } = this.pairs;
    return bitAt(bits, bitOf(bits, left, right)) === 1;
  }

  /**
   * The variants to look at for a phrase: for each two neighbouring words of it, they have both. If it is
   * the same word, some word follows itself in them.
   */
  candidates(phrase: Phrase): NumberSet<VariantNumber> {
    const { variantSets } = this;
    const withBoth = (left: number, right: number) => {
      const other =
        left === right ? { list: this.pairs.doubled } : variantSets.ofTexts('words', right);
      return variantSets.intersect([variantSets.ofTexts('words', left), other]);
    };
    const ofPairs = phrase.slice(1).map((second, at) => {
      const found = phrase[at].flatMap((left) =>
        second.filter((right) => this.mayBePair(left, right)).map((right) => withBoth(left, right)),
      );
      return variantSets.unite(found);
    });
    return variantSets.intersect(ofPairs);
  }

  /**
   * The variants of a set that have neighbouring words which match a pattern.
   * @param pattern for each word of the query, the alternatives for it and the words after it
   */
  find(
    pattern: readonly (readonly PhraseAlternative[])[],
    among: NumberSet<VariantNumber>,
  ): NumberSet<VariantNumber> {
    const { words, start } = this;
    const firsts = [...new Set(pattern[0].flatMap(({ phrase }) => phrase[0]))];
    // For each word of the query: a bit for each number of title words that match the words before it.
    // Several alternatives can lead to one number. As separate paths, they would multiply at each word. Eight
    // words of a query match at most 24 words of a title, so the bits fit.
    const matched = new Uint32Array(pattern.length + 1);

    function matchesFrom(from: number, end: number): boolean {
      matched.fill(0);
      matched[0] = 1;
      for (let at = 0; at < pattern.length; at++) {
        for (let rest = matched[at]; rest !== 0; rest &= rest - 1) {
          const before = lowestBit(rest);
          for (const { queryWords, phrase } of pattern[at]) {
            if (from + before + phrase.length > end) continue;
            if (!hasPhrase(words, from + before, phrase)) continue;
            matched[at + queryWords] |= 1 << (before + phrase.length);
          }
        }
      }
      return matched[pattern.length] !== 0;
    }

    return this.variantSets.filter(among, (variant) => {
      const end = start[variant + 1];
      for (let from = start[variant]; from < end; from++) {
        if (isOneOf(firsts, words[from]) && matchesFrom(from, end)) return true;
      }
      return false;
    });
  }
}

function hasPhrase(words: Uint32Array, from: number, phrase: Phrase): boolean {
  for (let i = 0; i < phrase.length; i++) if (!isOneOf(phrase[i], words[from + i])) return false;
  return true;
}

// A loop over indexes, since this runs for every word of thousands of variants.
function isOneOf(numbers: readonly number[], number: number): boolean {
  for (let at = 0; at < numbers.length; at++) if (numbers[at] === number) return true;
  return false;
}
