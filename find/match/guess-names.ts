/**
 * The one grammar of names: a title is followed, and sometimes preceded, by words that say what the file is. Given a
 * title as it was read, it returns what is left of it without one such word, without two, and so on. Each is only
 * a guess: it counts if exactly one game has this title. A title with the word always comes first, so that no
 * word of a title is dropped.
 */
import { regionOf } from '../names/regions.ts';
import { LANGUAGES, WORDS } from './tags.ts';

const BETWEEN = String.raw`[\s_.,-]+`;
/** Ids of titles and discs: GM8E01, PCSF00214, 6F3C1B2A. */
const ID = '(?=[A-Z]*\\d[A-Z]*\\d)(?=\\d*[A-Z])[A-Z0-9]{6,16}';
/** What packages have: `SHVC-RI`, `MK-1186`, `AXVE`. */
const CODE = `[A-Z]{1,4}-[A-Z0-9]{2,6}(?:-[A-Z]{3})?|[A-Z][A-Z0-9]{2}[DEFHIJKPSUXYW]|${ID}`;
const CODE_IN_FRONT = new RegExp(String.raw`^(?:${CODE})(?:\s*-\s+|[\s_]+)(?=.*[A-Za-z])`);
/** What else may stand before a title, besides a name of its platform or company. */
const HEAD = new RegExp(
  [
    String.raw`#?\d{1,4}\s*(?:-\s|[._)\]])\s*-?\s*`,
    String.raw`(?:0\d+|[x0]\d{3}|\d{4})\s`,
    String.raw`setup[\s_]+`,
    String.raw`copy (?:\(?\d+\)? )?of\s+`,
  ]
    .map((head) => `^(?:${head})(?=\\S)`)
    .join('|'),
  'i',
);
const NAME_IN_FRONT = /^(.+?)\s+-\s+(?=\S)/;
/** What may follow a title, besides words of the table: longer ones first. */
const TAIL = new RegExp(
  String.raw`(?<=[^\s_.,-])${BETWEEN}(?:${[
    String.raw`(?:\([^()]*\)|\[[^[\]]*\]|\{[^{}]*\})`,
    String.raw`(?<year>(?:19|20)\d\d)(?:-[\dx]{2}){0,2}`,
    String.raw`(?:rev(?:ision)?|v|ver|version)[.\s]?(?:(?:prg)?\d[0-9a-z.]{0,12}|[a-z])`,
    String.raw`(?:d\d|(?:dis[ck]|cd|dvd|side|tape)[\s_-]?(?:\d{1,2}|[a-h]))(?:\s?of\s?\d{1,2})?`,
    String.raw`\d+(?:\.\d+)+[a-z]?|\d{2,3}%`,
    String.raw`by\s.{1,60}`,
    `(?:premium|limited|special|standard|collector's) edition|(?:the )?video ?game`,
    String.raw`(?:update data|copy|multi|m)(?:\s?\d[\d. ]*)?`,
  ].join('|')})$`,
  'i',
);
/** Also the name of a group. Case tells these from words. */
const CODE_AT_END = new RegExp(
  String.raw`(?:\s+-\s*|[\s_]+)${ID}$|(?<=[^\s-]{3})-[A-Z][A-Z0-9]{3,11}$`,
);
/** Words that are joined in one. */
const JOINED = /(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Z][a-z])|(?<=[a-z][A-Z])(?=[A-Z][a-z])/g;
/** Of a platform. */
const MOST_WORDS_OF_NAME = 5;
const MOST_WORDS_OF_COMPANY = 3;
/** Regions and languages of small letters are words too. */
const SMALL_REGION = /^(?:usa|eur?|jpn?|jap|pal|.{5,})$/;
const MOST_GUESSES = 40;

/** What is left of a name, and what the words said that were dropped. */
export interface Guess {
  readonly title: string;
  readonly regions: readonly string[];
  readonly year: number | null;
  /** A name that must be that of the game's developer or publisher. */
  readonly company: string | null;
}

/**
 * Each guess lacks something more than one before it.
 * @param titles as they were read
 * @param namesPlatform whether a text is a name of the platform
 */
export function* guessNames(
  titles: readonly string[],
  namesPlatform: (name: string) => boolean,
): Generator<Guess> {
  const seen = new Set(titles);
  const spaced = titles.map((title) => {
    const words = /\s-\s/.test(title) ? title : title.replace(/[\s_-]+/g, ' ');
    return /\s/.test(words) ? words : words.replace(JOINED, ' ');
  });
  for (const title of new Set([...titles, ...spaced]))
    for (const head of headsOf({ title, regions: [], year: null, company: null }, namesPlatform))
      for (const guess of tailsOf(head, namesPlatform)) {
        const key = `${guess.title}\0${guess.company ?? ''}`;
        if (seen.has(key) || (seen.has(guess.title) && guess.company === null)) continue;
        seen.add(key);
        yield guess;
        if (seen.size >= MOST_GUESSES) return;
      }
}

function* headsOf(whole: Guess, namesPlatform: (name: string) => boolean): Generator<Guess> {
  for (let guess = whole; ; ) {
    yield guess;
    const { title } = guess;
    const [front = '', name = ''] = NAME_IN_FRONT.exec(title) ?? [];
    const rest = title.replace(CODE_IN_FRONT, '').replace(HEAD, '');
    if (rest !== title) guess = { ...guess, title: rest };
    else if (namesPlatform(name)) guess = { ...guess, title: title.slice(front.length) };
    else {
      if (name !== '') yield { ...guess, title: title.slice(front.length), company: name };
      return;
    }
  }
}

function* tailsOf(whole: Guess, namesPlatform: (name: string) => boolean): Generator<Guess> {
  for (let guess: Guess | undefined = whole; guess !== undefined; ) {
    yield guess;
    const shorter: Guess | undefined = withoutTail(guess, guess !== whole, namesPlatform);
    if (shorter === undefined && guess.company === null)
      for (const { before, words } of endsOf(guess.title, MOST_WORDS_OF_COMPANY))
        if (/^\D{3,}$/.test(words))
          yield* tailsOf({ ...guess, title: before, company: words }, namesPlatform);
    guess = shorter;
  }
}

/** @param isFollowed whether a word was dropped behind it */
function withoutTail(
  guess: Guess,
  isFollowed: boolean,
  namesPlatform: (name: string) => boolean,
): Guess | undefined {
  const { title } = guess;
  const year = Number(TAIL.exec(title)?.groups?.year) || guess.year;
  const rest = title.replace(TAIL, '').replace(CODE_AT_END, '').trim();
  if (rest !== title) return { ...guess, title: rest, year };
  const ends = endsOf(title, MOST_WORDS_OF_NAME);
  const ofPlatform = ends.findLast(({ words }) => namesPlatform(words));
  if (ofPlatform !== undefined) return { ...guess, title: ofPlatform.before };
  const [{ before, between, words: word } = { before: '', between: '', words: '' }] = ends;
  const lower = word.toLowerCase();
  const isCode = word.length > 1 && word === word.toUpperCase();
  const region = isCode || SMALL_REGION.test(lower) ? regionOf(word) : undefined;
  if (region !== undefined && (region !== 'World' || isFollowed))
    return { ...guess, title: before, regions: [region, ...guess.regions] };
  const isLanguage = (isCode || /[_.-]/.test(between)) && LANGUAGES.has(lower);
  return isLanguage || WORDS.anywhere.has(lower) ? { ...guess, title: before } : undefined;
}

/** The last words of a text, the last one, the last two and so on, and what stands before them. */
function endsOf(text: string, count: number): { before: string; between: string; words: string }[] {
  // Every second part is what stands between two words.
  const parts = text.split(/([\s_.,-]+)/);
  const most = Math.min(count, (parts.length - 1) / 2);
  return Array.from({ length: most }, (_, more) => {
    const at = parts.length - 1 - 2 * more;
    const words = parts.slice(at).filter((_, index) => index % 2 === 0);
    return {
      before: parts.slice(0, at - 1).join(''),
      between: parts[at - 1],
      words: words.join(' '),
    };
  }).filter(({ before }) => before !== '');
}
