/**
 * Seeded random queries that people could have typed: words of titles, changed in the ways that search
 * should see through, and in ways that it should not.
 */
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import type { NamedPlatform } from './reference/find.ts';
import type { ReferenceGame } from './reference/games.ts';
import type { ReferenceQuery } from './reference/search.ts';
import { equalWords, plainWordsOf } from './reference/text.ts';
import { FIRST_CHOSEN_ID, FIRST_SEEDED_ID, type SearchCatalogue } from './search-catalogue.ts';

export interface PagedQuery extends ReferenceQuery {
  readonly page?: string;
  readonly per_page?: string;
}

interface Source {
  readonly random: Random;
  /** Lists of texts that queries are made of, each as often as the others. */
  readonly texts: readonly (readonly string[])[];
  /** Titles with the names of their platforms. */
  readonly onPlatforms: readonly (readonly [title: string, names: readonly string[]])[];
  readonly platforms: readonly NamedPlatform[];
}

type Change = (words: string[], source: Source) => string[];

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const SORTS = ['title_asc', 'title_desc', 'year_asc', 'year_desc'];
const ODD = [
  ...['the', '!!!', '2', 'of the', 'no such words here', "'", 'ー', 'ii', 'n', '&', 'and', 'c++'],
  ...['c', 'c#', '1 2 3 4 5 6 7 8 9', 'a b c d e f g h i', '...', 'の', '\u3000', '3½', '１９４２'],
];

/** Changes of a query's words, each of which belongs to a rule of search. */
const CHANGES: Readonly<Record<string, Change>> = {
  'a letter is wrong': atRandom((word, { random }) => misspell(word, random)),
  'two letters are wrong': atRandom((word, { random }) => misspell(misspell(word, random), random)),
  'two letters are swapped': atRandom((word, { random }) => {
    const letters = [...word];
    const at = random.below(letters.length - 1);
    return [...letters.slice(0, at), letters[at + 1], letters[at], ...letters.slice(at + 2)].join(
      '',
    );
  }),
  'a digit is wrong': (words, { random }) =>
    words.map((word) => word.replace(/\d/, () => String(random.below(10)))),
  'two words are joined': joinWords(2),
  'three words are joined': joinWords(3),
  'a word is split': atRandom((word, { random }) => splitOnce(word, random)),
  'a word is split twice': atRandom((word, { random }) =>
    splitOnce(splitOnce(word, random), random),
  ),
  'equal words replace others': (words, { random }) =>
    words.map((word) => (random.happens(0.8) ? random.pick(equalWords(word)) : word)),
  'an equal word is joined to the word before': (words, { random }) => {
    const at = words.findIndex((word, i) => i > 0 && equalWords(word).length > 1);
    if (at < 0) return words;
    return words.toSpliced(at - 1, 2, words[at - 1] + random.pick(equalWords(words[at])));
  },
  'a number is split off': (words, { random }) =>
    words.map((word) =>
      word.replace(/(?<=\D)\d+$/, (digits) => ` ${random.pick(equalWords(digits))}`),
    ),
  'an ampersand stands for "and"': (words, { random }) => [
    words
      .map((word) => (word === 'and' || word === 'n' ? '&' : word))
      .join(' ')
      .replaceAll(' & ', random.pick([' & ', '&', ' ＆ ', '& '])),
  ],
  'words are joined by an ampersand': (words) => [words.join(' & ')],
  'a word is written as initials': atRandom((word) => [...word].join('.')),
  'the first letters are written as initials': (words) => [
    words.map((word) => [...word][0]).join('.'),
  ],
  'a platform is named first': (words, source) => [platformName(source), ...words],
  'a platform is named last': (words, source) => [...words, platformName(source)],
  'a platform is named between': (words, source) =>
    words.toSpliced(source.random.below(words.length + 1), 0, platformName(source)),
  'a word of another title is added': (words, { random, texts }) => {
    const others = plainWordsOf(random.pick(random.pick(texts))).concat('nosuchword');
    return words.toSpliced(random.below(words.length + 1), 0, random.pick(others));
  },
  'a word is missing': (words, { random }) =>
    words.length < 2 ? words : words.toSpliced(random.below(words.length), 1),
  'the order is another': (words, { random }) => {
    const at = random.below(words.length);
    return [...words.slice(at), ...words.slice(0, at)];
  },
  'the last word is not finished': (words, { random }) => {
    const last = [...(words.at(-1) ?? '')];
    return [...words.slice(0, -1), last.slice(0, 1 + random.below(last.length)).join('')];
  },
  'only some characters remain': (words, { random }) => {
    const characters = [...words.join(' ')];
    const at = random.below(characters.length);
    return [characters.slice(at, at + 2 + random.below(4)).join('')];
  },
  'the long vowels are others': (words, { random }) =>
    words.map((word) =>
      word.replace(/o[ou]|[ōū]/gi, (long) =>
        random.pick(/^u|ū/i.test(long) ? ['ū', 'uu', 'u'] : ['ō', 'ou', 'oo', 'o']),
      ),
    ),
  'the kana are others': (words) => [
    words
      .join(' ')
      .replace(/[ぁ-ゖ]|[ァ-ヶ]/g, (kana) =>
        String.fromCharCode(kana.charCodeAt(0) + (kana < 'ァ' ? 0x60 : -0x60)),
      ),
  ],
  'the letters are of full width': (words) => [
    words
      .join(' ')
      .replace(/[!-~]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)),
  ],
  'the case is another': (words) => [words.join(' ').toUpperCase()],
  'other marks separate the words': (words, { random }) => [
    words.join(random.pick(['-', '.', ': ', '・', ' / ', '_', "' "])),
  ],
};
const CHANGE_NAMES = Object.keys(CHANGES);

