/**
 * Writes `search.json`, an index in MiniSearch's serialised form, straight from the postings. MiniSearch
 * itself would produce the same bytes, but would take a gigabyte of memory for 300,000 titles.
 */
import type { Postings } from '../../lib/columns/postings.ts';
import { entriesAt, textAt, textCount } from '../../lib/columns/postings.ts';
import { WORD_RULES, wordsOf } from '../text/words.ts';

/**
 * How `search.json` is made, and must be loaded: as options for this program, and as the data in
 * `search-options.json` for others. MiniSearch does not notice that an index was made with other options.
 */
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

const SERIALIZATION_VERSION = 2;

/**
 * The text of the index, in pieces.
 * Each game is a document, with the words of its first variant. The numbers of further variants, which
 * are larger than every rank, are left out.
 * @param frequencies how often each word is in each title, parallel to `postings.entries`
 * @param wordCounts for each rank, how many different words the title has
 * @param pathOf returns the id of the document for a rank, `<platform slug>/<game slug>`
 */
export function* encodeMiniSearch(
  postings: Postings,
  frequencies: Uint8Array,
  wordCounts: Uint16Array,
  pathOf: (rank: number) => string,
): Generator<string> {
  const documents = wordCounts.length;
  let average = 0;
  wordCounts.forEach((words, rank) => {
    // MiniSearch computes this running mean. The sum divided by the count can differ in the last digit.
    average = (average * rank + words) / (rank + 1);
  });
  yield `{"documentCount":${documents},"nextId":${documents},"documentIds":{`;
  for (let rank = 0; rank < documents; rank++)
    yield `${rank > 0 ? ',' : ''}"${rank}":"${pathOf(rank)}"`;
  yield '},"fieldIds":{"title":0},"fieldLength":{';
  for (let rank = 0; rank < documents; rank++)
    yield `${rank > 0 ? ',' : ''}"${rank}":[${wordCounts[rank]}]`;
  yield `},"averageFieldLength":${JSON.stringify(documents > 0 ? [average] : [])},"storedFields":{},"dirtCount":0,"index":[`;
  let separator = '';
  for (let word = 0; word < textCount(postings); word++) {
    const from = postings.entriesStart[word];
    const ranks = entriesAt(postings, word).filter((entry) => entry < documents);
    if (ranks.length === 0) continue;
    const counts = Array.from(ranks, (rank, at) => `"${rank}":${frequencies[from + at]}`);
    yield `${separator}\n[${JSON.stringify(textAt(postings, word))},{"0":{${counts.join(',')}}}]`;
    separator = ',';
  }
  yield `\n],"serializationVersion":${SERIALIZATION_VERSION}}\n`;
}
