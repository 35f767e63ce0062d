/**
 * Finds near spellings: the words of the index within an edit distance of a wanted word. A swap of two neighbouring
 * letters is one edit. A letter is a code point.
 *
 * Every word of a fitting length is looked at. Nearly all are ruled out by their sets of letters, since
 * an edit adds at most one letter to a word and removes at most one. Of 345,000 words (a million games),
 * 430 are left to compare, and a wanted word of eight to eleven letters takes 0.9 ms (p99 1.6). With one set for
 * a whole word, eight misspelt words take 1.2 times as long. An automaton over all words took less time, but
 * eight times as long to prepare and three times as much code.
 */

import { firstIndex, sharedZeros } from '../../lib/columns/arrays.ts';
import { onesIn } from '../../lib/columns/bits.ts';
import { type Postings, textCount } from '../../lib/columns/postings.ts';
import { canBecome } from '../text/edit-distance.ts';
import { sortByKey } from './sets/rank-order.ts';

/** The words of the index by their length, in memory that threads share. */
export interface SpellingIndex {
  /** The numbers of the words: shorter words first; of the same length, those of more variants first. */
  readonly numbers: Uint32Array;
  /** The letters in the first and in the second half of each word, in the same order. See {@link bitOf}. */
  readonly firstHalf: Uint32Array;
  readonly secondHalf: Uint32Array;
  /** Where the words of each length start, and at the end the number of words. */
  readonly lengthStart: Uint32Array;
}

export function makeSpellingIndex({ text, textStart, entriesStart }: Postings): SpellingIndex {
  const count = textCount({ textStart });
  const ascending = new Uint32Array(count);
  const lengths = new Uint32Array(count);
  const entries = new Uint32Array(count);
  let longest = 0;
  let most = 0;
  for (let number = 0; number < count; number++) {
    ascending[number] = number;
    for (let at = textStart[number]; at < textStart[number + 1]; at++) {
      if (!isFirstOfTwo(text[at])) lengths[number]++;
    }
    if (lengths[number] > longest) longest = lengths[number];
    entries[number] = entriesStart[number + 1] - entriesStart[number];
    if (entries[number] > most) most = entries[number];
  }
  const lengthStart = sharedZeros(Uint32Array, longest + 2);
  for (let number = 0; number < count; number++) lengthStart[lengths[number] + 1]++;
  for (let length = 0; length <= longest; length++) lengthStart[length + 1] += lengthStart[length];

  const numbers = sortByKey(
    sortByKey(
      ascending,
      entries.map((own) => most - own),
    ),
    lengths,
  );
  const firstHalf = sharedZeros(Uint32Array, count);
  const secondHalf = sharedZeros(Uint32Array, count);
  for (let slot = 0; slot < count; slot++) {
    const number = numbers[slot];
    let left = lengths[number] >>> 1;
    for (let at = textStart[number]; at < textStart[number + 1]; at++) {
      if (isFirstOfTwo(text[at])) continue;
      if (left-- > 0) firstHalf[slot] |= bitOf(text[at]);
      else secondHalf[slot] |= bitOf(text[at]);
    }
  }
  return { numbers, firstHalf, secondHalf, lengthStart };
}

/** Whether a letter has two code units, of which this is the first. */
function isFirstOfTwo(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/**
 * The bit of a letter in a set of letters. It stands for several letters, but for only one from a to z.
 * @param letter a code point or its last code unit, whose low bits are the same
 */
function bitOf(letter: number): number {
  return 1 << (letter & 31);
}

/** The only words that matter: by default, all. */
export interface AmongWords {
  readonly numbers?: readonly number[] | undefined;
  /** Those that more variants have. Looking at fewer words takes less time. */
  readonly ofMoreThan?: number | undefined;
}

/** @returns the numbers of the words within `distance` of the wanted word, ascending */
export function nearSpellings(
  index: SpellingIndex,
  words: Postings,
  wanted: string,
  distance: 1 | 2,
  { numbers, ofMoreThan = 0 }: AmongWords = {},
): number[] {
  const letters = Array.from(wanted, (letter) => letter.codePointAt(0) as number);
  return (numbers ?? candidates(index, words, letters, distance, ofMoreThan))
    .filter((number) => canBecome(lettersAt(words, number), letters, distance, true))
    .sort((a, b) => a - b);
}

/** The numbers of the words whose sets of letters do not rule them out. */
function candidates(
  { numbers, firstHalf, secondHalf, lengthStart }: SpellingIndex,
  { entriesStart }: Postings,
  wanted: readonly number[],
  distance: 1 | 2,
  ofMoreThan: number,
): number[] {
  const isRare = (slot: number) =>
    entriesStart[numbers[slot] + 1] - entriesStart[numbers[slot]] <= ofMoreThan;
  const found: number[] = [];
  const all = setOf(wanted);
  const longest = Math.min(wanted.length + distance, lengthStart.length - 2);
  for (let length = Math.max(1, wanted.length - distance); length <= longest; length++) {
    // A letter that is not edited is at most `distance` letters away from where it is in the wanted word.
    const half = length >>> 1;
    const before = Math.max(0, half - distance);
    const after = half + distance;
    const neededFirst = setOf(wanted.slice(0, before));
    const allowedFirst = setOf(wanted.slice(0, after));
    const neededSecond = setOf(wanted.slice(after));
    const allowedSecond = setOf(wanted.slice(before));
    const end = firstIndex(lengthStart[length], lengthStart[length + 1], isRare);
    for (let slot = lengthStart[length]; slot < end; slot++) {
      const first = firstHalf[slot];
      const second = secondHalf[slot];
      const both = first | second;
      if ((without(both & ~all, distance) | without(all & ~both, distance)) !== 0) continue;
      const added = onesIn(first & ~allowedFirst) + onesIn(second & ~allowedSecond);
      const removed = onesIn(neededFirst & ~first) + onesIn(neededSecond & ~second);
      if (added <= distance && removed <= distance) found.push(numbers[slot]);
    }
  }
  return found;
}

function setOf(letters: readonly number[]): number {
  return letters.reduce((set, letter) => set | bitOf(letter), 0);
}

/**
 * A set without one or two of its letters. It has no branch, which the processor would often predict wrong:
 * then the slowest words take 1.6 times as long.
 */
function without(set: number, count: 1 | 2): number {
  const rest = set & (set - 1);
  return rest & (rest - (count - 1));
}

/** The code points of a word of the index. */
function lettersAt({ text, textStart }: Pick<Postings, 'text' | 'textStart'>, number: number) {
  const letters: number[] = [];
  for (let at = textStart[number]; at < textStart[number + 1]; at++) {
    const unit = text[at];
    if (isFirstOfTwo(unit)) letters.push(0x10000 + ((unit & 0x3ff) << 10) + (text[++at] & 0x3ff));
    else letters.push(unit);
  }
  return letters;
}