/**
 * Makes random queries over all parameters.
 * @param games those of the catalogue
 */
export function randomQueries(
  count: number,
  seed: number,
  games: readonly ReferenceGame[],
  { catalogue, platforms }: SearchCatalogue,
): PagedQuery[] {
  const random = makeRandom(seed);
  const { happens, below, pick } = random;
  const others = games.filter(({ id }) => Number(id) < FIRST_SEEDED_ID);
  const chosen = others.filter(({ id }) => Number(id) >= FIRST_CHOSEN_ID);
  const texts = [
    games.map(({ title }) => title),
    others.map(({ title }) => title),
    chosen.map(({ title }) => title),
    [...(catalogue.gameTitles ?? [])].map(([, title]) => String(title)),
    games.map(({ title }) => title).filter((title) => /[\u3040-\ud7ff]/.test(title)),
    others.filter(({ title }) => !/[a-z]/i.test(title)).map(({ slug }) => slug),
  ];
  const namesOf = new Map(platforms.map(({ slug, names }) => [slug, names]));
  const onPlatforms = others.map(
    ({ title, platform }) => [title, namesOf.get(platform) ?? []] as const,
  );
  const source = { random, texts, onPlatforms, platforms };
  const regions = [...new Set(games.flatMap((game) => [...game.regions]))];
  const types = [...new Set(games.flatMap((game) => [...game.types]))];
  const genres = games.flatMap((game) => game.genres ?? []);
  const recase = (text: string) => pick([text, text.toUpperCase(), text.toLowerCase()]);
  const maybe = (share: number, make: () => string) => (happens(share) ? make() : undefined);
  return Array.from({ length: count }, () => ({
    // A query is cut as a person would count, in characters.
    q: maybe(0.92, () => [...randomText(source)].slice(0, 100).join('').trim()),
    platform: maybe(0.2, () => (happens(0.1) ? 'nowhere' : recase(pick(platforms).slug))),
    region: maybe(0.1, () => (happens(0.1) ? 'Atlantis' : recase(pick(regions)))),
    type: maybe(0.1, () => (happens(0.1) ? 'lid' : recase(pick(types)))),
    genre: maybe(0.1, () => {
      const text = pick(genres);
      const at = below(text.length);
      return happens(0.1) ? 'no such genre' : recase(text.slice(at, at + 1 + below(8)));
    }),
    sort: maybe(0.9, () => (happens(0.6) ? 'relevance' : pick(SORTS))),
    ...(happens(0.3) ? { page: String(1 + below(4)) } : {}),
    ...(happens(0.5) ? { per_page: String(1 + below(100)) } : {}),
  }));
}

