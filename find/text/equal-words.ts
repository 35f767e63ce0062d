/**
 * Words that count as the same word: numerals, years, short forms of the words that titles shorten, and
 * spellings of the long "o" in romanised Japanese.
 */

const UNITS = ['', 'i', 'ii', 'iii', 'iv', 'v', 'vi', 'vii', 'viii', 'ix'];
/** The Roman numerals from 1 to 30. */
const ROMAN = [...['', 'x', 'xx'].flatMap((tens) => UNITS.map((unit) => tens + unit)), 'xxx'].slice(
  1,
);

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
  // "i" is more likely a letter or a word than the number 1.
  ...ROMAN.map((numeral, at) => [numeral, String(at + 1)]).slice(1),
  ...SHORT_FORMS,
];

/** The words that count as the same word, by each of them, without the long vowels of romanised Japanese. */
export const EQUAL = new Map(GROUPS.flatMap((group) => group.map((word) => [word, group])));

const NUMERALS: ReadonlySet<string> = new Set(ROMAN.flatMap((word, at) => [word, String(at + 1)]));

/** Whether a word is a numeral from 1 to 30: no words that are written together make one ("I & II"). */
export function isNumeral(word: string): boolean {
  return NUMERALS.has(word);
}

const YEAR = /^(?:19|20)?(\d\d)$/;

const LONG_O = /(o[ou])/;
/** The syllables of romanised Japanese. "school", "book" and "soul" have others. */
const ROMANISED =
  /^(?:(?:(?:k{1,2}|s{1,2}|t{1,2}|p{1,2}|[gzdbnhmrfjwy]|s{1,2}h|[tc]?ch|t{1,2}s)y?)?[aiueo]|n(?![aiueoy])|m(?=[bp]))+$/;
/** These have only such syllables, but are English words, and each of "mouse" and "moose" is in titles. */
const ENGLISH = /^(?:[bdgmtyz]o[ou]|mo[ou]se)$/;
/** A prefix can end within a syllable. With fewer than two syllables, it is more likely that of an English word. */
const ROMANISED_PREFIX = /^(?=.*[aeiou][^aeiou]+[aeiou])(.*[aeioun])[^aeiou]*$/;
/** Each doubles the spellings of a word. Hardly any word has more. */
const MOST_LONG_VOWELS = 3;

/**
 * The words that count as the same word as a given one, itself included.
 * @param isBesideTitle whether there are other words: then two digits are a year
 */
export function equalWords(word: string, isBesideTitle = false): readonly string[] {
  // A typed 1 may be shown as "I", which by itself is more likely a letter.
  const group = word === '1' ? ['1', 'i'] : (EQUAL.get(word) ?? longVowels(word, word));
  const digits = isBesideTitle ? YEAR.exec(word)?.[1] : undefined;
  if (digits === undefined) return group;
  return [...new Set([...group, digits, `19${digits}`, `20${digits}`])];
}

/** The prefixes that count as the same as a given one, itself included. */
export function equalPrefixes(word: string): readonly string[] {
  return longVowels(word, ROMANISED_PREFIX.exec(word)?.[1]);
}

/** A word with each spelling of its long vowels. @param syllables the part of it that must be romanised */
function longVowels(word: string, syllables = ''): readonly string[] {
  if (!LONG_O.test(word) || !ROMANISED.test(syllables) || ENGLISH.test(word)) return [word];
  let spellings = [''];
  for (const [at, part] of word.split(LONG_O).entries()) {
    // Every second part is a long vowel.
    const isVaried = at % 2 === 1 && at < MOST_LONG_VOWELS * 2;
    const forms = isVaried ? ['ou', 'oo'] : [part];
    spellings = spellings.flatMap((start) => forms.map((form) => start + form));
  }
  return spellings;
}
