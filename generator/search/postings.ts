/**
 * Builds postings by inverting lists. The lists tell, for each entry (the rank of a game, or a reading),
 * which texts it has; the postings tell, for each text, which entries have it.
 */
import type { Postings } from '../../format/index/search-index.ts';
import { makeNumberList } from '../columns/number-list.ts';
import { makeStringTable } from '../columns/string-table.ts';

/** For each entry, a list of texts; a text may stand in it several times. */
export interface TextLists {
  /** The lists of all entries, one after another. Each text is an index of the sorted texts. */
  readonly texts: Uint32Array;
  /** Where the list of each entry starts, and at the end the length of `texts`. */
  readonly start: Uint32Array;
}

export interface Inverted {
  readonly postings: Postings;
  /** Parallel to `postings.entries`: how often the entry has the text, at most {@link MOST_COUNTED}. */
  readonly frequencies: Uint8Array;
  /** Parallel to `postings.entries`: the first position of the text in the list of the entry, at most 255. */
  readonly positions: Uint8Array;
  /** For each entry, how many different texts it has. */
  readonly distinct: Uint16Array;
}

const MOST_COUNTED = 255;
const NO_ENTRY = 0xffff_ffff;

/** @param onRepeat called for each further time that an entry has a text */
export function invert(
  { text, textStart }: Pick<Postings, 'text' | 'textStart'>,
  { texts, start }: TextLists,
  onRepeat: (entry: number, position: number, text: number) => void = () => {},
): Inverted {
  const entryCount = start.length - 1;
  const entriesStart = countEntries(textStart.length - 1, { texts, start });
  const pairs = entriesStart[entriesStart.length - 1];
  const entries = new Uint32Array(pairs);
  const frequencies = new Uint8Array(pairs);
  const positions = new Uint8Array(pairs);
  const distinct = new Uint16Array(entryCount);
  // For each text, the position after its last entry so far.
  const end = entriesStart.slice();
  for (let entry = 0; entry < entryCount; entry++) {
    for (let at = start[entry]; at < start[entry + 1]; at++) {
      const number = texts[at];
      const position = at - start[entry];
      const last = end[number] - 1;
      if (last >= entriesStart[number] && entries[last] === entry) {
        frequencies[last] = Math.min(frequencies[last] + 1, MOST_COUNTED);
        onRepeat(entry, position, number);
        continue;
      }
      const next = end[number]++;
      entries[next] = entry;
      frequencies[next] = 1;
      positions[next] = Math.min(position, 255);
      distinct[entry]++;
    }
  }
  return { postings: { text, textStart, entries, entriesStart }, frequencies, positions, distinct };
}

/** For each text, where its entries will start, and at the end how many there are. */
function countEntries(textCount: number, { texts, start }: TextLists): Uint32Array {
  const starts = new Uint32Array(textCount + 1);
  const lastEntry = new Uint32Array(textCount).fill(NO_ENTRY);
  for (let entry = 0; entry + 1 < start.length; entry++) {
    for (let at = start[entry]; at < start[entry + 1]; at++) {
      const text = texts[at];
      if (lastEntry[text] === entry) continue;
      lastEntry[text] = entry;
      starts[text + 1]++;
    }
  }
  for (let text = 0; text < textCount; text++) starts[text + 1] += starts[text];
  return starts;
}

/** Lists of texts whose order is not known yet, so that each text is a number in a string table. */
export interface GrowingLists {
  /** Adds a text to the list of the current entry. */
  add(number: number): void;
  /** Ends the list of the current entry; the next entry begins. */
  endEntry(): void;
  /** Adds all entries of other lists. */
  append(others: GrowingLists): void;
  lists(): TextLists;
  /** The same lists with the indexes of the sorted texts. These lists cannot be used any more. */
  inOrder(orderOf: Uint32Array): TextLists;
}

export function makeGrowingLists(): GrowingLists {
  const numbers = makeNumberList();
  const start = makeNumberList();
  start.push(0);
  const lists = (): TextLists => ({ texts: numbers.view(), start: start.view() });
  return {
    add: numbers.push,
    endEntry: () => start.push(numbers.length()),
    append(others) {
      const { texts, start: starts } = others.lists();
      const shift = numbers.length();
      for (const number of texts) numbers.push(number);
      for (const end of starts.subarray(1)) start.push(shift + end);
    },
    lists,
    inOrder(orderOf) {
      const { texts, start } = lists();
      for (let at = 0; at < texts.length; at++) texts[at] = orderOf[texts[at]];
      return { texts, start };
    },
  };
}

export interface PostingsBuilder {
  /** The number of a text, for `add`. */
  numberOf(text: string): number;
  /** Adds a text to the list of the current entry. */
  add(number: number): void;
  /** Ends the list of the current entry; the next entry begins. */
  endEntry(): void;
  build(): Postings;
}

export function makePostings(): PostingsBuilder {
  const table = makeStringTable();
  const lists = makeGrowingLists();
  return {
    numberOf: table.numberOf,
    add: lists.add,
    endEntry: lists.endEntry,
    build() {
      const { orderOf, ...sorted } = table.sorted();
      return invert(sorted, lists.inOrder(orderOf)).postings;
    },
  };
}