function randomText(source: Source): string {
  const { happens, pick } = source.random;
  if (happens(0.03)) return pick(ODD);
  if (happens(0.02)) return pick([...LETTERS]) + (happens(0.5) ? pick([...LETTERS]) : '');
  if (happens(0.02)) return platformName(source);
  if (happens(0.15)) return textOnPlatform(source);
  let words = someWords(source);
  if (happens(0.1)) return change('two letters are swapped', words, source).join(' ');
  if (happens(0.9)) {
    // A rule that has nothing to change in these words has perhaps in others.
    const name = pick(CHANGE_NAMES);
    let before = words;
    for (let tries = 0; tries < 30; tries++) {
      before = someWords(source);
      words = change(name, before, source);
      if (words.join(' ') !== before.join(' ')) break;
    }
  }
  if (happens(0.25)) words = change(pick(CHANGE_NAMES), words, source);
  return words.join(' ');
}

function change(name: string, words: string[], source: Source): string[] {
  const changed = CHANGES[name](words, source).filter((word) => word !== '');
  return changed.length === 0 ? words : changed;
}

/** A text as it stands, or some of its words; at least one. */
function someWords({ random, texts }: Source): string[] {
  const { below, happens, pick } = random;
  const text = pick(pick(texts));
  const words = happens(0.2) ? text.split(' ') : plainWordsOf(text);
  if (words.length === 0) return [text];
  return happens(0.5) ? words.slice(below(words.length)).slice(0, 1 + below(5)) : words;
}

/** Some words of a title, right or nearly so, and the name of its platform. */
function textOnPlatform({ random, onPlatforms }: Source): string {
  const { below, happens, pick } = random;
  const [title, names] = pick(onPlatforms);
  const words = plainWordsOf(title).slice(0, 1 + below(4));
  const typed = words.map((word) => (happens(0.2) ? misspell(word, random) : word));
  return typed.toSpliced(pick([0, words.length, words.length, 1]), 0, pick(names)).join(' ');
}

function atRandom(change: (word: string, source: Source) => string): Change {
  return (words, source) => {
    // The longer of two, because short words are left as they are by many rules.
    const [a, b] = [source.random.below(words.length), source.random.below(words.length)];
    const at = words[a].length < words[b].length ? b : a;
    return [...words[at]].length < 2 ? words : words.with(at, change(words[at], source));
  };
}

function joinWords(count: number): Change {
  return (words, { random }) => {
    const at = random.below(Math.max(1, words.length - count + 1));
    return words.toSpliced(at, count, words.slice(at, at + count).join(''));
  };
}

function splitOnce(word: string, random: Random): string {
  const letters = [...word];
  const at = 1 + random.below(letters.length - 1);
  return `${letters.slice(0, at).join('')} ${letters.slice(at).join('')}`;
}

function misspell(word: string, random: Random): string {
  const letters = [...word];
  const at = random.below(letters.length);
  const letter = random.pick([...LETTERS]);
  const [before, after] = [letters.slice(0, at).join(''), letters.slice(at + 1).join('')];
  return random.pick([
    before + letter + letters[at] + after,
    before + after,
    before + letter + after,
  ]);
}

function platformName({ random, platforms }: Source): string {
  // The last ones have made-up names; people would rather type one of the first.
  const few = platforms.slice(0, 16);
  return random.pick(random.pick(random.happens(0.8) ? few : platforms).names);
}
