/**
 * The query sets of the search benchmark, made from the titles of the catalogue. The same seed and
 * the same catalogue give the same queries. All engines get the same queries.
 */
import { wordsOf } from '../../../format/index/words.ts';
import { makeRandom } from '../../catalogue/random.ts';
import type { SearchDocument } from './documents.ts';
import {
  cut,
  document,
  LETTERS,
  LONGEST,
  latinWord,
  type Make,
  misspell,
  type Sample,
  type TitleQuery,
  words,
} from './query-words.ts';
import { RELEVANCE_SETS } from './relevance-queries.ts';

/** What a set requires of an engine besides words, the last of them as a prefix. */
export type Demand = 'near' | 'joined' | 'genre' | 'no words' | 'relevance';

export interface QuerySet {
  readonly name: string;
  readonly demands: readonly Demand[];
  readonly queries: readonly TitleQuery[];
}

export const PER_PAGE = 50;
const QUERIES = 200;
const WORDS = 8;

const SETS: readonly (readonly [name: string, demands: readonly Demand[], make: Make])[] = [
  ['full title', [], (sample) => ({ q: cut(document(sample).title) })],
  ['rare word', [], ({ random, rare }) => ({ q: random.pick(rare) })],
  ['"the"', [], ({ random }) => ({ q: 'the', page: 1 + random.below(10) })],
  ['one letter', [], (sample) => ({ q: latinWord(sample).slice(0, 1) })],
  ['two letters', [], (sample) => ({ q: latinWord(sample, 2).slice(0, 2) })],
  ['two words', [], (sample) => ({ q: words(sample, 2).slice(0, 2).join(' ') })],
  ['near spelling', ['near'], (sample) => ({ q: misspell(sample, latinWord(sample, 5, 10)) })],
  ['word and filter', [], (sample) => ({ q: latinWord(sample), ...plainFilter(sample) })],
  ['filter only', ['genre', 'no words'], (sample, index) => filter(sample, index)],
  ['year_desc, one word', [], (sample) => ({ q: latinWord(sample, 3), sort: 'year_desc' })],
  [
    'year_desc, no word',
    ['no words'],
    ({ random, documents }) => ({
      sort: 'year_desc',
      page: 1 + random.below(Math.ceil(documents.length / PER_PAGE)),
    }),
  ],
  [
    'year_desc, filter',
    ['genre', 'no words'],
    (sample, index) => ({ ...filter(sample, index), sort: 'year_desc' }),
  ],
  ['deep page', [], deepPage],
  ['hostile: misspelt', ['near'], (sample, index) => ({ q: hostileWords(sample, index) })],
  ['hostile: letters', [], (sample, index) => ({ q: hostileLetters(sample, index) })],
  ['hostile: runs', ['near'], (sample, index) => ({ q: hostileRun(sample, index) })],
  ['hostile: CJK', ['near', 'joined'], (sample, index) => ({ q: hostileJoined(sample, index) })],
  ...RELEVANCE_SETS.map(([name, make]): (typeof SETS)[number] => [name, ['relevance'], make]),
];

/** Makes the query sets for each seed, in the same order. */
export function makeQuerySets(
  documents: readonly SearchDocument[],
  seeds: readonly number[],
): QuerySet[][] {
  const frequency = new Map<string, number>();
  for (const { title } of documents) {
    for (const word of new Set(wordsOf(title))) frequency.set(word, (frequency.get(word) ?? 0) + 1);
  }
  const beginnings = new Set<string>();
  const common = [...frequency.keys()].sort(
    (a, b) => (frequency.get(b) as number) - (frequency.get(a) as number),
  );
  for (const word of common) {
    for (let end = 1; end <= word.length; end++) beginnings.add(word.slice(0, end));
  }
  const joined = common.filter((word) => /^[\u3040-\u9fff\uac00-\ud7af]{2,}$/.test(word));
  const shared = {
    documents,
    frequency,
    beginnings,
    common: common.filter((word) => /^[a-z]+$/.test(word)),
    rare: common.filter((word) => (frequency.get(word) as number) <= 3),
    // For a catalogue without such titles: words that it does not contain.
    joined: joined.length > 0 ? joined : ['ドラゴン', '勇者', '전설'],
  };
  return seeds.map((seed) =>
    SETS.map(([name, demands, make], number) => {
      const random = makeRandom();
      random.start(seed, number, 0);
      const sample = { ...shared, random };
      const queries = Array.from({ length: QUERIES }, (_, index) => make(sample, index));
      return { name, demands, queries };
    }),
  );
}

