/**
 * Title order: Unicode's root collation with options that ignore case and accents and compare numbers
 * by value.
 *
 * Calling the collator for every comparison would be the slowest part of a run. Nearly all titles are
 * printable ASCII: they are sorted by keys that give the same order. The collator sorts the other
 * titles, and the two lists are merged.
 */
import { firstIndexNear } from '../../format/index/first-index.ts';

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
 * Sorts titles, which are read one at a time: a million strings would take most of the memory of a run.
 * @param titles how many titles there are
 * @param titleAt returns the title at an index
 * @param tieOrder compares two equal titles, given by index; returns a negative or positive number
 * @returns the indexes of the titles, in order
 */
export function orderTitles(
  titles: number,
  titleAt: (index: number) => string,
  tieOrder: (a: number, b: number) => number,
): Uint32Array {
  const collator = makeCollator();
  const keys = makeKeys(collator, titles);
  const simple = new Uint32Array(titles);
  let simpleTitles = 0;
  const others: number[] = [];
  // The collator compares each of these titles many times.
  const otherTitles = new Map<number, string>();
  for (let index = 0; index < titles; index++) {
    const title = titleAt(index);
    if (keys.add(index, title)) {
      simple[simpleTitles++] = index;
      continue;
    }
    others.push(index);
    otherTitles.set(index, title);
  }
  const sorted = simple.subarray(0, simpleTitles);
  sorted.sort((a, b) => keys.compare(a, b) || tieOrder(a, b));
  const textOf = (index: number) => otherTitles.get(index) ?? titleAt(index);
  const compare = (a: number, b: number) =>
    collator.compare(textOf(a), textOf(b)) || tieOrder(a, b);
  others.sort(compare);
  return merge(sorted, others, compare);
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
    const isAfter = (at: number) => compare(left[at], right[r]) >= 0;
    const end = l < left.length ? firstIndexNear(l, l, left.length, isAfter) : l;
    for (; l < end; l++) merged[l + r] = left[l];
    merged[l + r] = right[r];
  }
  for (; l < left.length; l++) merged[l + right.length] = left[l];
  return merged;
}

interface Keys {
  /** Adds the key of a title. Indexes must ascend. @returns false if the title has no key */
  add(index: number, title: string): boolean;
  /** Compares two keys: the order of their titles. */
  compare(a: number, b: number): number;
}

const BYTES_PER_TITLE = 32;
/** The first bytes of a key, which are kept as two numbers: comparing these settles most comparisons. */
const PREFIX_BYTES = 8;

/**
 * Makes keys whose bytes have the same order as the titles in the collator. No byte is 0.
 * @param titles how many titles there are
 */
function makeKeys(collator: Intl.Collator, titles: number): Keys {
  const weights = weighAscii(collator);
  const digitWeight = weights[ZERO];
  // Where the key of each title starts in `bytes`, and where it ends.
  const start = new Uint32Array(titles);
  const end = new Uint32Array(titles);
  const high = new Uint32Array(titles);
  const low = new Uint32Array(titles);
  let bytes = Buffer.allocUnsafeSlow(titles * BYTES_PER_TITLE + PREFIX_BYTES);
  let used = 0;

  /** Writes the key of a title. @returns the position after it, or -1 if there is none */
  function put(title: string): number {
    let at = used;
    for (let i = 0; i < title.length; i++) {
      const code = title.charCodeAt(i);
      if (code < FIRST_PRINTABLE || code > LAST_PRINTABLE) return -1;
      if (code < ZERO || code > NINE) {
        bytes[at++] = weights[code];
        continue;
      }
      // The key of a number: the weight of digits, how many digits it has without leading zeros, and these
      // digits. The count precedes the digits, since a number with more digits is larger.
      let from = i;
      while (i + 1 < title.length && isDigit(title.charCodeAt(i + 1))) i++;
      if (i + 1 - from > LONGEST_DIGIT_RUN) return -1;
      while (from < i && title.charCodeAt(from) === ZERO) from++;
      bytes[at++] = digitWeight;
      bytes[at++] = i + 1 - from;
      for (; from <= i; from++) bytes[at++] = title.charCodeAt(from);
    }
    return at;
  }

  return {
    add(index, title) {
      // A digit takes three bytes at most, and any other character one.
      const most = used + title.length * 3 + PREFIX_BYTES;
      if (most > bytes.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(most, bytes.length * 2));
        larger.set(bytes);
        bytes = larger;
      }
      const keyEnd = put(title);
      if (keyEnd < 0) return false;
      bytes.fill(0, keyEnd, keyEnd + PREFIX_BYTES);
      start[index] = used;
      end[index] = keyEnd;
      high[index] = bytes.readUInt32BE(used);
      low[index] = bytes.readUInt32BE(used + 4);
      used = keyEnd;
      return true;
    },
    compare(a, b) {
      const difference = high[a] - high[b] || low[a] - low[b];
      if (difference !== 0) return difference;
      let i = start[a] + PREFIX_BYTES;
      let j = start[b] + PREFIX_BYTES;
      while (i < end[a] && j < end[b]) {
        const order = bytes[i++] - bytes[j++];
        if (order !== 0) return order;
      }
      return end[a] - start[a] - (end[b] - start[b]);
    },
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
