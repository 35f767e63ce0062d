/** The checks of values in rows, and their JSON. */
import { expect, test } from 'vitest';
import { makeRepeatedValues } from '../../generator/read/repeated-values.ts';
import { checkFileUrl, checkOptionalTime } from '../../generator/read/row-checks.ts';
import { putCount, putTextValue } from '../../generator/read/row-json.ts';
import { makeRandom } from '../catalogue/random.ts';

const random = makeRandom(11);
const target = Buffer.alloc(4096);
/** For values that must not cause a note. */
const note = (reason: string) => {
  throw new Error(`Unexpected note: ${reason}`);
};

function textOf(characters: readonly string[], most: number): string {
  return Array.from({ length: random.below(most) }, () => random.pick(characters)).join('');
}

test('a text of any characters becomes a JSON string, and an empty one null', () => {
  const characters = [
    'a',
    'Z',
    '0',
    ' ',
    '"',
    '\\',
    '/',
    '\n',
    '\u0000',
    '\u007f',
    'é',
    '任',
    '😀',
  ];
  for (let i = 0; i < 3000; i++) {
    const text = textOf(i % 2 ? characters : characters.slice(0, 4), 9);
    const end = putTextValue(target, 0, text, 'title', note);
    expect(target.toString('utf8', 0, end)).toBe(text === '' ? 'null' : JSON.stringify(text));
  }
  expect(target.toString('utf8', 0, putTextValue(target, 0, null, 'title', note))).toBe('null');
  expect(() => putTextValue(target, 0, 5, 'genres', note)).toThrow('genres is not text');
});

test('a count must be an unsigned whole number or unknown', () => {
  for (const value of [0, 7, 10, 2 ** 32, 2 ** 53 - 1, '18446744073709551615', null]) {
    const end = putCount(target, 0, value, 'width');
    expect(target.toString('latin1', 0, end)).toBe(String(value));
  }
  for (const value of [-1, 1.5, 'x', '', '-9007199254740993']) {
    const put = () => putCount(target, 0, value, 'width');
    expect(put).toThrow('width is not an unsigned whole number');
  }
});

test('the path of a file becomes an address, and must not leave its folder', () => {
  const base = 'https://files.example.org';
  const characters = ['a', 'B', '9', '_', '~', '-', '.', '/', ' ', '%', 'é', ':', '?'];
  for (let i = 0; i < 5000; i++) {
    const path = `a${textOf(i % 2 ? characters : characters.slice(0, 8), 8)}`;
    const parts = path.split('/');
    if (path.includes(':') || parts.includes('..')) continue;
    expect(checkFileUrl(path, base)).toBe(`${base}/${parts.map(encodeURIComponent).join('/')}`);
  }
  for (const path of ['..', 'a/../b', '../a', 'a/..']) {
    expect(() => checkFileUrl(path, base)).toThrow('path leaves its folder');
  }
});

test('a time may have several forms and must exist', () => {
  const secondsOf = (value: string | null) => checkOptionalTime(value, 'approved_at');
  const expected = Date.UTC(2026, 1, 28, 3, 4, 5) / 1000;
  for (const form of ['2026-02-28 03:04:05', '2026-02-28T03:04:05', '2026-02-28 03:04:05.999Z']) {
    expect(secondsOf(form)).toBe(expected);
  }
  for (const unknown of [null, '', '0000-00-00', '0000-00-00 00:00:00', '0000-00-00T00:00:00.0Z']) {
    expect(secondsOf(unknown)).toBeNaN();
  }
  for (const none of ['2026-02-29 00:00:00', '0000-00-00 00:00:01', '2026-01-01 24:00:00']) {
    expect(() => secondsOf(none)).toThrow('approved_at is not a time that exists');
  }
  for (const other of [' ', '2026-01-01', '2026-01-01 00:00:0x', '2026-01-01_00:00:00']) {
    expect(() => secondsOf(other)).toThrow('approved_at is not a time');
  }
});

test('each distinct value has one number, however often it occurs', () => {
  const { numberOf, values } = makeRepeatedValues();
  const texts: (string | null)[] = [];
  const numbers: number[] = [];
  const all = Array.from({ length: 3000 }, (_, i) => (i % 9 ? `value ${i}` : 'é'.repeat(i / 9)));
  for (let i = 0; i < 20_000; i++) {
    const value = i % 50 ? random.pick(all) : null;
    const number = numberOf(value, 'region', note);
    // An empty text counts as unknown.
    const text = value === '' ? null : value;
    texts.push(text);
    numbers.push(number);
  }
  const found = values();
  expect(numbers.map((number) => found[number])).toEqual(texts);
  expect(found).toHaveLength(new Set(texts).size);
});
