/** The words of readings are made from their positions, and readings are compared word by word. */
import { describe, expect, test } from 'vitest';
import { makeRandom } from '../../../demo/catalogue/random.ts';
import {
  compareReadings,
  MOST_POSITIONS,
  makeReadingWords,
  type ReadingWords,
} from '../../../format/index/reading-words.ts';
import type { Postings, SearchIndex } from '../../../format/index/search-index.ts';
import { compareWords, makeReadingColumns, type Reading } from './reading-columns.ts';

const NOTHING: Postings = {
  text: new Uint16Array(0),
  textStart: Uint32Array.of(0),
  entries: new Uint32Array(0),
  entriesStart: Uint32Array.of(0),
};

function indexOf(...readings: Parameters<typeof makeReadingColumns>): SearchIndex {
  return {
    ...makeReadingColumns(...readings),
    endings: NOTHING,
    regions: NOTHING,
    types: NOTHING,
    genres: NOTHING,
    years: new Int32Array(0),
    yearOfRank: new Uint16Array(0),
    ranksByYear: new Uint32Array(0),
    yearStart: new Uint32Array(0),
  };
}

/** The readings as lists of the numbers of their words. */
function listsOf({ words, start }: ReadingWords): number[][] {
  return Array.from({ length: start.length - 1 }, (_, reading) => [
    ...words.subarray(start[reading], start[reading + 1]),
  ]);
}

const random = makeRandom(4);
const WORDS = ['a', 'b', 'c', 'go', '2', 'ゴー', '\uffff', '𠮷'];
const makeReading = (most: number) =>
  Array.from({ length: random.below(most) }, () => random.pick(WORDS));

describe('the words of readings', () => {
  test('are in order, with repeated ones', () => {
    const index = indexOf([['go', 'a', 'go', 'go'], [], ['a']], [[2, ['b', 'a', 'b']]]);
    const [a, b, go] = [0, 1, 2];
    const spelled = makeReadingWords(index);
    expect(listsOf(spelled)).toEqual([[go, a, go, go], [], [a], [b, a, b]]);
    // Threads share them.
    expect(spelled.words.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(spelled.start.buffer).toBeInstanceOf(SharedArrayBuffer);
  });

  test('are those of any readings', () => {
    const texts = [...WORDS].sort();
    for (let round = 0; round < 200; round++) {
      const first = Array.from({ length: random.below(9) }, () => makeReading(6));
      const further = Array.from(
        { length: first.length && random.below(4) },
        (_, rank): [number, Reading] => [rank % first.length, makeReading(6)],
      );
      const readings = [...first, ...further.map(([, words]) => words)];
      const used = texts.filter((text) => readings.some((words) => words.includes(text)));
      const spelled = makeReadingWords(indexOf(first, further));
      expect(listsOf(spelled)).toEqual(
        readings.map((words) => words.map((word) => used.indexOf(word))),
      );
    }
  });

  test(`are the first ${MOST_POSITIONS}`, () => {
    const long = Array.from({ length: 300 }, (_, at) => `w${String(at % 280).padStart(3, '0')}`);
    const repeated = new Array(400).fill('w000');
    const [words, others] = listsOf(makeReadingWords(indexOf([long, repeated])));
    expect(words).toEqual(Array.from({ length: 255 }, (_, at) => at));
    expect(others).toEqual(new Array(255).fill(0));
  });

  test('that do not fill the positions of a reading are refused', () => {
    const wrong = (changes: Partial<SearchIndex>) => () =>
      makeReadingWords({ ...indexOf([['a', 'b', 'a']]), ...changes });
    expect(wrong({})).not.toThrow();
    const positions = 'index/words.bin is damaged: the words of reading 0 have wrong positions.';
    const repeats =
      'index/words.bin is damaged: "repeatedWords" names a reading or a word that does not exist.';
    expect(wrong({ wordPositions: Uint8Array.of(1, 1) })).toThrow(positions);
    expect(wrong({ wordPositions: Uint8Array.of(0, 3) })).toThrow(positions);
    expect(wrong({ wordPositions: Uint8Array.of(0, 255) })).toThrow(positions);
    expect(wrong({ repeatedWords: Uint32Array.of(0, 1, 0) })).toThrow(positions);
    expect(wrong({ repeatedWords: Uint32Array.of(0, 3, 0) })).toThrow(positions);
    expect(wrong({ repeatedWords: Uint32Array.of(1, 2, 0) })).toThrow(repeats);
    expect(wrong({ repeatedWords: Uint32Array.of(0, 2, 2) })).toThrow(repeats);
  });
});

describe('comparing readings', () => {
  test('puts a beginning of another one first', () => {
    const spelled = makeReadingWords(indexOf([['a', 'b'], ['a'], [], ['b'], ['a', 'b']]));
    const order = (one: number, other: number) => Math.sign(compareReadings(spelled, one, other));
    expect([order(0, 1), order(1, 0), order(2, 1), order(3, 0)]).toEqual([1, -1, -1, 1]);
    expect([order(0, 4), order(2, 2)]).toEqual([0, 0]);
  });

  test('compares them word by word', () => {
    const readings = Array.from({ length: 120 }, () => makeReading(5));
    const spelled = makeReadingWords(indexOf(readings));
    for (const [one, words] of readings.entries()) {
      for (const [other, otherWords] of readings.entries()) {
        const found = Math.sign(compareReadings(spelled, one, other));
        expect(found).toBe(Math.sign(compareWords(words, otherWords)));
      }
    }
  });
});
