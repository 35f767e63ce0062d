/** The sets of queries of the search benchmark, made of the titles of the catalogue. */
import { wordsOf } from '../../format/index/words.ts';
import { makeRandom, type Random } from '../catalogue/random.ts';
import type { Game } from './prepare.ts';

export interface QuerySet {
  readonly name: string;
  /** What an engine must be able to do besides finding words; only the product finds without a word, and joined words. */
  readonly needs?: 'near spellings' | 'the product';
  /** It has an order of its own. The other sets are also asked for in the order of relevance. */
  readonly isSorted?: boolean;
  /** The parameters of `/search`. */
  readonly make: (sample: Sample, index: number) => Readonly<Record<string, string>>;
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
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

export const QUERY_SETS: readonly QuerySet[] = [
  { name: 'full title', make: ({ random, games }) => ({ q: cut(random.pick(games).title) }) },
  { name: 'rare word', make: ({ random, rare }) => ({ q: random.pick(rare) }) },
  { name: '"the"', make: (sample) => ({ q: 'the', ...pageOf(sample, 10) }) },
  {
    name: 'one letter',
    make: (sample) => ({ q: latinWord(sample).slice(0, 1), ...pageOf(sample, 10) }),
  },
  { name: 'two letters', make: (sample) => ({ q: latinWord(sample, 2).slice(0, 2) }) },
  { name: 'two words', make: (sample) => ({ q: words(sample, 2).slice(0, 2).join(' ') }) },
  {
    name: 'near spelling',
    needs: 'near spellings',
    make: (sample) => ({ q: misspell(sample, latinWord(sample, 5, 10)) }),
  },
  {
    name: 'word and platform',
    make: (sample) => ({
      ...{ q: latinWord(sample), platform: sample.random.pick(sample.games).platform },
    }),
  },
  {
    name: 'by year',
    isSorted: true,
    make: (sample) => ({ q: latinWord(sample, 3), sort: 'year_desc' }),
  },
  {
    name: 'deep page',
    make: (sample) => ({
      ...{ q: sample.random.pick(sample.common.slice(0, 30)), ...pageOf(sample, 100) },
    }),
  },
  {
    name: 'hostile: letters',
    make: ({ random }) => ({
      q: Array.from({ length: 50 }, () => random.pick([...LETTERS])).join(' '),
    }),
  },
  {
    name: 'hostile: misspelt words',
    needs: 'near spellings',
    make: (sample) => {
      const long = sample.common.filter(({ length }) => length >= 8 && length <= 11);
      const picked = Array.from({ length: WORDS }, () => sample.random.pick(long));
      return { q: cut(picked.map((word) => misspell(sample, word)).join(' ')) };
    },
  },
  {
    name: 'hostile: runs',
    needs: 'near spellings',
    make: ({ random, common }, index) => {
      const letter = random.pick([...LETTERS]);
      // Folding turns the last character into eighteen.
      const parts = [letter, `${letter.repeat(11)} `, random.pick(common.slice(0, 50)), 'ﷺ'];
      return { q: cut(parts[index % parts.length].repeat(LONGEST)) };
    },
  },
  {
    name: 'hostile: joined words',
    needs: 'the product',
    make: ({ random, joined }) => ({
      q: cut(Array.from({ length: LONGEST }, () => random.pick(joined)).join('')),
    }),
  },
  {
    name: 'platform only',
    needs: 'the product',
    make: (sample) => ({
      ...{ platform: sample.random.pick(sample.games).platform, ...pageOf(sample, 10) },
    }),
  },
  {
    name: 'no word, by year',
    isSorted: true,
    needs: 'the product',
    make: (sample) => ({
      ...pageOf(sample, Math.ceil(sample.games.length / 50)),
      sort: 'year_desc',
    }),
  },
];

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
      letters[random.below(letters.length)] = random.pick([...LETTERS]);
    }
    const misspelt = letters.join('');
    if (!beginnings.has(misspelt)) return misspelt;
  }
}

function cut(text: string): string {
  return [...text].slice(0, LONGEST).join('').trim();
}
