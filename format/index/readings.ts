/**
 * The readings of a title or a query: the lists of words under which it is searched. A title that matches
 * in one of its readings is found.
 */
import { hasOnlyPlainWords, plainWordsOf, wordsOf } from './words.ts';

const LATIN_LETTER = /\p{Script=Latin}/u;
const OTHER_LETTER = /[^\P{L}\p{Script=Latin}]/u;

/**
 * The words of a text, and its plain words if they differ.
 * @param most how many words of each count
 * @returns no empty list
 */
export function readingsOf(text: string, most = Number.POSITIVE_INFINITY): string[][] {
  const words = wordsOf(text).slice(0, most);
  if (hasOnlyPlainWords(text)) return words.length > 0 ? [words] : [];
  const plain = plainWordsOf(text).slice(0, most);
  return [words, plain].filter(
    (reading, at) => reading.length > 0 && (at === 0 || !equals(words, plain)),
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
