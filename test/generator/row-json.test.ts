/**
 * Values of rows written as JSON straight from their bytes: the same as what is made of the value
 * by itself, for whatever a row holds.
 */
import { expect, test } from 'vitest';
import { viewOf } from '../../database/row-view.ts';
import { intern } from '../../generator/read/repeated-values.ts';
import { checkFileUrl, checkOptionalTime } from '../../generator/read/row-checks.ts';
import {
  isText,
  oddUrlAt,
  putCountAt,
  putPlainUrl,
  putTextAt,
} from '../../generator/read/row-json.ts';
import { makeRandom } from '../catalogue/random.ts';

const random = makeRandom(11);
const view = viewOf(1);
const target = Buffer.alloc(4096);
/** For rows in which nothing is to be noted. */
const note = (reason: string) => {
  throw new Error(`Noted: ${reason}`);
};

function textOf(characters: readonly string[], most: number): string {
  return Array.from({ length: random.below(most) }, () => random.pick(characters)).join('');
}

test('texts of any characters', () => {
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
    const end = putTextAt(target, 0, view([text]), 0, 'title', note);
    expect(target.toString('utf8', 0, end)).toBe(text === '' ? 'null' : JSON.stringify(text));
  }
  expect(target.toString('utf8', 0, putTextAt(target, 0, view([null]), 0, 'title', note))).toBe(
    'null',
  );
  expect(() => putTextAt(target, 0, view([5]), 0, 'genres', note)).toThrow('genres is not text');
});

test('whole numbers that may be unknown', () => {
  for (const value of [0, 7, 10, 2 ** 32, 2 ** 53 - 1, '18446744073709551615', null]) {
    const end = putCountAt(target, 0, view([value]), 0, 'width');
    expect(target.toString('latin1', 0, end)).toBe(String(value));
  }
  for (const value of [-1, 1.5, 'x', '', '-9007199254740993']) {
    const put = () => putCountAt(target, 0, view([value]), 0, 'width');
    expect(put).toThrow('width is not an unsigned whole number');
  }
});

test('addresses of files, plain ones and others', () => {
  const head = 'https://files.example.org';
  const characters = ['a', 'B', '9', '_', '~', '-', '.', '/', ' ', '%', 'é', ':', '?'];
  const urlAt = (path: string) => {
    const row = view([path]);
    const url = oddUrlAt(row, 0, head, note);
    if (url !== undefined) return url;
    const end = putPlainUrl(target, 0, row, 0, Buffer.from(`"${head}/`));
    return JSON.parse(target.toString('utf8', 0, end)) as string;
  };
  const outcome = (make: () => string) => {
    try {
      return make();
    } catch (error) {
      return (error as Error).message;
    }
  };
  for (let i = 0; i < 5000; i++) {
    const path = textOf(i % 2 ? characters : characters.slice(0, 8), 8);
    expect(outcome(() => urlAt(path))).toBe(outcome(() => checkFileUrl(path, head)));
  }
  expect(oddUrlAt(view(['a1/b-2/c_3.jpg']), 0, head, note)).toBeUndefined();
});

test('times in their usual form and in others', () => {
  const secondsOf = (value: string | null) => checkOptionalTime(view([value]), 0, 'approved_at');
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

test('repeated values have one number each, however many there are', () => {
  const { numberAt, values } = intern();
  const texts: (string | null)[] = [];
  const numbers: number[] = [];
  const all = Array.from({ length: 3000 }, (_, i) => (i % 9 ? `value ${i}` : 'é'.repeat(i / 9)));
  for (let i = 0; i < 20_000; i++) {
    const value = i % 50 ? random.pick(all) : null;
    const number = numberAt(view([value]), 0, 'region', note);
    // An empty text is unknown.
    const text = value === '' ? null : value;
    texts.push(text);
    numbers.push(number);
  }
  const found = values();
  expect(numbers.map((number) => found[number])).toEqual(texts);
  expect(found).toHaveLength(new Set(texts).size);
});

test('a text of ASCII is told from all others', () => {
  expect(isText(view(['approved']), 0, 'approved')).toBe(true);
  for (const other of ['Approved', 'approve', 'approved ', '', null, 1]) {
    expect(isText(view([other]), 0, 'approved')).toBe(false);
  }
});
