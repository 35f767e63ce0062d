/**
 * Title order: Unicode's root collation with options that ignore case and accents and compare numbers
 * by value.
 *
 * Calling the collator for every comparison would be the slowest part of a run. Nearly all titles are
 * printable ASCII: they are sorted by keys that give the same order. The collator sorts the other
 * titles, and the two lists are merged.
 */
import { compareUnits, makeCollator } from '../rows/collation.ts';
import { merge, numbersOf } from '../rows/columns.ts';

/** Titles with a longer run of digits get no key. */
const LONGEST_DIGIT_RUN = 60;
const FIRST_PRINTABLE = 0x20;
const LAST_PRINTABLE = 0x7e;
const ZERO = 0x30;
const NINE = 0x39;

/**
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
  const keyOf = makeKeys(collator);
  const keys: (string | undefined)[] = [];
  const others = new Map<number, string>();
  for (let index = 0; index < titles; index++) {
    const title = titleAt(index);
    keys.push(keyOf(title));
    if (keys[index] === undefined) others.set(index, title);
  }
  const simple = Uint32Array.from(keys.keys()).filter((index) => keys[index] !== undefined);
  simple.sort((a, b) => compareUnits(keys[a] ?? '', keys[b] ?? '') || tieOrder(a, b));
  const compare = (a: number, b: number) =>
    collator.compare(others.get(a) ?? titleAt(a), others.get(b) ?? titleAt(b)) || tieOrder(a, b);
  return numbersOf(merge<number>(simple, [...others.keys()].sort(compare), compare));
}

/**
 * @returns a function that makes keys whose code units have the same order as the titles in the collator;
 * undefined for a title that has none
 */
function makeKeys(collator: Intl.Collator): (title: string) => string | undefined {
  const weights = weighAscii(collator);
  const digitWeight = weights[ZERO];
  let bytes = Buffer.alloc(1024);
  return (title) => {
    // A digit takes three bytes at most, and any other character one.
    if (title.length * 3 > bytes.length) bytes = Buffer.alloc(title.length * 6);
    let end = 0;
    for (let i = 0; i < title.length; i++) {
      const code = title.charCodeAt(i);
      if (code < FIRST_PRINTABLE || code > LAST_PRINTABLE) return undefined;
      if (!isDigit(code)) {
        bytes[end++] = weights[code];
        continue;
      }
      // The key of a number: the weight of digits, how many digits it has without leading zeros, and these
      // digits. The count precedes the digits, since a number with more digits is larger.
      let from = i;
      while (i + 1 < title.length && isDigit(title.charCodeAt(i + 1))) i++;
      if (i + 1 - from > LONGEST_DIGIT_RUN) return undefined;
      while (from < i && title.charCodeAt(from) === ZERO) from++;
      bytes[end++] = digitWeight;
      bytes[end++] = i + 1 - from;
      for (; from <= i; from++) bytes[end++] = title.charCodeAt(from);
    }
    return bytes.toString('latin1', 0, end);
  };
}

/**
 * Weighs the printable ASCII characters, with 0 standing for all digits. Two characters have the same
 * weight if the collator treats them as equal.
 */
function weighAscii(collator: Intl.Collator): Uint8Array {
  const weights = new Uint8Array(LAST_PRINTABLE + 1);
  const codes = [...weights.keys()].slice(FIRST_PRINTABLE);
  const characters = codes.filter((code) => code === ZERO || !isDigit(code));
  const texts = characters.map((code) => String.fromCharCode(code)).sort(collator.compare);
  let weight = 0;
  for (const [index, text] of texts.entries()) {
    if (index === 0 || collator.compare(texts[index - 1], text) !== 0) weight++;
    weights[text.charCodeAt(0)] = weight;
  }
  return weights;
}

const isDigit = (code: number) => code >= ZERO && code <= NINE;
