/**
 * Finds words by hashing, and tells whether two words are neighbours in some reading. Both tables are
 * made while a generation is opened, in memory that threads share.
 *
 * A word of a query can be words of a title written together. So the search tries every place to split
 * it. With the tables, that takes no binary search, and postings are read only for words that are
 * neighbours somewhere.
 */
import type { ReadingWords } from '../../../format/index/reading-words.ts';
import { compareText, type Postings, textCount } from '../../../format/index/search-index.ts';
import { sharedZeros } from '../../../format/index/shared-zeros.ts';
import { bitAt, setBit } from '../sets/bits.ts';

export interface VocabularyTables {
  /** A hash table of the words: number + 1, or 0 for an empty slot. Its size is a power of two. */
  readonly slots: Uint32Array;
  /** A Bloom filter of the pairs of neighbouring words, as bits. Its size is a power of two. */
  readonly neighbourBits: Uint32Array;
}

export interface Vocabulary {
  /** The number of a word, or -1. */
  numberOf(word: string): number;
  /** True if two words are neighbours, in this order, in some reading; usually false if they are not. */
  mayBeNeighbours(first: number, second: number): boolean;
}

/** With this many bits for each pair, at most about one in five pairs that no reading has seems to be there. */
const BITS_PER_PAIR = 4;
/** How many slots there are at least for each word. */
const SLOTS_PER_WORD = 1.5;

export function makeVocabularyTables(
  words: Postings,
  readingWords: ReadingWords,
): VocabularyTables {
  const count = textCount(words);
  const slots = makeTable(count * SLOTS_PER_WORD);
  const { text, textStart } = words;
  for (let number = 0; number < count; number++) {
    let hash = FIRST_HASH;
    for (let at = textStart[number]; at < textStart[number + 1]; at++) hash = mix(hash, text[at]);
    let slot = finish(hash) & (slots.length - 1);
    while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
    slots[slot] = number + 1;
  }
  const neighbourBits = makeTable((readingWords.words.length * BITS_PER_PAIR) / 32);
  const { words: numbers, start } = readingWords;
  for (let reading = 0; reading + 1 < start.length; reading++) {
    for (let at = start[reading] + 1; at < start[reading + 1]; at++) {
      setBit(neighbourBits, bitOf(neighbourBits, numbers[at - 1], numbers[at]));
    }
  }
  return { slots, neighbourBits };
}

export function openVocabulary(
  words: Postings,
  { slots, neighbourBits }: VocabularyTables,
): Vocabulary {
  return {
    numberOf(word) {
      let hash = FIRST_HASH;
      for (let at = 0; at < word.length; at++) hash = mix(hash, word.charCodeAt(at));
      for (let slot = finish(hash); ; slot++) {
        const entry = slots[slot & (slots.length - 1)];
        if (entry === 0) return -1;
        if (compareText(words, entry - 1, word) === 0) return entry - 1;
      }
    },
    mayBeNeighbours(first, second) {
      return bitAt(neighbourBits, bitOf(neighbourBits, first, second)) === 1;
    },
  };
}

// FNV-1a with a final mixing step.
const FIRST_HASH = 0x811c9dc5;

function mix(hash: number, value: number): number {
  return Math.imul(hash ^ value, 0x01000193);
}

function finish(hash: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

/** The index of the bit of a pair. */
function bitOf(bits: Uint32Array, first: number, second: number): number {
  return finish(Math.imul(first, 0x9e3779b1) ^ second) & (bits.length * 32 - 1);
}

/** An array of zeros, at least as long as needed, whose length is a power of two. */
function makeTable(length: number): Uint32Array {
  return sharedZeros(Uint32Array, 2 ** Math.ceil(Math.log2(Math.max(length, 2))));
}
