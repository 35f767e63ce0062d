/**
 * The rules for words as the specification says them (find/README.md), character by character. The product is
 * compared with them, so nothing here is its code; only the table of kanji, which is data, is the same.
 */
import { KANJI } from '#find/text/kanji.ts';

export const MOST_WORDS = 8;
const APOSTROPHES = "'’‘ʼʻ`´′＇｀";
const LETTERS = new Map(
  ['ßss', 'æae', 'œoe', 'øo', 'łl', 'đd', 'ðd', 'þth', 'ħh', 'ıi', 'ςσ'].map((pair) => [
    pair.slice(0, 1),
    pair.slice(1),
  ]),
);
const ACCENTS = [
  [0x300, 0x36f],
  [0x1ab0, 0x1aff],
  [0x1dc0, 0x1dff],
  [0x20d0, 0x20ff],
  [0xfe20, 0xfe2f],
  [0x2bc, 0x2bc],
];

const codeOf = (character: string) => character.codePointAt(0) ?? 0;
const isWithin = (code: number, from: number, to: number) => code >= from && code <= to;
const isLetter = (character = '') => /^\p{L}$/u.test(character);
/** Whether it can be a part of a word. */
const isPart = (character = '') => /^[\p{L}\p{N}\p{M}]$/u.test(character);
/** Whether it is of a script that is written without spaces. */
const isUnspaced = (character = '') =>
  isPart(character) &&
  ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo'].some((script) =>
    new RegExp(`\\p{scx=${script}}`, 'u').test(character),
  );

function fold(text: string): string {
  let spaced = '';
  for (const character of text) {
    const code = codeOf(character);
    if (APOSTROPHES.includes(character) || character === '™' || character === '℠') continue;
    const isFraction =
      isWithin(code, 0xbc, 0xbe) || isWithin(code, 0x2150, 0x215e) || code === 0x2189;
    spaced += isFraction ? ` ${character}` : character;
  }
  let folded = '';
  for (const character of spaced.normalize('NFKD')) {
    const code = codeOf(character);
    if (ACCENTS.some(([from = 0, to = 0]) => isWithin(code, from, to))) continue;
    for (const lower of character.toLowerCase()) {
      const lowered = codeOf(lower);
      const isHiragana = isWithin(lowered, 0x3041, 0x3096) || isWithin(lowered, 0x309d, 0x309e);
      if (ACCENTS.some(([from = 0, to = 0]) => isWithin(lowered, from, to))) folded += lower;
      else if (isHiragana) folded += String.fromCodePoint(lowered + 0x60);
      else folded += LETTERS.get(lower) ?? KANJI.get(lower) ?? lower;
    }
  }
  return folded.normalize('NFC');
}

function split(text: string): string[] {
  const characters = [...text];
  const words: string[] = [];
  let word = '';
  const end = () => {
    if (word !== '') words.push(word);
    word = '';
  };
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] ?? '';
    const name = ['c++', 'c#'].find((each) => {
      return characters.slice(at, at + each.length).join('') === each;
    });
    const isAlone = !isPart(characters[at - 1]) && !isPart(characters[at + (name?.length ?? 0)]);
    if (name !== undefined && isAlone) {
      end();
      words.push(name);
      at += name.length - 1;
    } else if (!isPart(character)) end();
    else {
      if (word !== '' && isUnspaced(character) !== isUnspaced([...word].at(-1))) end();
      word += character;
    }
  }
  end();
  return words;
}

export function plainWordsOf(text: string): string[] {
  return split(fold(text));
}

export function wordsOf(text: string): string[] {
  const characters = [...fold(text).replaceAll('&', ' and ').replaceAll('×', ' x ')];
  const isInitial = (at: number, before: number) =>
    isLetter(characters[at]) && !isPart(characters[at + before]);
  const isDot = (at: number) =>
    characters[at] === '.' && isInitial(at - 1, -1) && isInitial(at + 1, 1);
  return split(characters.filter((_, at) => !isDot(at)).join(''));
}

export function isScriptWithoutSpaces(word: string): boolean {
  return [...word].every(isUnspaced);
}

export function needsSlug(title: string): boolean {
  const letters = [...title].filter(isLetter);
  return letters.length === 0 || letters.some((letter) => !/\p{Script=Latin}/u.test(letter));
}

/** The lists of words of some texts, none empty and none twice. @param most how many words of each count */
function listsOf(texts: readonly string[], most = Number.POSITIVE_INFINITY): string[][] {
  const lists = texts.flatMap((text) => [wordsOf(text), plainWordsOf(text)]);
  const byText = new Map(
    lists.map((words) => words.slice(0, most)).map((of) => [of.join(' '), of]),
  );
  return [...byText.values()].filter((words) => words.length > 0);
}