function plainFilter(sample: Sample): TitleQuery {
  for (;;) {
    const { platform, regions, types } = document(sample);
    const [region] = regions;
    const [type] = types;
    const kind = sample.random.below(3);
    if (kind === 0) return { platform };
    if (kind === 1 && region !== undefined) return { region };
    if (kind === 2 && type !== undefined) return { type };
  }
}

function filter(sample: Sample, index: number): TitleQuery {
  for (;;) {
    const { platform, regions, types, genres } = document(sample);
    const [region] = regions;
    const [type] = types;
    const genre = genres === null ? undefined : sample.random.pick(genres.split(/\s*[,;/|]\s*/));
    const kind = index % 5;
    if (kind === 0) return { platform };
    if (kind === 1 && region !== undefined) return { region };
    if (kind === 2 && type !== undefined) return { type };
    if (kind === 3 && genre) return { genre };
    if (kind === 4 && region !== undefined && type !== undefined) return { region, type };
  }
}

function deepPage({ random, frequency, common }: Sample): TitleQuery {
  const q = common[random.below(30)];
  // As a prefix, the word finds at least as many games.
  const pages = Math.ceil((frequency.get(q) as number) / PER_PAGE);
  return { q, page: Math.max(1, Math.ceil(pages * (0.2 + 0.8 * random.next()))) };
}

// Eight words with common beginnings. In one half of the queries each word is close to an existing
// one, so that none of them ends the search early; in the other half hardly any is.
function hostileWords(sample: Sample, index: number): string {
  const { random, common } = sample;
  const long = common.filter((word) => word.length >= 8 && word.length <= 11).slice(0, 1500);
  const picked = Array.from({ length: WORDS }, () => {
    const word = random.pick(long);
    if (index % 2 === 0) return misspell(sample, word);
    const tail = Array.from({ length: 7 }, () => LETTERS[random.below(LETTERS.length)]);
    return word.slice(0, 4) + tail.join('');
  });
  return cut(picked.join(' '));
}

function hostileLetters({ random }: Sample, index: number): string {
  const letter = () => LETTERS[random.below(LETTERS.length)];
  const one = letter();
  if (index % 2 === 0) return Array(50).fill(one).join(' ');
  return Array.from({ length: 50 }, letter).join(' ');
}

function hostileRun({ random, common }: Sample, index: number): string {
  const letter = LETTERS[random.below(LETTERS.length)];
  if (index % 4 === 0) return letter.repeat(LONGEST);
  if (index % 4 === 1) return Array(WORDS).fill(letter.repeat(11)).join(' ');
  // Folding turns this character into eighteen.
  if (index % 4 === 2) return 'ﷺ'.repeat(1 + random.below(LONGEST));
  return `${(random.pick(common.slice(0, 50)) as string).repeat(LONGEST)}`.slice(0, LONGEST);
}

function hostileJoined({ random, joined }: Sample, index: number): string {
  const word = () => random.pick(joined);
  if (index % 3 === 0) return cut(Array.from({ length: LONGEST }, word).join(''));
  const parts = Array.from({ length: WORDS }, () => {
    const letters = [...word()];
    const from = random.below(letters.length - 1);
    return letters.slice(from, from + 2).join('');
  });
  // Repeating the same part does not end the search early either.
  return (index % 3 === 1 ? Array(WORDS).fill(parts[0]) : parts).join(' ');
}
