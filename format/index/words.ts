/**
 * How a title or a query becomes words: the one tokeniser of the generator, the proxy and everyone
 * who loads `search.json` with MiniSearch.
 *
 * Case, accents, apostrophes and the width of characters are folded away; everything that is
 * neither letter, digit nor mark separates words. A run of Japanese, Chinese or Korean is a word of
 * its own, also where it touches Latin letters or digits.
 */
import { hash } from 'node:crypto';

/** `q` after trimming, in characters. */
export const LONGEST_QUERY = 100;
/** Words of a query that count. */
export const MOST_WORDS = 8;

// Accents are marks of these blocks; the voicing marks of kana (U+3099, U+309A) are no accents.
// U+02BC is the apostrophe that "ŉ" has once it is decomposed.
const ACCENTS = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u02bc]+/g;
const APOSTROPHES = /['’‘ʼʻ`´′＇｀]+/g;
// Would become the letters "tm" and "sm" of the word before.
const TRADEMARKS = /[™℠]+/g;
// Would become digits of the number before: "3½" is 3 and 1/2, not 31/2.
const FRACTIONS = /[¼-¾⅐-⅞↉]/g;
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const JOINED_SCRIPT =
  /(?:(?=[\p{L}\p{N}\p{M}])[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}])+/gu;
const ALL_ASCII_WORDS = /^[ -~]*$/;
const ASCII_WORD = /[a-z0-9]+/g;

// Letters that Unicode does not decompose, though readers take them for these.
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
  if (ALL_ASCII_WORDS.test(text)) {
    return text.toLowerCase().replace(/['`]+/g, '').match(ASCII_WORD) ?? [];
  }
  const words: string[] = [];
  for (const word of fold(text).match(WORD) ?? []) {
    let end = 0;
    for (const run of word.matchAll(JOINED_SCRIPT)) {
      if (run.index > end) words.push(word.slice(end, run.index));
      words.push(run[0]);
      end = run.index + run[0].length;
    }
    if (end < word.length) words.push(word.slice(end));
  }
  return words;
}

const JOINED_WORD =
  /^[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}]+$/u;

/** Whether a word of {@link wordsOf} is of a script without spaces, so that parts of it count. */
export function isJoinedScript(word: string): boolean {
  return word.charCodeAt(0) > 0x10ff && JOINED_WORD.test(word);
}

/**
 * How many edits a near spelling of a query word may be away.
 * @returns 0 (no near spelling counts), 1 from four letters on, 2 from eight; a number such as a
 * year or a sequel's is never taken for another
 */
export function nearSpellingDistance(word: string): 0 | 1 | 2 {
  const letters = countLetters(word);
  if (letters < 4 || /^\p{N}+$/u.test(word)) return 0;
  return letters < 8 ? 1 : 2;
}

/** Code points: a character beyond 16 bits, such as 𠮷, is one letter. */
function countLetters(word: string): number {
  let letters = 0;
  for (const _ of word) letters++;
  return letters;
}

/** A value of `platform`, `region`, `type` or `genre` as it is compared. */
export function foldCase(value: string): string {
  return value.toLowerCase();
}

function fold(text: string): string {
  return (
    text
      .replace(APOSTROPHES, '')
      .replace(TRADEMARKS, '')
      .replace(FRACTIONS, ' $&')
      .normalize('NFKD')
      .replace(ACCENTS, '')
      .toLowerCase()
      .replace(LETTERS_PATTERN, (letter) => LETTERS[letter])
      // Puts kana and Hangul back together, which decomposition took apart.
      .normalize('NFC')
  );
}

/**
 * The options that `search.json` is made for. MiniSearch cannot tell that an index was made with
 * others: compare {@link MINISEARCH_OPTIONS_HASH} with the manifest's before loading.
 */
export const MINISEARCH_OPTIONS = {
  idField: 'path',
  fields: ['title'],
  storeFields: [],
  tokenize: wordsOf,
  processTerm: (term: string) => term,
};

/** SHA-256, hex, over everything that shapes the words of the index. */
export const MINISEARCH_OPTIONS_HASH: string = hash(
  'sha256',
  JSON.stringify([
    MINISEARCH_OPTIONS.idField,
    MINISEARCH_OPTIONS.fields,
    [APOSTROPHES, TRADEMARKS, FRACTIONS, ACCENTS, WORD, JOINED_SCRIPT].map(String),
    LETTERS,
    // Words can change with Unicode's tables though the patterns stay as they are.
    process.versions.unicode,
  ]),
);
