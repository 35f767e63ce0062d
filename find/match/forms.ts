/**
 * The normal forms of a title, by which file names find games. A writer makes them of every title and a
 * match of every name, with these functions. Two titles are *exact* if an exact form of one is one of
 * the other, and the *same* if one of their loose forms is, or the words of one.
 */
import { EQUAL, isNumeral } from '../text/equal-words.ts';
import { LATIN_LETTER, needsSlug } from '../text/variants.ts';
import { isScriptWithoutSpaces, NOT_ASCII, plainWordsOf, wordsOf } from '../text/words.ts';

/** Changes with every rule that changes a form: an index of other rules is not used. */
export const MATCH_RULES = 5;

export interface LooseForms {
  /**
   * The loose words of the title, of each half of a title in two scripts, and of what else it may be called.
   * None is empty.
   */
  readonly lists: readonly (readonly string[])[];
  /** Each list as one text: without spaces, articles, and differences in spelling. */
  readonly loose: readonly string[];
}

/** The loose forms of what stands before each subtitle, and of what stands after it. */
export interface TitleParts {
  readonly heads: readonly string[];
  readonly tails: readonly string[];
}

interface ExactForms {
  /** Case, accents, width, punctuation and spaces do not matter, nor where an article stands. */
  readonly exact: string;
  /** The exact forms of the two titles around a "~". */
  readonly halves: readonly string[];
}

const list = (text: string) => text.trim().split(/\s+/);

/** Names before a title that say who licensed it, as words, the longest first. */
const LICENCES: readonly (readonly string[])[] = `
  walt disneys, walt disney pictures presents, disney pixar, disneys, disney, nickelodeon,
  cartoon network, marvel, tom clancys, sid meiers, clive barkers, american mcgees,
  nintendo presents, konamis, looney tunes, advanced dungeons and dragons,
  advanced dungeons dragons, advanced d and d, dungeons and dragons, dungeons dragons
`
  .split(',')
  .map(list);

/** Articles before a title or, after a comma, at its end. */
const ARTICLES = list(`
  the a an le la les l' un une der die das ein eine el los las il lo gli i o os as de het een den det
`);

/** What begins the name of a platform after "for" at the end of a title: "Magical Drop for WonderSwan". */
const PLATFORM_WORDS: ReadonlySet<string> = new Set(
  list(`
    wonderswan nintendo playstation psp xbox wii gamecube game super sega dreamcast saturn adam msx
  `),
);

/** Further words, or two that follow each other, that count as another word. */
const SHORT_FORMS: readonly (readonly [words: string, short: string])[] = [
  ['grand prix', 'gp'],
  ['formula 1', 'f1'],
  ['champ', 'championship'],
  ['special edition', 'se'],
  ['sp', 'special'],
  ['wo', 'o'],
  ...list('hitotsu futatsu mittsu yottsu itsutsu muttsu nanatsu yattsu kokonotsu').map(
    (count, at) => [`${at + 1} tsu`, count] as const,
  ),
];

const LICENCES_BY_WORD = Map.groupBy(LICENCES, ([first]) => first);
/** "Legend of Zelda, The - Title", "hunt for red october, the" */
const MOVED_ARTICLE = new RegExp(String.raw`,\s(${ARTICLES.join('|')})(?=$|\s*[-–:~([/])\s*`, 'i');
const SUBTITLE = /\s[-–~]\s|[-:_]\s|\s(?=(?:starring|featuring)\s)/i;
/** Hardly any title has more. */
const MOST_SUBTITLES = 4;
/** Arcade games have the titles of several countries: "Art of Fighting (World) / Ryuuko no Ken". */
const BETWEEN_TITLES = /(?: \([^()]*\))* \/ /;
/** The "X" of a title in two scripts, or the "VI" of one in three parts, is not a title. */
const SHORTEST_HALF = 3;

