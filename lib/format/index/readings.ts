/**
 * The readings of a title or a query: the lists of words under which it is searched. A title that matches
 * in one of its readings is found.
 */
import { hasOnlyPlainWords, plainWordsOf, wordsOf } from './words.ts';

const LATIN_LETTER = /\p{Script=Latin}/u;
const OTHER_LETTER = /[^\P{L}\p{Script=Latin}]/u;

const MACRON = /[\u014c\u014d\u016a\u016b]|[ou]\u0304/i;

/**
 * The words of a text, and its plain words if they differ. If it has "ō" or "ū", which are "o" and "u" in
 * words, also those of the text with "ou" and "uu" in their place, as they are typed without a macron.
 * @param most how many words of each count
 * @returns no empty list, and none twice
 */
export function readingsOf(text: string, most = Number.POSITIVE_INFINITY): string[][] {
  const words = wordsOf(text).slice(0, most);
  if (hasOnlyPlainWords(text)) return words.length > 0 ? [words] : [];
  const readings = [words, plainWordsOf(text).slice(0, most)];
  if (MACRON.test(text)) {
    const typed = text.normalize('NFC').replace(/ō/gi, 'ou').replace(/ū/gi, 'uu');
    readings.push(wordsOf(typed).slice(0, most), plainWordsOf(typed).slice(0, most));
  }
  return readings.filter(
    (reading, at) =>
      reading.length > 0 && !readings.slice(0, at).some((known) => equals(known, reading)),
  );
}

/** Whether a title is also found by the words of its slug: not all of it is in the Latin script. */
export function needsSlug(title: string): boolean {
  return OTHER_LETTER.test(title) || !LATIN_LETTER.test(title);
}

/** Whether two readings have the same words. */
export function equals(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((word, at) => word === other[at]);
}
