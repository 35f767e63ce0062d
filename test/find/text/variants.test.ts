/** The variants of titles and queries: the lists of words under which they are searched. */
import { expect, test } from 'vitest';
import { equals, needsSlug, queryVariantsOf, variantsOf } from '#find/text/variants.ts';

test.each([
  ['Chrono Trigger', ['chrono trigger']],
  ['Joe & Mac', ['joe and mac', 'joe mac']],
  ['E.V.O.', ['evo', 'e v o']],
  ['R.C. & Co.', ['rc and co', 'r c co']],
  ['C++', ['c++']],
  // Long vowels, however the macron is stored.
  ...['Jikkyō Kūga', 'JIKKYO\u0304 KU\u0304GA'].map((text): [string, string[]] => [
    text,
    [
      'jikkyo kuga',
      'jikkyou kuuga',
      'jikkyou kuga',
      'jikkyoo kuuga',
      'jikkyoo kuga',
      'jikkyo kuuga',
    ],
  ]),
  ['Ō & ā', ['o and a', 'o a', 'ou and a', 'ou a', 'oo and a', 'oo a']],
  ['Go! Go!', ['go go']],
  ['ほしをみるひと', ['ホシヲミルヒト']],
  // Plain words that there are none of are not a variant.
  ['&', ['and']],
  ['!!!', []],
  ['', []],
])('%j has the variants %j', (text, variants) => {
  expect(variantsOf(text).map((words) => words.join(' '))).toEqual(variants);
});

test('a title has no more spellings of long vowels than those of the first three', () => {
  expect(variantsOf('Ō Ō Ō Ō Ō')).toHaveLength(28);
});

test('a query has each of its long vowels with and without its second letter', () => {
  expect(queryVariantsOf('Jikkyō Kūga')).toEqual([
    ['jikkyo', 'kuga'],
    ['jikkyou', 'kuuga'],
    ['jikkyou', 'kuga'],
    ['jikkyo', 'kuuga'],
  ]);
});

test('× is the word "x", which a title may lack, and which is meant in a query', () => {
  expect(variantsOf('Lynx×Otter')).toEqual([
    ['lynx', 'x', 'otter'],
    ['lynx', 'otter'],
  ]);
  expect(queryVariantsOf('lynx×otter')).toEqual([['lynx', 'x', 'otter']]);
});

test('a title that is not in the Latin script is also found by the words of its slug', () => {
  for (const title of ['ほしをみるひと', '1942', 'Тетрис', '三国志 2', '!!!', '&', 'ß ドラゴン']) {
    expect(needsSlug(title), title).toBe(true);
  }
  for (const title of ['Chrono Trigger', '1942a', 'Pokémon ½!', 'é', 'ﬁ', 'Ａ', 'ß']) {
    expect(needsSlug(title), title).toBe(false);
  }
});

test('variants are equal if their words are', () => {
  expect(equals(['a', 'b'], ['a', 'b'])).toBe(true);
  expect(equals([], [])).toBe(true);
  for (const other of [['a'], ['a', 'b', 'c'], ['b', 'a'], ['ab']]) {
    expect(equals(['a', 'b'], other)).toBe(false);
    expect(equals(other, ['a', 'b'])).toBe(false);
  }
});
