/**
 * Splits titles and queries into words. Writers, searches and every program that loads `search.json`
 * with MiniSearch must use this tokeniser.
 *
 * Words that differ only in case, accents, apostrophes or character width count as the same word, and
 * hiragana count as katakana. Apostrophes, ™ and ℠ are removed. Everything else that is not a letter, a
 * digit or a mark separates words; only "c++" and "c#" are words. A run of Chinese, Japanese or Korean
 * characters is a word of its own, even next to Latin letters or digits. Forms of a kanji count as one.
 *
 * Further rules apply to words, but not to plain words: "&" is the word "and", "×" is the word "x", and letters
 * separated by dots are one word ("S.T.A.L.K.E.R.").
 */
import { isNumeral } from './equal-words.ts';
import { KANJI } from './kanji.ts';

/** How many words of a query are used; further words are ignored. */
export const MOST_WORDS = 8;

// The blocks of combining marks for accents. They exclude the voicing marks of kana (U+3099, U+309A).
// U+02BC is the apostrophe that the decomposition of "ŉ" contains.
const ACCENTS = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u02bc]+/g;
const APOSTROPHES = /['’‘ʼʻ`´′＇｀]+/g;
// Without this, normalisation would append the letters "tm" or "sm" to the preceding word.
const TRADEMARKS = /[™℠]+/g;
// Normalisation would append their digits to the preceding number: "3½" would become "31/2". So they get
// a space before them.
const FRACTIONS = /[¼-¾⅐-⅞↉]/g;
const CHARACTER = String.raw`[\p{L}\p{N}\p{M}]`;
const WITHOUT_SPACES = String.raw`[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}]`;
const WORD = new RegExp(
  String.raw`(?<!${CHARACTER})c(?:\+\+|#)(?!${CHARACTER})|(?:(?=${CHARACTER})${WITHOUT_SPACES})+|(?:(?!${WITHOUT_SPACES})${CHARACTER})+`,
  'gu',
);
const WORD_WITHOUT_SPACES = new RegExp(`^${WITHOUT_SPACES}+$`, 'u');
export const NOT_ASCII = /[\x80-\uffff]/;
const ASCII_WORD = /[a-z0-9]+/g;
/** As {@link WORD} for ASCII texts in lower case, in a third of the time. */
const FOLDED_ASCII_WORD = /(?<![a-z0-9])c(?:\+\+|#)(?![a-z0-9])|[a-z0-9]+/g;
// In ASCII texts without these characters, no rule applies to more than one character.
const ASCII_WITHOUT_RULES = /^[^&.+#\x80-\uffff]*$/;
/** The word that "&" stands for. */
const AND = 'and';
/** The letter that "×" stands for. */
const X = 'x';
/** A dot between letters that are initials. */
const INITIAL_DOTS = new RegExp(
  String.raw`(?<=(?<!${CHARACTER})\p{L}(?:\.\p{L})*)\.(?=\p{L}(?:\.\p{L})*(?!${CHARACTER}))`,
  'gu',
);
const HIRAGANA = /[\u3041-\u3096\u309d\u309e]/g;
const TO_KATAKANA = 0x60;
const IDEOGRAPHS = /[\u4e00-\u9fff\u{20b9f}]/gu;

// Letters that Unicode does not decompose, and the letters that people type instead.
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ς: 'σ',
};
const LETTERS_PATTERN = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g');

/**
 * The words of a text in order, repeated ones included.
 * @returns folded words, none of them empty
 */
export function wordsOf(text: string): string[] {
  if (ASCII_WITHOUT_RULES.test(text)) return asciiWordsOf(text);
  return split(
    fold(text).replaceAll('&', ` ${AND} `).replaceAll('×', ` ${X} `).replace(INITIAL_DOTS, ''),
  );
}

/** Whether the words of a text are its plain words, because no other rule applies to it. */
export function hasOnlyPlainWords(text: string): boolean {
  return ASCII_WITHOUT_RULES.test(text);
}

/** The words of a text by the rules for plain words. */
export function plainWordsOf(text: string): string[] {
  return ASCII_WITHOUT_RULES.test(text) ? asciiWordsOf(text) : split(fold(text));
}

function asciiWordsOf(text: string): string[] {
  return foldAscii(text).match(ASCII_WORD) ?? [];
}

function foldAscii(text: string): string {
  return text.toLowerCase().replace(/['`]+/g, '');
}

function split(folded: string): string[] {
  return folded.match(NOT_ASCII.test(folded) ? WORD : FOLDED_ASCII_WORD) ?? [];
}

function toKatakana(kana: string): string {
  return String.fromCharCode(kana.charCodeAt(0) + TO_KATAKANA);
}

/** Whether a word is in a script without spaces (Chinese, Japanese, Korean): a query can match a part of it. */
export function isScriptWithoutSpaces(word: string): boolean {
  return word.charCodeAt(0) > 0x10ff && WORD_WITHOUT_SPACES.test(word);
}

/**
 * The largest number of edits by which a word of a title may differ from a word of a query.
 * @returns 0 for fewer than four letters, 1 for four to seven, 2 for more; always 0 for a number or a
 * Roman numeral, since another year, or the number of another sequel, is not a misspelling
 */
export function nearSpellingDistance(word: string): 0 | 1 | 2 {
  // Code points, so that a character beyond 16 bits, such as 𠮷, is one letter.
  const letters = [...word].length;
  if (letters < 4 || isNumeral(word) || /^\p{N}+$/u.test(word)) return 0;
  return letters < 8 ? 1 : 2;
}

/** Folds a value of `platform`, `region`, `type` or `genre` for comparison without regard to case. */
export function foldCase(value: string): string {
  return value.toLowerCase();
}

function fold(text: string): string {
  if (!NOT_ASCII.test(text)) return foldAscii(text);
  return (
    text
      .replace(APOSTROPHES, '')
      .replace(TRADEMARKS, '')
      .replace(FRACTIONS, ' $&')
      .normalize('NFKD')
      .replace(ACCENTS, '')
      .toLowerCase()
      .replace(LETTERS_PATTERN, (letter) => LETTERS[letter])
      .replace(HIRAGANA, toKatakana)
      .replace(IDEOGRAPHS, (kanji) => KANJI.get(kanji) ?? kanji)
      // Composes kana and Hangul again, which NFKD decomposed. "ヺ" has no hiragana to compose.
      .normalize('NFC')
  );
}

const hiragana = Array.from({ length: 0x60 }, (_, at) => String.fromCharCode(0x3040 + at));

/**
 * The rules above as data, for `search-options.json`. Texts have other words when one of them changes. They apply in
 * this order: `before`, NFKD, without `accents`, lower case, `letters`, NFC, `after`; then each match is a `word`.
 */
export const WORD_RULES = {
  before: [
    [APOSTROPHES.source, ''],
    [TRADEMARKS.source, ''],
    [FRACTIONS.source, ' $&'],
  ],
  accents: ACCENTS.source,
  letters: {
    ...LETTERS,
    ...Object.fromEntries(
      hiragana
        .filter((kana) => kana.search(HIRAGANA) === 0)
        .map((kana) => [kana, toKatakana(kana)]),
    ),
    ...Object.fromEntries(KANJI),
  },
  after: [
    ['&', ` ${AND} `],
    ['×', ` ${X} `],
    [INITIAL_DOTS.source, ''],
  ],
  word: WORD.source,
};
