/** The sets of queries of the search benchmark, made of the titles of the catalogue. */

import { makeRandom, type Random } from '../../demo/catalogue/random.ts';
import { wordsOf } from '../../find/text/words.ts';
import type { Game } from './prepare.ts';

/** What an engine must find in order to answer. */
export type Needs = 'words' | 'near spellings' | 'rules of the product';

/** Makes the parameters of `/search`. */
type Make = (sample: Sample, index: number) => Readonly<Record<string, string>>;

export interface QuerySet {
  readonly name: string;
  readonly needs: Needs;
  readonly make: Make;
}

/** What queries are made of. */
export interface Sample {
  readonly random: Random;
  readonly games: readonly Game[];
  /** Latin words by frequency, the most common first. */
  readonly common: readonly string[];
  readonly rare: readonly string[];
  /** Words of scripts without spaces. */
  readonly joined: readonly string[];
  /** Every prefix of every word. A misspelling must not be one of them. */
  readonly beginnings: ReadonlySet<string>;
}

/** The longest query that the product accepts. */
const LONGEST = 100;
const WORDS = 8;
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];

const MAKES: Readonly<Record<Needs, Readonly<Record<string, Make>>>> = {
  words: {
    'full title': ({ random, games }) => ({ q: cut(random.pick(games).title) }),
    'rare word': ({ random, rare }) => ({ q: random.pick(rare) }),
    '"the"': (sample) => ({ q: 'the', ...pageOf(sample, 10) }),
    'one letter': (sample) => ({ q: latinWord(sample).slice(0, 1), ...pageOf(sample, 10) }),
    'two words': (sample) => ({ q: words(sample, 2).slice(0, 2).join(' ') }),
    'word and platform': (sample) => ({ q: latinWord(sample), ...platformOf(sample) }),
    'by year': (sample) => ({ q: latinWord(sample, 3), sort: 'year_desc' }),
    'deep page': (sample) => ({ q: commonWord(sample, 30), ...pageOf(sample, 100) }),
    'hostile: letters': ({ random }) => ({ q: repeat(50, () => random.pick(LETTERS)).join(' ') }),
  },
  'near spellings': {
    'near spelling': (sample) => ({ q: misspell(sample, latinWord(sample, 5, 10)) }),
    'hostile: misspelt words': (sample) => ({
      q: cut(repeat(WORDS, () => misspell(sample, latinWord(sample, 8, 11))).join(' ')),
    }),
    'hostile: runs': (sample, index) => {
      const letter = sample.random.pick(LETTERS);
      // Folding turns the last character into eighteen.
      const parts = [letter, `${letter.repeat(11)} `, commonWord(sample, 50), 'ﷺ'];
      return { q: cut(parts[index % parts.length].repeat(LONGEST)) };
    },
  },
  'rules of the product': {
    'hostile: joined words': ({ random, joined }) => ({
      q: cut(repeat(LONGEST, () => random.pick(joined)).join('')),
    }),
    'hostile: every filter': (sample) => ({
      ...{ q: latinWord(sample).slice(0, 1), genre: sample.random.pick(LETTERS) },
      ...{ region: 'Japan', type: 'front', ...pageOf(sample, 10) },
    }),
    'no word, by year': (sample) => ({
      ...{ sort: 'year_desc', ...pageOf(sample, Math.ceil(sample.games.length / 50)) },
    }),
  },
};

/** All of them, and those without an order of their own also in the order of relevance. */
export const QUERY_SETS: readonly QuerySet[] = (Object.keys(MAKES) as Needs[]).flatMap((needs) =>
  Object.entries(MAKES[needs]).flatMap(([name, make]): QuerySet[] => {
    const plain = { name, needs, make };
    if (name.endsWith('by year')) return [plain];
    const byRelevance: Make = (...of) => ({ ...make(...of), sort: 'relevance' });
    const title = `${name}, by relevance`;
    return [plain, { name: title, needs: 'rules of the product', make: byRelevance }];
  }),
);

export function makeSample(games: readonly Game[]): Sample {
  const counts = new Map<string, number>();
  for (const { title } of games) {
    for (const word of new Set(wordsOf(title))) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const beginnings = new Set<string>();
  for (const word of counts.keys()) {
    for (let end = 1; end <= word.length; end++) beginnings.add(word.slice(0, end));
  }
  const latin = [...counts].filter(([word]) => /^[a-z]+$/.test(word));
  latin.sort(([, a], [, b]) => b - a);
  const joined = [...counts.keys()].filter((word) =>
    /^[\u3040-\u9fff\uac00-\ud7af]{2,}$/.test(word),
  );
  return {
    ...{ random: makeRandom(), games, beginnings },
    joined: joined.length > 0 ? joined : ['ドラゴン', '勇者', '전설'],
    common: latin.map(([word]) => word),
    rare: latin.filter(([, count]) => count <= 3).map(([word]) => word),
  };
}

const repeat = <T>(times: number, make: () => T) => Array.from({ length: times }, make);

const commonWord = ({ random, common }: Sample, most: number) => random.pick(common.slice(0, most));

const platformOf = ({ random, games }: Sample) => ({ platform: random.pick(games).platform });

function pageOf({ random }: Sample, most: number): { page: string } {
  return { page: String(1 + random.below(most)) };
}

/** The words of a title that has at least this many distinct words. */
function words({ random, games }: Sample, least: number): string[] {
  for (;;) {
    const found = [...new Set(wordsOf(random.pick(games).title))];
    if (found.length >= least) return found;
  }
}

function latinWord(sample: Sample, shortest = 1, longest = 40): string {
  for (;;) {
    const fit = words(sample, 1).filter(
      (word) => /^[a-z]+$/.test(word) && word.length >= shortest && word.length <= longest,
    );
    if (fit.length > 0) return sample.random.pick(fit);
  }
}

/** Changes one letter, or up to two of a longer word, so that no word begins with the result. */
function misspell({ random, beginnings }: Sample, word: string): string {
  for (;;) {
    const letters = [...word];
    for (let change = word.length < 8 ? 1 : 1 + random.below(2); change > 0; change--) {
      letters[random.below(letters.length)] = random.pick(LETTERS);
    }
    const misspelt = letters.join('');
    if (!beginnings.has(misspelt)) return misspelt;
  }
}

function cut(text: string): string {
  return [...text].slice(0, LONGEST).join('').trim();
}
