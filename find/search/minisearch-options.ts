/**
 * How `search.json` is made, and must be loaded. MiniSearch does not notice that an index was made with
 * other options: compare their hash with `minisearch_options` in the manifest first.
 *
 * This file also runs in browsers, as a part of the client (`client/`).
 */
import { WORD_RULES, wordsOf } from '../text/words.ts';

export const MINISEARCH_OPTIONS = {
  idField: 'path',
  fields: ['title'],
  storeFields: [],
  tokenize: wordsOf,
  processTerm: (term: string) => term,
};

/** The content of `search-options.json`: the options that are data, and the rules for words. */
export function optionsAsData(): string {
  const { idField, fields, storeFields } = MINISEARCH_OPTIONS;
  return `${JSON.stringify({ idField, fields, storeFields, words: WORD_RULES }, null, 1)}\n`;
}

/**
 * The options and the rules for words, as one text. Its SHA-256 is `minisearch_options`.
 * @param unicodeVersion since the same patterns can match other characters in another version of Unicode
 */
export function minisearchRules(unicodeVersion: string | undefined): string {
  return JSON.stringify([optionsAsData(), unicodeVersion]);
}
