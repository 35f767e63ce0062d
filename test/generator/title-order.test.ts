/**
 * Titles are put in order by keys where keys will do; the collator, which is the contract, is the
 * judge of every order here.
 */
import { describe, expect, test } from 'vitest';
import { makeCollator, orderTitles } from '../../generator/order/title-order.ts';
import { makeRandom } from '../catalogue/random.ts';
import { sampleCatalogue } from '../catalogue/sample.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { sharedCatalogue } from '../catalogue/shared.ts';

const collator = makeCollator();
const byPlace = (a: number, b: number) => a - b;

function titlesInOrder(titles: readonly string[]): string[] {
  return [...orderTitles(titles, byPlace)].map((place) => titles[place]);
}

/**
 * Fails unless the places are a permutation in which no neighbour stands before another that the
 * collator (then the place) puts first.
 */
function expectCollated(titles: readonly string[]): void {
  const order = orderTitles(titles, byPlace);
  expect(new Set(order).size).toBe(titles.length);
  const wrong: [string, string][] = [];
  for (let rank = 1; rank < order.length; rank++) {
    const before = order[rank - 1];
    const after = order[rank];
    const left = titles[before];
    const right = titles[after];
    if ((collator.compare(left, right) || before - after) > 0) wrong.push([left, right]);
  }
  expect(wrong).toEqual([]);
}

test('digits count by value, whatever zeros stand in front', () => {
  expect(
    titlesInOrder(['Final Fantasy 10', 'Final Fantasy 2', 'Final Fantasy 002', 'Final Fantasy 1']),
  ).toEqual(['Final Fantasy 1', 'Final Fantasy 2', 'Final Fantasy 002', 'Final Fantasy 10']);
});

test('case and accents do not matter; equal titles keep the order of their ties', () => {
  expect(titlesInOrder(['pokemon b', 'Pokémon', 'POKEMON', 'pokemon', 'Pokèmon A'])).toEqual([
    'Pokémon',
    'POKEMON',
    'pokemon',
    'Pokèmon A',
    'pokemon b',
  ]);
});

test('an order of no titles and of one title', () => {
  expect([...orderTitles([], byPlace)]).toEqual([]);
  expect([...orderTitles(['Ō'], byPlace)]).toEqual([0]);
});

test('every pair of ASCII characters stands as the collator has it, alone and inside a title', () => {
  const characters = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i));
  expectCollated(characters);
  expectCollated(characters.flatMap((a) => characters.map((b) => a + b)));
  expectCollated(characters.flatMap((a) => [`x${a}1`, `x${a}a`, `x${a}`, `x1${a}2`, `${a}${a}`]));
});

test('long runs of digits stand as the collator has them', () => {
  const runs = [1, 2, 9, 10, 59, 60, 61, 253, 254, 255, 256, 300, 600].flatMap((length) => [
    '9'.repeat(length),
    '0'.repeat(length),
    `${'0'.repeat(length)}7`,
    `1${'0'.repeat(length)}`,
    `${'5'.repeat(length)} b`,
    `a ${'5'.repeat(length)}`,
  ]);
  expectCollated(runs);
});

describe('random titles stand as the collator has them', () => {
  const alphabets = {
    'letters, digits and spaces': [...'aAbBzZ0019 '],
    punctuation: [...' !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~a1'],
    digits: [...'0123456789. '],
    accents: [...'aàÁâäåæbcçdeéoøß1 ', 'e\u0301', '\u0301', 'n\u0303'],
    kana: [...'アあーガかがﾊﾟｶﾞ一a1 １２'],
    'signs and other digits': [...'½²①٣৪Ⅳ™®–—’“”…·a1 0', '\u00ad', '\u200b', '\ufeff'],
    'control characters and lone surrogates': [
      ...'\0\u0001\t\n\u007f a1B',
      '\ud800',
      '\udc00',
      '🎮',
    ],
  };
  test.each(Object.entries(alphabets))('%s', (_, alphabet) => {
    const random = makeRandom(20_261_121);
    const titles = Array.from({ length: 20_000 }, () =>
      Array.from({ length: 1 + random.below(9) }, () => random.pick(alphabet)).join(''),
    );
    // Others among them, so that the two ways of sorting are merged.
    expectCollated([...titles, ...titles.slice(0, 500).map((title) => `${title}é`)]);
  });
});

test('the titles of the sample and the seeded catalogue stand as the collator has them', () => {
  for (const { games } of [sampleCatalogue(), seededCatalogue({ games: 30_000, seed: 7 })]) {
    expectCollated([...games].map((row) => String(row[3])));
  }
});

test('the titles of a whole catalogue stand as the collator has them', () => {
  const { games } = sharedCatalogue() ?? seededCatalogue({ games: 150_000, seed: 1 });
  expectCollated([...games].map((row) => String(row[3])));
});