/** The lists of words under which a title is found. */
export function variantsOf(title: string): string[][] {
  return listsOf([title, ...typedWays(title, ['ou', 'oo', 'o'])]);
}

/** A text with each way to type its long vowels, of which three may differ; none if it has none. */
function typedWays(text: string, waysOfO: readonly string[]): string[] {
  let spellings = [''];
  let vowels = 0;
  for (const character of text.normalize('NFC')) {
    const ways = { ō: waysOfO, ū: ['uu', 'u'] }[character.toLowerCase()];
    const used = ways === undefined ? [character] : vowels++ < 3 ? ways : ways.slice(0, 1);
    spellings = spellings.flatMap((start) => used.map((each) => start + each));
  }
  return vowels > 0 ? spellings : [];
}

/** The lists of words of a query. */
export function queryVariantsOf(q: string): string[][] {
  const parts = q.replaceAll('×', ' x ').split(/([\p{L}\p{N}\p{M}]+)/u);
  const text = parts.map((part) => (part.toLowerCase() === 'and' ? '&' : part)).join('');
  return listsOf([text, ...typedWays(text, ['ou', 'o'])], MOST_WORDS);
}

const NUMERALS = `i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx
  xxi xxii xxiii xxiv xxv xxvi xxvii xxviii xxix xxx`.split(/\s+/);
const SAME = `and n, bros brothers, vs versus, dr doctor, mr mister, st saint, mt mount, jr junior,
  sr senior, vol volume, pt part, ep episode, ed edition, ver version, intl international, 1st first,
  2nd second, 3rd third`
  .split(/,\s*/)
  .map((words) => words.split(' '));

/** Whether a word is a number from 1 to 30, in either form. */
export function isNumeral(word: string): boolean {
  return NUMERALS.some((numeral, at) => word === numeral || word === String(at + 1));
}

/** The words that count as the same. @param isBesideTitle whether there are other words: then two digits are a year */
export function equalWords(word: string, isBesideTitle = false): readonly string[] {
  const equal = new Set([word]);
  const numeral = NUMERALS.findIndex((each, at) => word === each || word === String(at + 1));
  // "i" is more likely a letter than the number 1.
  if (word === '1') equal.add('i');
  if (numeral > 0)
    for (const each of [NUMERALS[numeral], String(numeral + 1)]) equal.add(each ?? '');
  for (const group of SAME) if (group.includes(word)) for (const each of group) equal.add(each);
  if (equal.size === 1) for (const each of longVowels(word, word)) equal.add(each);
  const digits = /^(?:19|20)?(\d\d)$/.exec(word)?.[1];
  if (isBesideTitle && digits !== undefined)
    for (const each of [digits, `19${digits}`, `20${digits}`]) equal.add(each);
  return [...equal];
}

/** The prefixes that count as the same. Of one, what ends in a vowel or "n" must be romanised Japanese. */
export function equalPrefixes(word: string): readonly string[] {
  const groups = word.split(/[^aeiou]+/).filter((vowels) => vowels !== '');
  const end = Math.max(...[...'aeioun'].map((letter) => word.lastIndexOf(letter)));
  return groups.length < 2 ? [word] : longVowels(word, word.slice(0, end + 1));
}

/** A word with each of its first three long "o" as "ou" and "oo", if its syllables are those of Japanese. */
function longVowels(word: string, syllables: string): string[] {
  const isEnglish = /^(?:[bdgmtyz]o[ou]|mouse|moose)$/.test(word);
  if (isEnglish || syllables === '' || !isRomanised(syllables)) return [word];
  let spellings = [''];
  let vowels = 0;
  for (let at = 0; at < word.length; at++) {
    const isLong = word[at] === 'o' && /[ou]/.test(word[at + 1] ?? '') && vowels < 3;
    const ways = isLong ? ['ou', 'oo'] : [word.slice(at, at + 1)];
    spellings = spellings.flatMap((start) => ways.map((each) => start + each));
    if (!isLong) continue;
    vowels++;
    at++;
  }
  return spellings;
}

const CONSONANTS = [
  ...['', ...'kstpgzdbnhmrfjwy'],
  ...['kk', 'ss', 'tt', 'pp', 'sh', 'ssh', 'ch', 'tch', 'cch', 'ts', 'tts'],
];

/** Whether a text can be cut into syllables of romanised Japanese. */
function isRomanised(text: string): boolean {
  if (text === '') return true;
  const isNasal = /^n(?![aiueoy])/.test(text) || /^m(?=[bp])/.test(text);
  if (isNasal && isRomanised(text.slice(1))) return true;
  return CONSONANTS.some((start) =>
    ['', 'y'].some((glide) => {
      const { length } = start + glide;
      const isSyllable = text.startsWith(start + glide) && /[aiueo]/.test(text[length] ?? '');
      return isSyllable && (start !== '' || glide === '') && isRomanised(text.slice(length + 1));
    }),
  );
}
