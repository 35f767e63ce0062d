/**
 * Builds postings: texts in ascending order, each with the ranks of the games, or the readings, that have it.
 */
import type { Postings } from '../../format/index/search-index.ts';
import { makeStringTable } from '../columns/string-table.ts';
import { startsOf } from '../order/numbering.ts';

export interface PostingsBuilder {
  /** The number of a text before the texts are sorted. A new text is added. */
  numberOf(text: string): number;
  /**
   * Adds an entry to a text. The entries of a text must be added in ascending order. A repeated one is
   * stored once, and `frequencies` counts how often it was added.
   * @param number of the text
   * @param position kept for a new entry, at most 255
   * @returns whether the entry was new for this text
   */
  add(number: number, entry: number, position?: number): boolean;
  build(): BuiltPostings;
}

export interface BuiltPostings {
  readonly postings: Postings;
  /** Parallel to `postings.entries`, at most {@link MOST_FREQUENT}. */
  readonly frequencies: Uint8Array;
  /** Parallel to `postings.entries`. */
  readonly positions: Uint8Array;
  /** For each {@link PostingsBuilder.numberOf}, the index of the text in `postings`. */
  readonly orderOf: Uint32Array;
}

const MOST_FREQUENT = 255;

/** Collects pairs of text and entry. The texts are sorted, then the pairs, in two linear passes. */
export function makePostings(): PostingsBuilder {
  const table = makeStringTable();
  // For each text, the index of its last pair.
  const lastPair: number[] = [];
  let textOf = new Uint32Array(1024);
  let entryOf = new Uint32Array(1024);
  let positionOf = new Uint8Array(1024);
  let pairs = 0;
  // For the index of each pair that was added more than once, how often.
  const repeats = new Map<number, number>();
  return {
    numberOf: table.numberOf,
    add(number, entry, position = 0) {
      const last = lastPair[number];
      if (last !== undefined && entryOf[last] === entry) {
        repeats.set(last, Math.min((repeats.get(last) ?? 1) + 1, MOST_FREQUENT));
        return false;
      }
      if (pairs === textOf.length) {
        textOf = doubled(textOf);
        entryOf = doubled(entryOf);
        positionOf = doubled(positionOf);
      }
      positionOf[pairs] = position;
      textOf[pairs] = number;
      entryOf[pairs] = entry;
      lastPair[number] = pairs++;
      return true;
    },
    build() {
      const texts = table.texts();
      const inOrder = [...texts.keys()].sort((a, b) => (texts[a] < texts[b] ? -1 : 1));
      const orderOf = new Uint32Array(texts.length);
      inOrder.forEach((number, order) => {
        orderOf[number] = order;
      });
      const orders = textOf.subarray(0, pairs).map((number) => orderOf[number]);
      const entriesStart = startsOf(orders, texts.length);
      const next = entriesStart.slice();
      const entries = new Uint32Array(pairs);
      const frequencies = new Uint8Array(pairs).fill(1);
      const positions = new Uint8Array(pairs);
      for (let pair = 0; pair < pairs; pair++) {
        const at = next[orders[pair]]++;
        entries[at] = entryOf[pair];
        positions[at] = positionOf[pair];
        const frequency = repeats.get(pair);
        if (frequency !== undefined) frequencies[at] = frequency;
      }
      const ordered = inOrder.map((number) => texts[number]);
      const postings = { ...encodeTexts(ordered), entries, entriesStart };
      return { postings, frequencies, positions, orderOf };
    },
  };
}

function doubled<T extends Uint8Array | Uint32Array>(array: T): T {
  const Type = array.constructor as new (length: number) => T;
  const larger = new Type(array.length * 2);
  larger.set(array);
  return larger;
}

/** The texts as columns of {@link Postings}. */
function encodeTexts(texts: readonly string[]): Pick<Postings, 'text' | 'textStart'> {
  const textStart = new Uint32Array(texts.length + 1);
  texts.forEach((text, i) => {
    textStart[i + 1] = textStart[i] + text.length;
  });
  const text = new Uint16Array(textStart[texts.length]);
  texts.forEach((value, i) => {
    const start = textStart[i];
    for (let at = 0; at < value.length; at++) text[start + at] = value.charCodeAt(at);
  });
  return { text, textStart };
}
