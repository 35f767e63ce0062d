/**
 * Writes `search.json`, an index in MiniSearch's serialised form, straight from the file of words. MiniSearch
 * itself would produce the same bytes, but would take a gigabyte of memory for 300,000 titles.
 */
import { textAt, textCount } from '../../lib/columns/postings.ts';
import { WORD_RULES, wordsOf } from '../text/words.ts';
import type { VariantWords, WordIndex } from './open.ts';

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
/** How often a title has a word is counted up to this. */
const MOST_COUNTED = 255;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const ZERO = 0x30;

/** Where a text is written: after a `reserve`, into `buffer` from `at` on. */
export interface TextTarget {
  readonly buffer: Buffer;
  at: number;
  /** Makes room for so many bytes, which may replace `buffer` and change `at`. */
  reserve(bytes: number): void;
}

/**
 * Writes the text of the index, its millions of numbers byte by byte: a text for each would be garbage.
 * Each game is a document, with the words of its first variant. The numbers of further variants, which
 * are larger than every rank, are left out.
 * @param games how many games there are
 * @param pathOf returns the id of the document for a rank, `<platform slug>/<game slug>`
 */
export function writeMiniSearch(
  target: TextTarget,
  { words, variants }: Pick<WordIndex, 'words' | 'variants'>,
  games: number,
  pathOf: (rank: number) => string,
): void {
  const put = (text: string) => {
    // UTF-8 takes at most three bytes per code unit.
    target.reserve(text.length * 3);
    target.at += target.buffer.write(text, target.at);
  };
  /** Writes `"number":`, after a comma unless it is the first one. */
  const putKey = (number: number, isFirst: boolean) => {
    target.reserve(16);
    const { buffer } = target;
    let { at } = target;
    if (!isFirst) buffer[at++] = COMMA;
    buffer[at++] = QUOTE;
    at = putDigits(buffer, at, number);
    buffer[at++] = QUOTE;
    buffer[at++] = COLON;
    target.at = at;
  };
  const wordCounts = new Uint16Array(games);
  let average = 0;
  for (let rank = 0; rank < games; rank++) {
    wordCounts[rank] = countDistinct(variants, rank);
    // MiniSearch computes this running mean. The sum divided by the count can differ in the last digit.
    average = (average * rank + wordCounts[rank]) / (rank + 1);
  }
  put(`{"documentCount":${games},"nextId":${games},"documentIds":{`);
  for (let rank = 0; rank < games; rank++) {
    putKey(rank, rank === 0);
    put(`"${pathOf(rank)}"`);
  }
  put('},"fieldIds":{"title":0},"fieldLength":{');
  for (let rank = 0; rank < games; rank++) {
    putKey(rank, rank === 0);
    put(`[${wordCounts[rank]}]`);
  }
  put(
    `},"averageFieldLength":${JSON.stringify(games > 0 ? [average] : [])},"storedFields":{},"dirtCount":0,"index":[`,
  );
  let separator = '';
  const { entries, entriesStart } = words;
  for (let word = 0; word < textCount(words); word++) {
    const from = entriesStart[word];
    const to = entriesStart[word + 1];
    if (entries[from] >= games) continue;
    put(`${separator}\n[${JSON.stringify(textAt(words, word))},{"0":{`);
    for (let at = from; at < to && entries[at] < games; at++) {
      putKey(entries[at], at === from);
      target.reserve(4);
      target.at = putDigits(target.buffer, target.at, countOf(variants, entries[at], word));
    }
    put('}}]');
    separator = ',';
  }
  put(`\n],"serializationVersion":${SERIALIZATION_VERSION}}\n`);
}

/** Writes a number in decimal digits. @returns the end */
function putDigits(buffer: Buffer, start: number, number: number): number {
  let end = start + 1;
  for (let rest = number; rest > 9; rest = Math.trunc(rest / 10)) end++;
  let rest = number;
  for (let at = end - 1; at >= start; at--) {
    buffer[at] = ZERO + (rest % 10);
    rest = Math.trunc(rest / 10);
  }
  return end;
}

/** How many different words a variant has. */
function countDistinct({ words, start }: VariantWords, variant: number): number {
  let count = 0;
  for (let at = start[variant]; at < start[variant + 1]; at++) {
    let before = start[variant];
    while (words[before] !== words[at]) before++;
    if (before === at) count++;
  }
  return count;
}

/** How often a variant has a word. */
function countOf({ words, start }: VariantWords, variant: number, word: number): number {
  let count = 0;
  for (let at = start[variant]; at < start[variant + 1]; at++) if (words[at] === word) count++;
  return Math.min(count, MOST_COUNTED);
}
