/**
 * Splits titles and queries into words, one character after another. It is written from the section
 * on words in format/README.md and shares no code with the product's tokeniser, which is compared
 * with it.
 */

const APOSTROPHES = "'’‘ʼʻ`´′＇｀";
const TRADEMARKS = '™℠';
const FRACTIONS = /[¼-¾⅐-⅞↉]/u;
const ACCENTS = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\u02bc]/u;
const PLAIN_LETTERS: ReadonlyMap<string, string> = new Map([
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['œ', 'oe'],
  ['ø', 'o'],
  ['ł', 'l'],
  ['đ', 'd'],
  ['ð', 'd'],
  ['þ', 'th'],
  ['ħ', 'h'],
  ['ı', 'i'],
  ['ς', 'σ'],
]);

const PART_OF_A_WORD = /[\p{L}\p{N}\p{M}]/u;
const SCRIPT_WITHOUT_SPACES =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}]/u;

const INITIALS = /(?<![\p{L}\p{N}\p{M}])\p{L}(?:\.\p{L})+(?![\p{L}\p{N}\p{M}])/gu;
const C_PLUS_PLUS_OR_C_SHARP = /(?<![\p{L}\p{N}\p{M}])(c\+\+|c#)(?![\p{L}\p{N}\p{M}])/u;

/** The words of a text, in which "&" is a word, and letters between dots are one word. */
export function wordsIn(text: string): string[] {
  const spelledOut = foldKana(fold(text))
    .replaceAll('&', ' and ')
    .replace(INITIALS, (letters) => letters.replaceAll('.', ''));
  return splitWords(spelledOut);
}

/**
 * The words of a text, in which everything that is not a letter, a digit or a mark separates words. Only
 * "c++" and "c#" are words.
 */
export function plainWordsIn(text: string): string[] {
  return splitWords(foldKana(fold(text)));
}

/** The words and plain words of a text, and of how it is typed without macrons. */
export function allWordsIn(text: string): string[][] {
  const typed = text
    .normalize('NFD')
    .replace(/([ou])\u0304/gi, (_, vowel) => (/o/i.test(vowel) ? 'ou' : 'uu'));
  return [wordsIn(text), plainWordsIn(text), wordsIn(typed), plainWordsIn(typed)];
}

export function isScriptWithoutSpaces(word: string): boolean {
  return [...word].every((character) => SCRIPT_WITHOUT_SPACES.test(character));
}

function fold(text: string): string {
  const separated = [...text]
    .filter((character) => !APOSTROPHES.includes(character) && !TRADEMARKS.includes(character))
    .map((character) => (FRACTIONS.test(character) ? ` ${character}` : character))
    .join('');
  const withoutAccents = [...separated.normalize('NFKD')]
    .filter((character) => !ACCENTS.test(character))
    .join('');
  return [...withoutAccents.toLowerCase()]
    .map((letter) => PLAIN_LETTERS.get(letter) ?? letter)
    .join('')
    .normalize('NFC');
}

function foldKana(folded: string): string {
  return [...folded]
    .map((character) => {
      const isHiragana = /[\u3041-\u3096\u309d\u309e]/u.test(character);
      return isHiragana ? String.fromCodePoint(character.charCodeAt(0) + 0x60) : character;
    })
    .join('');
}

function splitWords(folded: string): string[] {
  // Every second part is what the parentheses of the pattern matched.
  return folded
    .split(C_PLUS_PLUS_OR_C_SHARP)
    .flatMap((part, i) => (i % 2 === 1 ? [part] : splitLettersAndDigits(part)));
}

function splitLettersAndDigits(folded: string): string[] {
  const words: string[] = [];
  let word = '';
  let wasWithoutSpaces = false;
  for (const character of folded) {
    const isWithoutSpaces = SCRIPT_WITHOUT_SPACES.test(character);
    const continues = PART_OF_A_WORD.test(character);
    if (word !== '' && (!continues || isWithoutSpaces !== wasWithoutSpaces)) {
      words.push(word);
      word = '';
    }
    if (continues) word += character;
    wasWithoutSpaces = isWithoutSpaces;
  }
  if (word !== '') words.push(word);
  return words;
}