/** Words that are dropped, except at the end. */
const DROPPED = new Set(['the', 'a', 'an', 'and', 'n']);
/**
 * Words of a title that a name may lack, wherever they stand. A name, or an alternative title, may have one
 * at its end that the title lacks.
 */
const LEFT_OUT = new Set(['version', 'edition', 'edicion']);
/** The number that a numeral is. */
const NUMERALS = new Map(
  [...EQUAL].flatMap(([word, [, number]]) => (isNumeral(word) ? [[word, number] as const] : [])),
);
/** What a word, or two words that follow each other, count as: a number, or the shortest of equal words. */
const SHORT = new Map([
  ...Array.from(EQUAL, ([word, group]) => [word, shortest(group)] as const),
  ...NUMERALS,
  ...SHORT_FORMS,
]);
/** The first of two such words. */
const FIRST_OF_TWO = new Set(SHORT_FORMS.flatMap(([words]) => words.split(' ').slice(0, -1)));

/** What a number may lack, as in 007 and 7, 1994 and '94. */
const LEFT_OUT_OF_NUMBER = /(?<!\d)(?:(?:19|20)(?=\d\d(?!\d)))?0*(?=\d)/g;
const VARIED = /o[ou]|uu|m[bp]/;
const X_AND_NUMBER = /\bx (\w+)/g;

/**
 * @param slugOf returns the slug of the title; undefined for the name of a file
 * @param wordsOfTitle if they are known
 */
export function looseFormsOf(
  title: string,
  slugOf?: () => string,
  wordsOfTitle?: readonly string[],
): LooseForms {
  const text = withArticleInFront(title);
  const words = (text === title ? wordsOfTitle : undefined) ?? wordsOf(text);
  const wordLists = [words];
  if (NOT_ASCII.test(text)) {
    const other = words.filter(isScriptWithoutSpaces);
    const rest = words.filter((word) => !isScriptWithoutSpaces(word));
    if (other.length > 0 && words.some((word) => LATIN_LETTER.test(word))) {
      wordLists.push(other);
      if (rest.join('').length >= SHORTEST_HALF) wordLists.push(rest);
    }
    if (slugOf !== undefined && needsSlug(title)) wordLists.push(wordsOf(slugOf()));
  }
  if (text.includes('+')) wordLists.push(wordsOf(text.replaceAll('+', ' plus ')));
  // The slug of "P.V" is "p-v".
  if (slugOf === undefined && text.includes('.')) wordLists.push(plainWordsOf(text));
  const platform = words.length > 2 ? words.lastIndexOf('for') : -1;
  if (platform > 0 && PLATFORM_WORDS.has(words[platform + 1]))
    wordLists.push(words.slice(0, platform));
  const lists: string[][] = [];
  const loose: string[] = [];
  const add = (form: string) => {
    if (form !== '' && !loose.includes(form)) loose.push(form);
  };
  for (const list of wordLists) {
    if (list.length === 0) continue;
    const plain = specialWords(list);
    const joined = joinWords(plain);
    const isVaried = VARIED.test(joined);
    lists.push(isVaried ? plain.map(looseText) : plain);
    const form = isVaried ? looseText(joined) : joined;
    add(form);
    if (form.includes('.')) add(form.replaceAll('.', ''));
    const end = slugOf === undefined ? list.length - 1 : 0;
    const others = list.filter((word, at) => at < end || !LEFT_OUT.has(word));
    if (others.length > 1 && others.length < list.length) add(looseForm(specialWords(others)));
    if (list.includes('0'))
      add(looseForm(specialWords(list.map((word) => (word === '0' ? 'zero' : word)))));
    // "Mega Man X 4" is "Mega Man X4", not 10.
    if (list.includes('x'))
      add(looseForm(specialWords(list.join(' ').replace(X_AND_NUMBER, joinX).split(' '))));
  }
  const halves = title.includes('~') ? title.split('~') : title.split(BETWEEN_TITLES);
  if (halves.length > 1)
    for (const half of halves.map((text) => text.trim()))
      if (half.length >= SHORTEST_HALF) looseFormsOf(half).loose.forEach(add);
  return { lists, loose };
}

