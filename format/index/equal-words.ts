/**
 * Words that count as the same word: numerals, and short forms of the words that titles shorten.
 *
 * This file also runs in browsers, as a part of the client (`client/`).
 */

const ROMAN = 'ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx'.split(' ');
/** The number that the first of {@link ROMAN} stands for. */
const FIRST_ROMAN = 2;

const SHORT_FORMS: readonly (readonly string[])[] = [
  ['and', 'n'],
  ['bros', 'brothers'],
  ['vs', 'versus'],
  ['dr', 'doctor'],
  ['mr', 'mister'],
  ['st', 'saint'],
  ['mt', 'mount'],
  ['jr', 'junior'],
  ['sr', 'senior'],
  ['vol', 'volume'],
  ['pt', 'part'],
  ['ep', 'episode'],
  ['ed', 'edition'],
  ['ver', 'version'],
  ['intl', 'international'],
  ['1st', 'first'],
  ['2nd', 'second'],
  ['3rd', 'third'],
];

const GROUPS: readonly (readonly string[])[] = [
  ...ROMAN.map((numeral, at) => [numeral, String(FIRST_ROMAN + at)]),
  ...SHORT_FORMS,
];

const EQUAL = new Map(GROUPS.flatMap((group) => group.map((word) => [word, group])));

/** The words that count as the same word as a given one, itself included. */
export function equalWords(word: string): readonly string[] {
  return EQUAL.get(word) ?? [word];
}
