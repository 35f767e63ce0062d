/**
 * Title order: Unicode's root collation with options that ignore case and accents and compare numbers
 * by value.
 *
 * Calling the collator for every comparison would be the slowest part of a run. Nearly all titles are
 * printable ASCII: they are sorted by keys that give the same order. The collator sorts the other
 * titles, and the two lists are merged.
 */
import { firstIndex } from '../../format/index/first-index.ts';

/** Titles with a longer run of digits get no key. */
const LONGEST_DIGIT_RUN = 60;
const FIRST_PRINTABLE = 0x20;
const LAST_PRINTABLE = 0x7e;
const ZERO = 0x30;
const NINE = 0x39;

/** A collator for title order. The locale "en" has no rules of its own: this is the root collation with options. */
export function makeCollator(): Intl.Collator {
  return new Intl.Collator('en-u-kn', { sensitivity: 'base' });
}

/**
 * Sorts titles.
 * @param tieOrder compares two equal titles, given by index; returns a negative or positive number
 * @returns the indexes of the titles, in order
 */
export function orderTitles(
  titles: readonly string[],
  tieOrder: (a: number, b: number) => number,
): Uint32Array {
  const collator = makeCollator();
  const makeKey = makeKeys(collator);
  const keys: (string | undefined)[] = titles.map(makeKey);
  const simple: number[] = [];
  const others: number[] = [];
  for (const [index, key] of keys.entries()) (key === undefined ? others : simple).push(index);
  simple.sort((a, b) => {
    const left = keys[a] as string;
    const right = keys[b] as string;
    return left < right ? -1 : left > right ? 1 : tieOrder(a, b);
  });
  const compare = (a: number, b: number) =>
    collator.compare(titles[a], titles[b]) || tieOrder(a, b);
  others.sort(compare);
  return merge(simple, others, compare);
}

/** Merges two lists that `compare` has sorted; no two entries are equal. */
export function merge(
  left: ArrayLike<number>,
  right: ArrayLike<number>,
  compare: (a: number, b: number) => number,
): Uint32Array {
  const merged = new Uint32Array(left.length + right.length);
  let l = 0;
  for (let r = 0; r < right.length; r++) {
    const end = firstIndex(l, left.length, (at) => compare(left[at], right[r]) >= 0);
    for (; l < end; l++) merged[l + r] = left[l];
    merged[l + r] = right[r];
  }
  for (; l < left.length; l++) merged[l + right.length] = left[l];
  return merged;
}

/**
 * @returns a function that makes the key of a title. Comparing two keys by code unit gives the same
 * order as the collator. The function returns undefined for a title that has no such key.
 */
function makeKeys(collator: Intl.Collator): (title: string) => string | undefined {
  const weights = weighAscii(collator);
  const digitWeight = weights[ZERO];
  let key = Buffer.alloc(4096);
  return (title) => {
    if (key.length < title.length * 2) key = Buffer.alloc(title.length * 4);
    let end = 0;
    for (let i = 0; i < title.length; i++) {
      const code = title.charCodeAt(i);
      if (code < FIRST_PRINTABLE || code > LAST_PRINTABLE) return undefined;
      if (code < ZERO || code > NINE) {
        key[end++] = weights[code];
        continue;
      }
      // The key of a number: the weight of digits, how many digits it has without leading zeros, and these
      // digits. The count precedes the digits, since a number with more digits is larger.
      let from = i;
      while (i + 1 < title.length && isDigit(title.charCodeAt(i + 1))) i++;
      if (i + 1 - from > LONGEST_DIGIT_RUN) return undefined;
      while (from < i && title.charCodeAt(from) === ZERO) from++;
      key[end++] = digitWeight;
      key[end++] = i + 1 - from;
      for (; from <= i; from++) key[end++] = title.charCodeAt(from);
    }
    return key.toString('latin1', 0, end);
  };
}

/**
 * Weighs the printable ASCII characters, with 0 standing for all digits. Two characters have the same
 * weight if the collator treats them as equal.
 */
function weighAscii(collator: Intl.Collator): Uint8Array {
  const characters: string[] = [];
  for (let code = FIRST_PRINTABLE; code <= LAST_PRINTABLE; code++) {
    if (code <= ZERO || code > NINE) characters.push(String.fromCharCode(code));
  }
  characters.sort(collator.compare);
  const weights = new Uint8Array(LAST_PRINTABLE + 1);
  let weight = 0;
  characters.forEach((character, index) => {
    const before = characters[index - 1];
    if (before === undefined || collator.compare(before, character) !== 0) weight++;
    weights[character.charCodeAt(0)] = weight;
  });
  return weights;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}
