/**
 * Words that count as the same word: numerals, short forms of the words that titles shorten, and
 * spellings of the long "o" in romanised Japanese.
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

/** The words that count as the same word, by each of them, without the long vowels of romanised Japanese. */
export const EQUAL = new Map(GROUPS.flatMap((group) => group.map((word) => [word, group])));

const LONG_O = /(o[ou])/;
/** The syllables of romanised Japanese. "school", "book" and "soul" have others. */
const ROMANISED =
  /^(?:(?:(?:k{1,2}|s{1,2}|t{1,2}|p{1,2}|[gzdbnhmrfjwy]|s{1,2}h|[tc]?ch|t{1,2}s)y?)?[aiueo]|n(?![aiueoy])|m(?=[bp]))+$/;
/** These have only such syllables, but are English words, and each of "mouse" and "moose" is in titles. */
const ENGLISH = /^(?:[bdgmtyz]o[ou]|mo[ou]se)$/;
/** Each doubles the spellings of a word. Hardly any word has more. */
const MOST_LONG_VOWELS = 3;

/** The words that count as the same word as a given one, itself included. */
export function equalWords(word: string): readonly string[] {
  const group = EQUAL.get(word);
  if (group !== undefined) return group;
  if (!LONG_O.test(word) || !ROMANISED.test(word) || ENGLISH.test(word)) return [word];
  let spellings = [''];
  for (const [at, part] of word.split(LONG_O).entries()) {
    // Every second part is a long vowel.
    const isVaried = at % 2 === 1 && at < MOST_LONG_VOWELS * 2;
    const forms = isVaried ? ['ou', 'oo'] : [part];
    spellings = spellings.flatMap((start) => forms.map((form) => start + form));
  }
  return spellings;
}
