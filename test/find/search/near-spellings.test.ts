/** Near spellings against a plain edit distance, over words of many scripts and lengths. */
import { describe, expect, test } from 'vitest';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import { type AmongWords, makeSpellingIndex, nearSpellings } from '#find/search/near-spellings.ts';
import type { Postings } from '#lib/columns/postings.ts';
import { editDistance } from '../text/edit-distance.ts';

function makeIndex(words: Iterable<string>) {
  const sorted = [...new Set(words)].sort();
  const textStart = new Uint32Array(sorted.length + 1);
  sorted.forEach((word, i) => {
    textStart[i + 1] = textStart[i] + word.length;
  });
  const text = Uint16Array.from(sorted.join('').split(''), (unit) => unit.charCodeAt(0));
  // The first word is in no variant but one, the second in two, and so on.
  const entriesStart = textStart.map((_, i) => (i * (i + 1)) / 2);
  const postings: Postings = { text, textStart, entries: new Uint32Array(0), entriesStart };
  const spellings = makeSpellingIndex(postings);
  const lengths = sorted.map((word) => [...word].length);
  return {
    sorted,
    find: (word: string, distance: 1 | 2, among?: AmongWords) =>
      nearSpellings(spellings, postings, word, distance, among),
    reference(word: string, distance: number) {
      const { length } = [...word];
      // An edit changes the length by one letter at most. So most words need no table.
      const near = [...sorted.keys()].filter((i) => Math.abs(lengths[i] - length) <= distance);
      return near.filter((number) => editDistance(sorted[number], word) <= distance);
    },
  };
}

function misspell(word: string, random: Random, letters: readonly string[]): string {
  const characters = [...word];
  const at = random.below(characters.length + 1);
  const added = random.happens(0.6) ? [random.pick(letters)] : [];
  if (random.happens(0.3)) characters.splice(at, 2, ...characters.slice(at, at + 2).reverse());
  else characters.splice(at, random.below(2), ...added);
  return characters.join('');
}

const ALPHABETS = {
  'two letters': 'ab',
  Latin: 'abcdefghijklmnopqrstuvwxyz0123456789',
  Cyrillic: 'абвгдежзийклмнопрстуфхцчшщъыьэюя',
  Greek: 'αβγδεζηθικλμνξοπρστυφχψω',
  Thai: 'กขคงจฉชซญฎฐณดตถทธนบปผฝพฟมยรลวศษสหอฮะาิีึืุูเแโใไ่้',
  Kana: 'アイウエオカキクケコサシスセソドラゴンクエストー',
  Han: '戦国伝説大剣龍王神魔天空地海風火水光闇',
  // Two of them begin with one code unit, and two end with one.
  'four-byte characters': '𠀀𠀁𠮷𡀀𝒜🎮🕹',
  'characters on either side of the four-byte ones': 'a가\ud7ff𐀀𠮷\u{10ffff}\ue000﨎ﾞ\uffff',
  'ends of the code units': '\u0001\u007f\u0080\u00ff\u0100\u7fff\u8000\ud7ff\ue000\uffff',
};

describe.each(Object.entries(ALPHABETS))('agrees with the plain distance in %s', (_, alphabet) => {
  const letters = [...alphabet];
  const random = makeRandom(letters.length);
  const makeWord = (longest: number) =>
    Array.from({ length: 1 + random.below(longest) }, () => random.pick(letters)).join('');
  const roots = Array.from({ length: 40 }, () => makeWord(8));
  const index = makeIndex(
    Array.from({ length: 600 }, () =>
      random.happens(0.5) ? makeWord(10) : random.pick(roots) + makeWord(4),
    ),
  );

  test.each([1, 2] as const)('within distance %i', (distance) => {
    let found = 0;
    for (let i = 0; i < 100; i++) {
      let word = random.happens(0.2) ? makeWord(12) : random.pick(index.sorted);
      for (let edits = random.below(4); edits > 0; edits--) word = misspell(word, random, letters);
      const expected = index.reference(word, distance);
      expect(index.find(word, distance), JSON.stringify(word)).toEqual(expected);
      found += expected.length;
    }
    expect(found).toBeGreaterThan(40);
  });
});

test('two swapped letters are one edit, also in the middle of the word', () => {
  const index = makeIndex(['zelda', 'castlevania', 'ab']);
  for (const swapped of ['ezlda', 'zleda', 'zedla', 'zelad'])
    expect(index.find(swapped, 1)).toEqual([2]);
  expect(index.find('catslevania', 1)).toEqual([1]);
  expect(index.find('catslevaina', 1)).toEqual([]);
  expect(index.find('catslevaina', 2)).toEqual([1]);
});

test('a letter is one edit, however many code units it has', () => {
  const index = makeIndex(['𠮷野家', '𠮷野屋敷', '𩸽野屋敷', '野屋敷', 'abcd', '𠮷'.repeat(9)]);
  const find = (word: string, distance: 1 | 2) =>
    index.find(word, distance).map((number) => index.sorted[number]);
  // 𠮷 and 𩸽 differ in both of their code units.
  expect(find('𠮷野屋敷', 1)).toEqual(['野屋敷', '𠮷野屋敷', '𩸽野屋敷'].sort());
  expect(find('𩸽野家', 1)).toEqual(['𠮷野家']);
  expect(find(`${'𠮷'.repeat(7)}𩸽𩸽`, 2)).toEqual(['𠮷'.repeat(9)]);
  expect(find(`${'𠮷'.repeat(6)}𩸽𩸽𩸽`, 2)).toEqual([]);
});

test('finds only words that more variants have than so many, or only some words', () => {
  const index = makeIndex(['bolda', 'golda', 'zelda']);
  expect(index.find('xolda', 1)).toEqual([0, 1]);
  expect(index.find('xolda', 1, { ofMoreThan: 1 })).toEqual([1]);
  expect(index.find('xolda', 1, { ofMoreThan: 2 })).toEqual([]);
  expect(index.find('xolda', 1, { numbers: [0, 2] })).toEqual([0]);
});

test('finds nothing where there is nothing', () => {
  expect(makeIndex([]).find('word', 2)).toEqual([]);
  expect(makeIndex(['abc']).find('xyzw', 2)).toEqual([]);
});