/** @param wordsOfTitle if they are known */
export function partsOf(title: string, wordsOfTitle?: readonly string[]): TitleParts {
  const heads: string[] = [];
  const tails: string[] = [];
  const text = withArticleInFront(title);
  let words: readonly string[] | undefined;
  for (let from = 0; heads.length < MOST_SUBTITLES; ) {
    const found = SUBTITLE.exec(text.slice(from));
    if (found === null) break;
    from += found.index + found[0].length;
    words ??= (text === title ? wordsOfTitle : undefined) ?? wordsOf(text);
    const tail = wordsOf(text.slice(from));
    const head = words.slice(0, words.length - tail.length);
    if (head.length === 0 || tail.length === 0) continue;
    heads.push(looseForm(specialWords(head)));
    tails.push(looseForm(specialWords(tail)));
  }
  return { heads, tails };
}

export function exactFormsOf(title: string): ExactForms {
  const halves = title.includes('~') ? title.split('~') : [];
  return { exact: exactForm(title), halves: halves.map((half) => exactForm(half.trim())) };
}

function exactForm(title: string): string {
  return exactText(wordsOf(withArticleInFront(title)));
}

function withArticleInFront(title: string): string {
  const found = title.includes(', ') ? MOVED_ARTICLE.exec(title) : null;
  const before = title.slice(0, found?.index);
  if (found === null || before === '' || before.includes('~')) return title;
  return `${found[1]} ${before} ${title.slice(found.index + found[0].length)}`.trim();
}

function exactText(words: readonly string[]): string {
  return joinWords(words.map((word) => NUMERALS.get(word) ?? word));
}

/** Numbers that stand next to each other stay two numbers. */
function joinWords(words: readonly string[]): string {
  return words.reduce(
    (text, word) => (/\d$/.test(text) && /^\d/.test(word) ? `${text}.${word}` : text + word),
    '',
  );
}

/** The loose form of some loose words. */
export function looseForm(words: readonly string[]): string {
  return looseText(joinWords(words));
}

/** Some words without articles and a licence, and with one spelling for numbers and short forms. */
function specialWords(words: readonly string[]): string[] {
  const start = licenceLength(words);
  const found: string[] = [];
  for (let at = start; at < words.length; at++) {
    let word = words[at];
    if (at < words.length - 1 && DROPPED.has(word)) continue;
    const ofTwo = FIRST_OF_TWO.has(word) ? SHORT.get(`${word} ${words[at + 1]}`) : undefined;
    if (ofTwo !== undefined) at++;
    word = ofTwo ?? SHORT.get(word) ?? word;
    // Without a title before it, a number is not a year: 42 is not 1942.
    found.push(found.length === 0 ? word : word.replace(LEFT_OUT_OF_NUMBER, ''));
  }
  return found.length > 0 ? found : words.slice(start);
}

function shortest(words: readonly string[]): string {
  return words.reduce((a, b) => (b.length < a.length ? b : a));
}

function joinX(both: string, next: string): string {
  const number = NUMERALS.get(next) ?? next;
  return /^\d+$/.test(number) ? `x${number}` : both;
}

/** How many words of a title are a licence before it. */
function licenceLength(words: readonly string[]): number {
  for (const names of LICENCES_BY_WORD.get(words[0]) ?? [])
    if (names.length < words.length && names.every((name, at) => words[at] === name))
      return names.length;
  return 0;
}

/** One spelling for the long vowels and the "n" of romanised Japanese. */
function looseText(text: string): string {
  if (!VARIED.test(text)) return text;
  return text
    .replace(/o[ou]+/g, 'o')
    .replace(/uu+/g, 'u')
    .replace(/m(?=[bp])/g, 'n');
}

/** Whether two titles have the same words, in any order. */
export function haveSameWords(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.toSorted().join(' ') === other.toSorted().join(' ');
}
