/**
 * Postings: texts, each with the numbers of what has it. They are four columns, which are written and opened by
 * these functions, so that a reader finds a text by bisection, and its numbers as a view.
 */

import { compareSlices, compareText, firstIndex } from './arrays.ts';
import { checkAscending, checkEach, checkStarts } from './checks.ts';
import type { ColumnReader } from './container.ts';
import { NONE } from './numbers.ts';

/** Texts in ascending order of their code units, each with ascending entries. */
export interface Postings {
  readonly text: Uint16Array;
  /** Where each text starts, and at the end the length of `text`. */
  readonly textStart: Uint32Array;
  /** The entries of all texts. */
  readonly entries: Uint32Array;
  /** Where the entries of each text start, and at the end their number. */
  readonly entriesStart: Uint32Array;
}

/** @param entriesOf for each text, its entries in ascending order; texts without entries are left out */
export function makePostings(entriesOf: ReadonlyMap<string, ArrayLike<number>>): Postings {
  const texts = [...entriesOf]
    .filter(([, entries]) => entries.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const entriesStart = startsOfLists(texts.map(([, entries]) => entries));
  const entries = new Uint32Array(entriesStart[texts.length]);
  for (const [at, [, list]] of texts.entries()) entries.set(list, entriesStart[at]);
  return { ...encodeTexts(texts.map(([text]) => text)), entries, entriesStart };
}

/**
 * Postings whose numbers have changed, with further entries. A text that has no entry left is left out.
 * @param numberNow for each number, what it is now, or none; those that are left are in the same order
 * @param added further texts, and further entries of texts; ascending, and not there yet
 * @returns `now`; `indexNow`, for each text, its index there
 */
export function mergePostings(
  before: Postings,
  numberNow: Uint32Array,
  added: ReadonlyMap<string, readonly number[]>,
): { readonly now: Postings; readonly indexNow: Uint32Array } {
  const further = [...added].sort(([a], [b]) => (a < b ? -1 : 1));
  const sum = (of: (list: (typeof further)[number]) => number) =>
    further.reduce((total, list) => total + of(list), 0);
  const text = new Uint16Array(before.text.length + sum(([{ length }]) => length));
  const entries = new Uint32Array(before.entries.length + sum(([, { length }]) => length));
  const most = textCount(before) + further.length;
  const [textStart, entriesStart] = [new Uint32Array(most + 1), new Uint32Array(most + 1)];
  const indexNow = new Uint32Array(textCount(before)).fill(NONE);
  let [count, textEnd, entriesEnd] = [0, 0, 0];
  const endText = () => {
    count++;
    textStart[count] = textEnd;
    entriesStart[count] = entriesEnd;
  };
  const keep = (index: number, more: readonly number[]) => {
    let next = 0;
    for (let at = before.entriesStart[index]; at < before.entriesStart[index + 1]; at++) {
      const number = numberNow[before.entries[at]];
      if (number === NONE) continue;
      while (next < more.length && more[next] < number) entries[entriesEnd++] = more[next++];
      entries[entriesEnd++] = number;
    }
    while (next < more.length) entries[entriesEnd++] = more[next++];
    if (entriesEnd === entriesStart[count]) return;
    for (let at = before.textStart[index]; at < before.textStart[index + 1]; at++)
      text[textEnd++] = before.text[at];
    indexNow[index] = count;
    endText();
  };
  let index = 0;
  for (const [word, more] of further) {
    for (const end = lowerBound(before, word); index < end; index++) keep(index, []);
    if (index < textCount(before) && compareText(before, index, word) === 0) {
      keep(index++, more);
      continue;
    }
    for (let at = 0; at < word.length; at++) text[textEnd++] = word.charCodeAt(at);
    for (const entry of more) entries[entriesEnd++] = entry;
    endText();
  }
  for (; index < textCount(before); index++) keep(index, []);
  const now = {
    text: text.subarray(0, textEnd),
    textStart: textStart.subarray(0, count + 1),
    entries: entries.subarray(0, entriesEnd),
    entriesStart: entriesStart.subarray(0, count + 1),
  };
  return { now, indexNow };
}

/** Texts one after another as UTF-16 code units, and where each of them starts. */
export function encodeTexts(texts: readonly string[]): Pick<Postings, 'text' | 'textStart'> {
  const textStart = startsOfLists(texts);
  const text = new Uint16Array(textStart[texts.length]);
  Buffer.from(text.buffer).write(texts.join(''), 'utf16le');
  return { text, textStart };
}

/** Where each list or text starts if all come one after another, and at the end where the last one ends. */
export function startsOfLists(lists: readonly { readonly length: number }[]): Uint32Array {
  const starts = new Uint32Array(lists.length + 1);
  lists.forEach(({ length }, at) => {
    starts[at + 1] = starts[at] + length;
  });
  return starts;
}

/** @throws Error that names what is damaged */
export function openPostings(column: ColumnReader, name: string): Postings {
  const textStart = column(`${name}.textStart`, 'u32');
  const entriesStart = column(`${name}.entriesStart`, 'u32', textStart.length);
  return {
    text: column(`${name}.text`, 'u16', textStart.at(-1)),
    textStart,
    entries: column(`${name}.entries`, 'u32', entriesStart.at(-1)),
    entriesStart,
  };
}

export function textCount({ textStart }: Pick<Postings, 'textStart'>): number {
  return textStart.length - 1;
}

/** The text at an index of a list. */
export function textAt(
  { text, textStart }: Pick<Postings, 'text' | 'textStart'>,
  index: number,
): string {
  const start = text.byteOffset + textStart[index] * text.BYTES_PER_ELEMENT;
  const length = (textStart[index + 1] - textStart[index]) * text.BYTES_PER_ELEMENT;
  return Buffer.from(text.buffer, start, length).toString('utf16le');
}

/** All texts of a list, by their indexes. */
export function textsIn(list: Pick<Postings, 'text' | 'textStart'>): string[] {
  return Array.from({ length: textCount(list) }, (_, at) => textAt(list, at));
}

/**
 * The entries of the texts at the indexes from `from` (inclusive) to `to` (exclusive), as a view of the
 * column. By default those of one text, which ascend.
 */
export function entriesAt(
  { entries, entriesStart }: Postings,
  from: number,
  to = from + 1,
): Uint32Array {
  return entries.subarray(entriesStart[from], entriesStart[to]);
}

/** The index of a text in a list, or -1. */
export function findText(list: Postings, wanted: string): number {
  const index = lowerBound(list, wanted);
  return index < textCount(list) && compareText(list, index, wanted) === 0 ? index : -1;
}

/** The range of indexes of the texts that begin with a prefix: `from` inclusive, `to` exclusive. */
export function findPrefix(list: Postings, prefix: string): [from: number, to: number] {
  const from = lowerBound(list, prefix);
  const { length } = prefix;
  const isAfter = (at: number) => compareText(list, at, prefix, length) > 0;
  return [from, firstIndex(from, textCount(list), isAfter)];
}

function lowerBound(list: Postings, wanted: string): number {
  return firstIndex(0, textCount(list), (at) => compareText(list, at, wanted) >= 0);
}

/** Checks that texts and the entries of each ascend, and that every entry is below a number. */
export function checkPostings(list: Postings, below: number, file: string, name: string): void {
  const { text, textStart, entries, entriesStart } = list;
  checkStarts(textStart, text.length, file, `${name}.textStart`);
  checkStarts(entriesStart, entries.length, file, `${name}.entriesStart`);
  checkEach(textStart.length - 1, file, `the texts of "${name}" do not ascend`, (at) => {
    return at === 0 || compareSlices(text, textStart, at - 1, at) < 0;
  });
  const fault = `the entries of a text of "${name}" do not ascend below ${below}`;
  for (let at = 0; at + 1 < entriesStart.length; at++) {
    checkAscending(entries, entriesStart[at], entriesStart[at + 1], below, file, fault);
  }
}
