/**
 * The index in which near spellings are searched: the words sorted from the front and sorted from the
 * back, with the number of letters that each shares with the word before it. It is made while a
 * generation is opened.
 *
 * A word is a list of letters, one number for each code point: its code unit, or, if a word of the index
 * has a code point with two code units, its index in an alphabet, which also fits into 16 bits. The
 * numbers sort as UTF-16 code units do, so the words keep the order that they have in the search index.
 */
import { compareSlices } from '../../../format/index/compare-slices.ts';
import { firstIndex } from '../../../format/index/first-index.ts';
import { type Postings, textAt, textCount } from '../../../format/index/search-index.ts';
import { sharedZeros } from '../../../format/index/shared-zeros.ts';

/** Words in sorted order, in memory that threads share. */
export interface SortedWords {
  readonly text: Uint16Array | Uint32Array;
  readonly textStart: Uint32Array;
  /** For each word, how many letters at its beginning equal those of the word before it; at most 255. */
  readonly shared: Uint8Array;
  /** For each word, the number of the next word with a smaller `shared`; the word count if none. */
  readonly nextShorter: Uint32Array;
}

export interface SpellingIndex {
  /** The letters in the words, ascending, if a letter is its index here; undefined if it is its code unit. */
  readonly alphabet: Uint32Array | undefined;
  readonly forward: SortedWords;
  /** The words spelled backwards, sorted. */
  readonly backward: SortedWords;
  /** For each word in `backward`, its number in the search index. */
  readonly numberOfBackward: Uint32Array;
}

const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;
const FIRST_BEYOND_16_BITS = 0x10000;

/** The letters of a word as numbers; -1 for a letter that no word of the index has. */
export function lettersOf(word: string, alphabet: Uint32Array | undefined): number[] {
  if (alphabet === undefined) {
    return Array.from(word, (character) => (character.length === 1 ? character.charCodeAt(0) : -1));
  }
  return Array.from(word, (character) => {
    const letter = letterOf(character);
    const index = firstIndex(0, alphabet.length, (at) => alphabet[at] >= letter);
    return alphabet[index] === letter ? index : -1;
  });
}

// For the alphabet. In UTF-16, code points above U+FFFF begin with a surrogate, so they sort before
// U+E000 to U+FFFF.
function letterOf(character: string): number {
  const codePoint = character.codePointAt(0) as number;
  if (codePoint < FIRST_SURROGATE) return codePoint;
  return codePoint < FIRST_BEYOND_16_BITS
    ? codePoint + 0x100000
    : codePoint - FIRST_BEYOND_16_BITS + FIRST_SURROGATE;
}

/**
 * Makes the index. It works with numbers only: as strings, the words of a million games would take a
 * hundred megabytes while a generation is opened.
 */
export function makeSpellingIndex(words: Postings): SpellingIndex {
  const count = textCount(words);
  const letters = spellOut(words);
  const reversed = reverseWords(letters);
  const order = sortWords(reversed);
  const numberOfBackward = sharedZeros(Uint32Array, count);
  numberOfBackward.set(order);
  return {
    alphabet: letters.alphabet,
    forward: findShared(letters.text, letters.textStart),
    backward: inOrder(reversed, order),
    numberOfBackward,
  };
}

/**
 * The index of the same words, which are at another place in memory now: without references to the place
 * where they were, so that it can be freed.
 */
export function moveSpellingIndex(index: SpellingIndex, words: Postings): SpellingIndex {
  if (index.alphabet !== undefined) return index;
  const { text, textStart } = words;
  return { ...index, forward: { ...index.forward, text, textStart } };
}

type Letters = Pick<SortedWords, 'text' | 'textStart'>;

/** The words of the index as letters. */
function spellOut(words: Postings): Letters & Pick<SpellingIndex, 'alphabet'> {
  // For nearly every catalogue, each code unit is a letter, and no copy is needed.
  if (!hasSurrogate(words.text)) return { ...words, alphabet: undefined };
  const count = textCount(words);
  const known = new Set<number>();
  for (let number = 0; number < count; number++) {
    for (const character of textAt(words, number)) known.add(letterOf(character));
  }
  const alphabet = Uint32Array.from(known).sort();
  const indexOf = new Map(Array.from(alphabet, (letter, index) => [letter, index]));
  // No catalogue has so many letters, but a forged index can.
  const Text = alphabet.length <= FIRST_BEYOND_16_BITS ? Uint16Array : Uint32Array;
  const text = sharedZeros<Uint16Array | Uint32Array>(Text, words.text.length);
  const textStart = sharedZeros(Uint32Array, count + 1);
  let end = 0;
  for (let number = 0; number < count; number++) {
    textStart[number] = end;
    for (const character of textAt(words, number)) {
      text[end++] = indexOf.get(letterOf(character)) as number;
    }
  }
  textStart[count] = end;
  return { text: text.subarray(0, end), textStart, alphabet };
}

function hasSurrogate(text: Uint16Array): boolean {
  return text.some((unit) => unit >= FIRST_SURROGATE && unit <= LAST_SURROGATE);
}

/** Every word spelled backwards, at the same position. */
function reverseWords({ text, textStart }: Letters): Letters {
  const reversed = text.slice();
  for (let number = 0; number + 1 < textStart.length; number++) {
    let last = textStart[number + 1];
    for (let at = textStart[number]; at < textStart[number + 1]; at++) reversed[at] = text[--last];
  }
  return { text: reversed, textStart };
}

/** The numbers of the words in sorted order. */
function sortWords({ text, textStart }: Letters): Uint32Array {
  const order = Uint32Array.from({ length: textStart.length - 1 }, (_, number) => number);
  return order.sort((a, b) => compareSlices(text, textStart, a, b));
}

/** The words in the given order, in memory that threads share. */
function inOrder({ text, textStart }: Letters, order: Uint32Array): SortedWords {
  const Text = text instanceof Uint16Array ? Uint16Array : Uint32Array;
  const sorted = sharedZeros<Uint16Array | Uint32Array>(Text, text.length);
  const starts = sharedZeros(Uint32Array, textStart.length);
  let end = 0;
  for (let at = 0; at < order.length; at++) {
    const number = order[at];
    for (let from = textStart[number]; from < textStart[number + 1]; from++) {
      sorted[end++] = text[from];
    }
    starts[at + 1] = end;
  }
  return findShared(sorted, starts);
}

/** Adds what the words, which must be sorted, share with their neighbours. */
function findShared(text: SortedWords['text'], textStart: Uint32Array): SortedWords {
  const count = textStart.length - 1;
  const shared = sharedZeros(Uint8Array, count);
  for (let number = 1; number < count; number++) {
    const before = textStart[number - 1];
    const start = textStart[number];
    const most = Math.min(start - before, textStart[number + 1] - start, 255);
    let length = 0;
    while (length < most && text[before + length] === text[start + length]) length++;
    shared[number] = length;
  }
  const nextShorter = sharedZeros(Uint32Array, count);
  for (let number = count - 1; number >= 0; number--) {
    let next = number + 1;
    while (next < count && shared[next] >= shared[number]) {
      next = nextShorter[next];
    }
    nextShorter[number] = next;
  }
  return { text, textStart, shared, nextShorter };
}
