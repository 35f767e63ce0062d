/** Compares the search index with sorted arrays, and checks that inconsistent columns are refused. */

import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import {
  type FilterIndex,
  openSearch,
  type SearchIndex,
  type WordIndex,
} from '#find/search/open.ts';
import { type FilterList, filterRow, VALUE_FILTER_NAMES } from '#find/search/value-filters.ts';
import {
  entriesAt,
  findPrefix,
  findText,
  type Postings,
  textAt,
  textCount,
} from '#lib/columns/postings.ts';
import { openIndexFile } from '#lib/format/index/index-file.ts';
import { FILTER_INDEX, WORD_INDEX } from '#lib/format/layout.ts';
import { columnsOf, encodeFile, startsOf, wrongColumns } from '../../lib/columns/index-columns.ts';

const random = makeRandom(1);
const LETTERS = [...'abé\u00ffЖアン剣𠮷🎮\uffff'].flatMap((letter) => letter.split(''));
const makeText = () =>
  Array.from({ length: 1 + random.below(5) }, () => random.pick(LETTERS)).join('');

function makePostings(count: number): { texts: string[]; entries: number[][]; postings: Postings } {
  // Sorted by code units, as JavaScript sorts strings.
  const texts = [...new Set(Array.from({ length: count }, makeText))].sort();
  const entries = texts.map(() => Array.from({ length: 1 + random.below(4) }, (_, i) => i * 2));
  return {
    texts,
    entries,
    postings: {
      text: Uint16Array.from(texts.join('').split(''), (unit) => unit.charCodeAt(0)),
      textStart: startsOf(texts.map((text) => text.length)),
      entries: Uint32Array.from(entries.flat()),
      entriesStart: startsOf(entries.map((list) => list.length)),
    },
  };
}

const words = makePostings(800);
const endings = makePostings(9);
const wordIndex: WordIndex = {
  words: words.postings,
  endings: endings.postings,
  variants: { words: Uint32Array.of(3, 4, 3), start: Uint32Array.of(0, 1, 1, 2, 2, 3) },
  rankOfFurther: Uint32Array.of(1, 1),
  slugVariants: Uint32Array.of(4),
  variantsByWords: Uint32Array.of(4, 2, 0, 3, 1),
};
const filterIndex: FilterIndex = {
  ...(Object.fromEntries(
    VALUE_FILTER_NAMES.map((name, at) => [filterRow(name).list, makePostings(1 + at * 2).postings]),
  ) as Record<FilterList, Postings>),
  years: Int32Array.of(-5, 1985),
  yearOfRank: Uint16Array.of(1, 2, 0),
};
const index: SearchIndex = { ...wordIndex, ...filterIndex, games: 3 };

function open({ ofWords = wordIndex, ofFilters = filterIndex } = {}): SearchIndex {
  const content = (name: string) => encodeFile(name === WORD_INDEX ? ofWords : ofFilters);
  const [words, filters] = [WORD_INDEX, FILTER_INDEX].map((name) => openIndexFile(content, name));
  return openSearch({ words, filters }, 3);
}

test('is read as it was written', () => {
  expect(open()).toEqual(index);
});

describe('a list of texts', () => {
  const list = open().words;

  test('has every text at its place with its entries', () => {
    expect(textCount(list)).toBe(words.texts.length);
    for (const [place, text] of words.texts.entries()) {
      expect(textAt(list, place)).toBe(text);
      expect(findText(list, text)).toBe(place);
      expect([...entriesAt(list, place)]).toEqual(words.entries[place]);
    }
  });

  test('finds texts and prefixes as a sorted array does', () => {
    const found = { texts: 0, prefixes: 0 };
    for (let i = 0; i < 2_000; i++) {
      const wanted = random.happens(0.5) ? makeText() : random.pick(words.texts).slice(0, 2);
      const place = words.texts.indexOf(wanted);
      expect(findText(list, wanted)).toBe(place);
      const places = [...words.texts.keys()].filter((at) => words.texts[at]?.startsWith(wanted));
      const [from, to] = findPrefix(list, wanted);
      expect(Array.from({ length: to - from }, (_, at) => from + at)).toEqual(places);
      const entries = places.flatMap((at) => words.entries[at]);
      expect([...entriesAt(list, from, to)]).toEqual(entries);
      if (place >= 0) found.texts++;
      if (places.length > 1) found.prefixes++;
    }
    expect(Math.min(found.texts, found.prefixes)).toBeGreaterThan(100);
    expect(findPrefix(list, '')).toEqual([0, words.texts.length]);
  });

  test('may be empty', () => {
    const empty = makePostings(0).postings;
    const opened = open({ ofFilters: { ...filterIndex, genres: empty } });
    expect(textCount(opened.genres)).toBe(0);
    expect(findText(opened.genres, 'a')).toBe(-1);
    expect(findPrefix(opened.genres, '')).toEqual([0, 0]);
  });
});

test('with a column missing or of a wrong length is refused by the name of the file', () => {
  // Any number of variants can be those of slugs.
  const { slugVariants, ...ofWords } = columnsOf(wordIndex);
  expect(() => open({ ofWords: ofWords as never })).toThrow(/^index\/words\.bin is damaged/);
  for (const [fault, others] of wrongColumns(ofWords)) {
    const wrong = { ...others, slugVariants } as never;
    expect(() => open({ ofWords: wrong }), fault).toThrow(/^index\/words\.bin is damaged/);
  }
  // Any number of years can be distinct.
  const { years, ...ofFilters } = columnsOf(filterIndex);
  for (const [fault, others] of wrongColumns(ofFilters)) {
    const wrong = { ...others, years } as never;
    expect(() => open({ ofFilters: wrong }), fault).toThrow(/^index\/filters\.bin is damaged/);
  }
});
