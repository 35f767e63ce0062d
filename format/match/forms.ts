/**
 * The normal forms of a title, by which file names find games. The generator makes them of every title and
 * the proxy of every name, with this one function. Two titles are *exact* if an exact form of one is one of
 * the other, and the *same* if one of their loose forms is.
 */
import { equalWords } from '../index/equal-words.ts';
import { needsSlug } from '../index/readings.ts';
import { isScriptWithoutSpaces, wordsOf } from '../index/words.ts';
import { ARTICLES, EQUAL_WORDS, LICENCES, PLATFORM_WORDS, SHORT_FORMS } from './tags.ts';

/** Changes with every rule that changes a form: an index of other rules is not used. */
export const MATCH_RULES = 1;

export interface TitleForms {
  /** Case, accents, width, punctuation and spaces do not matter, nor where an article stands. */
  readonly exact: string;
  /** The exact forms of two titles around a "~". */
  readonly halves: readonly string[];
  /** Without articles, and with one spelling for long vowels, years and short forms. */
  readonly loose: readonly string[];
  /** The words of each loose form that has several, in alphabetical order. */
  readonly sorted: readonly string[];
  /** The loose forms of what stands before a subtitle. */
  readonly heads: readonly string[];
  /** The words of the loose forms, in their order, for the check of near spellings. */
  readonly lists: readonly (readonly string[])[];
}

const ARTICLE_LIST = ARTICLES.join('|');
/** "Legend of Zelda, The - Title", "hunt for red october, the" */
const MOVED_ARTICLE = new RegExp(
  String.raw`^([^~]{1,200}?),\s(${ARTICLE_LIST})(?=$|\s*[-–:~([/])\s*`,
  'i',
);
const SUBTITLE = /\s+[-–~]\s+|:\s+|\s+_\s+|_\s/;
/** A series in front of a title: "Time Bokan Series: Bokan Densetsu", "Simple 1500 Series Vol. 30 - The Basket". */
const SERIES = /^.{1,60}?\bseries(?:\s+vol(?:ume|\.)?\s*\d+)?\s*[-:]\s+(?=\S)/i;
const ROMAN = 'ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx'.split(' ');
const NUMERALS = new Map(ROMAN.map((numeral, at) => [numeral, String(at + 2)]));
const DROPPED = new Set(['the', 'and', 'n']);
const DROPPED_IN_FRONT = new Set(['the', 'a', 'an']);
const YEAR = /^(?:19|20)(\d\d)$/;
const DIGIT_AT_END = /\p{N}$/u;
const DIGIT_AT_START = /^\p{N}/u;
const LATIN_LETTERS = /\p{Script=Latin}/u;

/** @param slug of the title; undefined for the name of a file */
export function formsOf(title: string, slug?: string): TitleForms {
  const text = title.replace(MOVED_ARTICLE, '$2 $1 ').trim();
  const words = wordsOf(text);
  const exact = joinWords(words.map(exactWord));
  const wordLists = [words];
  if (words.some(isScriptWithoutSpaces) && words.some((word) => LATIN_LETTERS.test(word))) {
    wordLists.push(words.filter(isScriptWithoutSpaces));
    wordLists.push(words.filter((word) => !isScriptWithoutSpaces(word)));
  }
  const series = SERIES.exec(text);
  if (series !== null) wordLists.push(wordsOf(text.slice(series[0].length)));
  if (text.includes('+')) wordLists.push(wordsOf(text.replaceAll('+', ' plus ')));
  if (slug !== undefined && needsSlug(title)) wordLists.push(wordsOf(slug));
  const platform = words.length > 2 ? words.lastIndexOf('for') : -1;
  if (platform > 0 && PLATFORM_WORDS.has(words[platform + 1]))
    wordLists.push(words.slice(0, platform));
  const lists = wordLists.map(looseWords).filter((list) => list.length > 0);
  const loose: string[] = [];
  for (const list of lists) {
    const form = looseForm(list);
    loose.push(form);
    if (form.includes('.')) loose.push(form.replaceAll('.', ''));
  }
  // Of titles such as "A.P.B.", whose words are not always the same.
  if (words.some(isDropped)) loose.push(looseText(exact));
  const halves = title.includes('~') ? title.split('~').map((half) => formsOf(half.trim())) : [];
  for (const half of halves) loose.push(...half.loose);
  const sorted = lists.flatMap((list) => (list.length > 1 ? [sortedForm(list)] : []));
  const at = text.search(SUBTITLE);
  const heads = at > 0 ? [looseForm(looseWords(wordsOf(text.slice(0, at))))] : [];
  return {
    exact,
    halves: halves.map((half) => half.exact),
    loose: unique(loose),
    sorted: unique(sorted),
    heads,
    lists,
  };
}

/** The loose form of some loose words. */
export function looseForm(words: readonly string[]): string {
  return looseText(joinWords(words));
}

function unique(texts: readonly string[]): readonly string[] {
  return texts.length < 2 ? texts : [...new Set(texts.filter((text) => text !== ''))];
}

/** Numbers that stand next to each other stay two numbers. */
function joinWords(words: readonly string[]): string {
  let text = '';
  for (const word of words) {
    if (DIGIT_AT_END.test(text) && DIGIT_AT_START.test(word)) text += '.';
    text += word;
  }
  return text;
}

function exactWord(word: string): string {
  return NUMERALS.get(word) ?? word;
}

function looseWords(words: readonly string[]): string[] {
  const licence = LICENCES.find(
    (names) => names.length < words.length && names.every((name, at) => words[at] === name),
  );
  const rest = licence === undefined ? words : words.slice(licence.length);
  const kept = rest.filter((word, at) => !(at === 0 ? DROPPED_IN_FRONT : DROPPED).has(word));
  const found: string[] = [];
  const list = kept.length > 0 ? kept : rest;
  for (let at = 0; at < list.length; at++) {
    const [next, short] = SHORT_FORMS.get(list[at]) ?? [];
    if (next !== undefined && short !== undefined && list[at + 1] === next) {
      found.push(short);
      at++;
    } else found.push(looseWord(list[at]));
  }
  return found;
}

function looseWord(word: string): string {
  const numeral = NUMERALS.get(word);
  if (numeral !== undefined) return numeral;
  const code = word.charCodeAt(0);
  if (code < 0x3a) return word.replace(YEAR, '$1').replace(/^0+(?=.)/, '');
  return word === 'wo' ? 'o' : looseText(EQUAL_WORDS.get(word) ?? shortest(equalWords(word)));
}

function isDropped(word: string): boolean {
  return word !== 'the' && (DROPPED.has(word) || DROPPED_IN_FRONT.has(word));
}

function shortest(words: readonly string[]): string {
  return words.length === 1 ? words[0] : words.reduce((a, b) => (b.length < a.length ? b : a));
}

/** One spelling for the long vowels and the "n" of romanised Japanese. */
function looseText(text: string): string {
  return text
    .replace(/o[ou]+/g, 'o')
    .replace(/uu+/g, 'u')
    .replace(/m(?=[bp])/g, 'n');
}

function sortedForm(words: readonly string[]): string {
  return [...words].sort().join(' ');
}
