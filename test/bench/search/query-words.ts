/** What the query sets of the search benchmark are made from: random words of the catalogue's titles. */
import { wordsOf } from '../../../format/index/words.ts';
import type { Random } from '../../catalogue/random.ts';
import type { SearchDocument } from './documents.ts';

export const LONGEST = 100;
export const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/** The parameters of `/search`, with 50 games per page. */
export interface TitleQuery {
  readonly q?: string;
  readonly platform?: string;
  readonly region?: string;
  readonly type?: string;
  readonly genre?: string;
  readonly sort?: 'year_desc' | 'relevance';
  readonly page?: number;
}

export interface Sample {
  readonly random: Random;
  readonly documents: readonly SearchDocument[];
  readonly frequency: ReadonlyMap<string, number>;
  /** Every prefix of every word. A misspelling must not be one of them. */
  readonly beginnings: ReadonlySet<string>;
  readonly rare: readonly string[];
  /** By frequency, the most common first. */
  readonly common: readonly string[];
  readonly joined: readonly string[];
}

export type Make = (sample: Sample, index: number) => TitleQuery;

export function document({ random, documents }: Sample): SearchDocument {
  return random.pick(documents);
}

/** The words of a title that has at least this many distinct words. */
export function words(sample: Sample, least: number): string[] {
  for (;;) {
    const found = [...new Set(wordsOf(document(sample).title))];
    if (found.length >= least) return found;
  }
}

export function latinWord(sample: Sample, shortest = 1, longest = 40): string {
  for (;;) {
    const fit = words(sample, 1).filter(
      (word) => /^[a-z]+$/.test(word) && word.length >= shortest && word.length <= longest,
    );
    if (fit.length > 0) return sample.random.pick(fit);
  }
}

/** Changes one letter, or up to two of a word of eight letters, so that no word begins with the result. */
export function misspell({ random, beginnings }: Sample, word: string): string {
  for (;;) {
    const letters = [...word];
    for (let change = word.length < 8 ? 1 : 1 + random.below(2); change > 0; change--) {
      letters[random.below(letters.length)] = LETTERS[random.below(LETTERS.length)];
    }
    const misspelt = letters.join('');
    if (!beginnings.has(misspelt)) return misspelt;
  }
}

export function cut(text: string): string {
  return [...text].slice(0, LONGEST).join('').trim();
}
