/**
 * Titles are sorted by precomputed keys where possible, and with the collator otherwise. The contract
 * defines the order by the collator, so every order is compared with the collator's.
 */
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { orderTitles } from '#generator/order/title-order.ts';
import { makeCollator } from '#generator/rows/collation.ts';

const collator = makeCollator();
const byPosition = (a: number, b: number) => a - b;

const orderOf = (titles: readonly string[]) =>
  orderTitles(titles.length, (at) => titles[at], byPosition);

/**
 * Fails unless the order is a permutation of the positions, sorted by the collator, with ties in the
 * order of the positions.
 */
function expectCollated(titles: readonly string[]): void {
  const order = orderOf(titles);
  expect(new Set(order).size).toBe(titles.length);
  const pairs = Array.from(order.slice(1), (after, rank) => [order[rank], after] as const);
  const wrong = pairs.filter(
    ([before, after]) => (collator.compare(titles[before], titles[after]) || before - after) > 0,
  );
  expect(wrong.map(([before, after]) => [titles[before], titles[after]])).toEqual([]);
}

test.each([
  ['numbers go by value, without zeros', 'F 10|F 2|F 002|F 1', 'F 1|F 2|F 002|F 10'],
  [
    'case and accents do not matter, and equal titles are ordered by the tie-break',
    'pokemon b|Pokémon|POKEMON|pokemon|Pokèmon A',
    'Pokémon|POKEMON|pokemon|Pokèmon A|pokemon b',
  ],
  ['a single title', 'Ō', 'Ō'],
])('%s', (_, given, expected) => {
  const titles = given.split('|');
  expect([...orderOf(titles)].map((at) => titles[at])).toEqual(expected.split('|'));
  expect([...orderOf([])]).toEqual([]);
});

test('every pair of ASCII characters is in the order of the collator, as a title and inside a title', () => {
  const characters = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i));
  expectCollated(characters);
  expectCollated(characters.flatMap((a) => characters.map((b) => a + b)));
  expectCollated(characters.flatMap((a) => [`x${a}1`, `x${a}a`, `x${a}`, `x1${a}2`, `${a}${a}`]));
});

test('long runs of digits are in the order of the collator', () => {
  const lengths = [1, 2, 9, 10, 59, 60, 61, 253, 254, 255, 256, 300, 600];
  expectCollated(
    lengths.flatMap((length) => {
      const [nines, zeros, fives] = ['9', '0', '5'].map((digit) => digit.repeat(length));
      return [nines, zeros, `${zeros}7`, `1${zeros}`, `${fives} b`, `a ${fives}`];
    }),
  );
});

describe('random titles are in the order of the collator', () => {
  const alphabets = {
    'letters, digits and spaces': [...'aAbBzZ0019 '],
    punctuation: [...' !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~a1'],
    digits: [...'0123456789. '],
    accents: [...'aàÁâäåæbcçdeéoøß1 ', 'e\u0301', '\u0301', 'n\u0303'],
    kana: [...'アあーガかがﾊﾟｶﾞ一a1 １２'],
    'signs and other digits': [...'½²①٣৪Ⅳ™®–—’“”…·a1 0', '\u00ad', '\u200b', '\ufeff'],
    'control characters and lone surrogates': ['\ud800', '\udc00', ...'🎮\0\u0001\t\n\u007f a1B'],
  };
  test.each(Object.entries(alphabets))('%s', (_, alphabet) => {
    const random = makeRandom(20_261_121);
    const titles = Array.from({ length: 1_000 }, () =>
      Array.from({ length: 1 + random.below(9) }, () => random.pick(alphabet)).join(''),
    );
    // Plain titles are mixed in, so that both ways of sorting are needed and merged.
    expectCollated([...titles, ...titles.slice(0, 100).map((title) => `${title}é`)]);
  });
});
