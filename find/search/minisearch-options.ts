/**
 * How `search.json` is made, and must be loaded: as options for this program, and as the data in
 * `search-options.json` for others. MiniSearch does not notice that an index was made with other options.
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
