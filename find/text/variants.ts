/**
 * The variants of a title or a query: the lists of words under which it is searched. A title that matches
 * in one of its variants is found.
 */
import { hasOnlyPlainWords, MOST_WORDS, plainWordsOf, wordsOf } from './words.ts';

export const LATIN_LETTER = /\p{Script=Latin}/u;
const OTHER_LETTER = /[^\P{L}\p{Script=Latin}]/u;

const MACRON = /[\u014c\u014d\u016a\u016b]|[ou]\u0304/i;
const LONG_VOWEL = /([ōū])/i;
/** With three, a title has up to 27 spellings. Hardly any title has more. */
const MOST_LONG_VOWELS = 3;

/**
 * The words of a title, and its plain words if they differ. If it has "ō" or "ū", which are "o" and "u" in words,
 * also those of the title as it is typed without macrons: each letter is also "ou" or "oo", or "uu".
 * @returns no empty list, and none twice
 */
export function variantsOf(title: string): string[][] {
  return variantsIn([title, ...(MACRON.test(title) ? spellingsOf(title) : [])]);
}

/**
 * The words of a query, and its plain words if they differ, as if each "and" were "&"; also those with "ou" for
 * each "ō" and "uu" for each "ū", which equal the other spellings. A "×" that is typed is meant.
 * @returns no empty list, and none twice; of each list, the first {@link MOST_WORDS} words
 */
export function queryVariantsOf(q: string): string[][] {
  const text = q
    .replaceAll('×', ' x ')
    .replace(/(?<![\p{L}\p{N}\p{M}])and(?![\p{L}\p{N}\p{M}])/giu, '&');
  return variantsIn(
    MACRON.test(q) ? [text, ...spellingsOf(text, ['ou', 'o'])] : [text],
    MOST_WORDS,
  );
}

function variantsIn(texts: readonly string[], most = Number.POSITIVE_INFINITY): string[][] {
  const variants = texts.flatMap((text) =>
    (hasOnlyPlainWords(text) ? [wordsOf] : [wordsOf, plainWordsOf]).map((split) =>
      split(text).slice(0, most),
    ),
  );
  return variants.filter(
    (variant, at) =>
      variant.length > 0 && !variants.slice(0, at).some((known) => equals(known, variant)),
  );
}

function spellingsOf(title: string, ofLongO = ['ou', 'oo', 'o']): string[] {
  let spellings = [''];
  for (const [at, part] of title.normalize('NFC').split(LONG_VOWEL).entries()) {
    // Every second part is a long vowel.
    const isVaried = at < MOST_LONG_VOWELS * 2;
    const forms = /ō/i.test(part) ? ofLongO : /ū/i.test(part) ? ['uu', 'u'] : [part];
    spellings = spellings.flatMap((start) =>
      (isVaried ? forms : forms.slice(0, 1)).map((form) => start + form),
    );
  }
  return spellings;
}

/** Whether a title is also found by the words of its slug: not all of it is in the Latin script. */
export function needsSlug(title: string): boolean {
  return OTHER_LETTER.test(title) || !LATIN_LETTER.test(title);
}

/** Whether two variants have the same words. */
export function equals(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((word, at) => word === other[at]);
}
