/** The string table gives the same numbers and order as a Map and a sort of the same strings. */
import { expect, test } from 'vitest';
import { makeStringTable } from '../../../generator/columns/string-table.ts';
import { makeRandom } from '../../catalogue/random.ts';

const ODD = ['', 'a', '\0', 'a\0', '\ud800', '\udc00', 'é', 'e\u0301', '𠮷', 'x'.repeat(100_000)];

/** Many strings of few letters, so that most are repeated. */
function manyStrings(): string[] {
  const random = makeRandom();
  random.start(1, 1, 1);
  const letterOf = () => 'abgé日\ud842'.charAt(random.below(6));
  return Array.from({ length: 50_000 }, () =>
    Array.from({ length: 1 + random.below(5) }, letterOf).join(''),
  );
}

const STRINGS = [...ODD, ...manyStrings(), ...ODD];

test('numbers strings in the order in which they are first added', () => {
  const table = makeStringTable();
  const distinct = [...new Set(STRINGS)];
  const numbers = new Map(distinct.map((text, number) => [text, number]));
  // Compares one by one: the difference between lists of this length would take minutes to print.
  for (const text of STRINGS) expect(table.numberOf(text)).toBe(numbers.get(text));
  const texts = table.texts();
  expect(texts.length).toBe(distinct.length);
  expect(texts.findIndex((text, number) => text !== distinct[number])).toBe(-1);
});

test('sorts strings by code unit', () => {
  const table = makeStringTable();
  for (const text of STRINGS) table.numberOf(text);
  const { text, textStart, orderOf } = table.sorted();
  const decoder = new TextDecoder('utf-16le', { ignoreBOM: true });
  const codesOf = (value: string) =>
    Array.from({ length: value.length }, (_, i) => value.charCodeAt(i));
  // Without a comparator, sort() compares by code unit.
  const expected = [...new Set(STRINGS)].sort();
  expect(textStart.length).toBe(expected.length + 1);
  for (const [order, value] of expected.entries()) {
    const codes = text.subarray(textStart[order], textStart[order + 1]);
    if (value.isWellFormed()) expect(decoder.decode(codes)).toBe(value);
    else expect([...codes]).toEqual(codesOf(value));
    expect(orderOf[table.numberOf(value)]).toBe(order);
  }
});

test('is empty at first', () => {
  const table = makeStringTable();
  expect(table.texts()).toEqual([]);
  expect(table.sorted().textStart).toEqual(Uint32Array.of(0));
});
