/** The checks of single values: which are accepted, in which form, and why a row is left out. */
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import * as check from '#generator/read/row-checks.ts';
import { timeOf } from '#generator/reuse/recent-rows.ts';
import { encodeTime, readTime } from '#generator/rows/values.ts';
import type { Value } from '#lib/database/database.ts';

const random = makeRandom(11);
const BASE = 'https://files.example.org';
const timeIn = (value: Value) => check.checkOptionalTime(value, 'approved_at');
const title = (value: Value) => check.checkText(value, 'title');
const genres = (value: Value) => check.checkOptionalText(value, 'genres');
const width = (value: Value) => check.checkOptionalCount(value, 'width');
const notedYears: Value[] = [];
const year = (value: Value) => check.checkOptionalYear(value, (_, noted) => notedYears.push(noted));
const address = (value: Value) => check.checkFileUrl(value, BASE);

test.each<[string, (value: Value) => unknown, readonly Value[]]>([
  ['id is NULL', check.checkId, [null]],
  ['id is not an unsigned whole number', check.checkId, ['', -1, 1.5, 'x', '007', 2 ** 53]],
  ['slug is NULL', check.checkSlug, [null]],
  ['slug is empty', check.checkSlug, ['']],
  [
    'slug does not fit a path',
    check.checkSlug,
    [5, 'x'.repeat(192), ...'a/b|a b|.|..|../etc|.x|%|%2e%2e|a%2fb|é|😀|?|#|x\n|a\0b'.split('|')],
  ],
  ['title is empty', title, ['', ' ', ' \t\n']],
  ['title is NULL', title, [null]],
  ['title is not text', title, [1942]],
  ['genres is not text', genres, [5]],
  ['width is not an unsigned whole number', width, [-1, 1.5, 'x', '', '-9007199254740993']],
  ['release_year is not a year', year, [1.5, '1990', '']],
  ['path is NULL', address, [null]],
  ['path is empty', address, ['', ' ', 7, '/', '//']],
  ['path has control characters', address, ['a\nb.jpg', 'a\0b', '\u007f']],
  [
    'path is neither relative nor an http or https address',
    address,
    [
      ...['javascript:x', 'http://', 'https://exa"mple.org/x.png', 'https://exa%22mple.org/x.png'],
      ...['https://é".org', 'https://a`b.org/', "https://a'b.org/", 'http://a%5cb/x'],
    ],
  ],
  ['path leaves its folder', address, ['..', 'a/../b', '../a', 'a/..', '../../x.jpg']],
  [
    'approved_at is not a time that exists',
    timeIn,
    [
      ...['2026-02-29 00:00:00', '0000-00-00 00:00:01', '2026-00-00 00:00:00'],
      ...['2026-13-01 00:00:00', '2026-01-01 24:00:00', '2026-01-01 00:60:00'],
      '2026-01-01 00:00:60',
    ],
  ],
  [
    'approved_at is not a time',
    timeIn,
    [' ', 5, '2026-01-01', '2026-01-01_00:00:00', '2026-01-01 0/:00:00', '2026-01-01 00::0'],
  ],
])('a row is left out because %s', (reason, checkValue, values) => {
  for (const value of values) {
    expect(() => checkValue(value), String(value)).toThrow(
      expect.objectContaining({ message: reason, value, isConsequence: false }),
    );
  }
});

test.each<[string, (value: Value) => unknown, readonly Value[]]>([
  ['slug', check.checkSlug, ['A.b~c_d-', '-', '__proto__', 'a..b', 'x'.repeat(191)]],
  ['title', title, ['0', ' padded ', '\0', '\ufeff\u202e']],
  ['text', genres, ['0', ' ', null]],
  ['count', width, [0, 7, 2 ** 32, 2 ** 53 - 1, '18446744073709551615', null]],
  ['year', year, [1, 1995, 9999, null]],
])('a valid %s stays as it is', (_, checkValue, values) => {
  expect(values.map(checkValue)).toEqual(values);
});

test('a whole number that is not a year is served as null, and noted', () => {
  const numbers = [0, -5, 10_000, -44, '9007199254740993', '-9007199254740993'];
  expect(numbers.map(year)).toEqual(numbers.map(() => null));
  expect(notedYears).toEqual(numbers);
});

test('the path of a file becomes an address', () => {
  const characters = ['a', 'B', '9', '_', '~', '-', '.', '/', ' ', '%', 'é', ':', '?'];
  for (let i = 0; i < 5000; i++) {
    const some = i % 2 ? characters : characters.slice(0, 8);
    const path = `a${Array.from({ length: random.below(8) }, () => random.pick(some)).join('')}`;
    const parts = path.split('/');
    if (path.includes(':') || parts.includes('..')) continue;
    expect(address(path)).toBe(`${BASE}/${parts.map(encodeURIComponent).join('/')}`);
  }
});

test('a time gives the seconds since 1970, and is served as it was', () => {
  const years = ['0001', '1026', '1970', '2126', '9999'];
  const times = years.map((year) => Date.parse(`${year}-03-14T05:06:07Z`) / 1000);
  const others = Array.from({ length: 5000 }, () => Math.floor(random.next() * 4e9));
  for (const seconds of [...times, ...others]) {
    const text = new Date(seconds * 1000).toISOString().slice(0, 19);
    expect(readTime(text.replace('T', ' '))).toBe(seconds);
    expect(encodeTime(seconds)).toBe(`${text}Z`);
  }
});

test('an approval may have several forms, or be unknown', () => {
  const expected = Date.UTC(2026, 1, 28, 3, 4, 5) / 1000;
  for (const form of ['2026-02-28 03:04:05', '2026-02-28T03:04:05', '2026-02-28 03:04:05.999Z']) {
    expect(timeIn(form)).toBe(expected);
  }
  const zeros = ['', 0, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00T00:00:00.0Z'];
  for (const unknown of [null, ...zeros]) expect(timeIn(unknown)).toBeNaN();
});

test('the time of a row may have fractions of a second, or be a number', () => {
  const seconds = Date.UTC(2026, 0, 2, 3, 4, 5) / 1000;
  expect(timeOf('2026-01-02 03:04:05')).toBe(seconds);
  expect(timeOf('2026-01-02T03:04:05Z')).toBe(seconds);
  expect(timeOf('2026-01-02 03:04:05.25')).toBe(seconds);
  expect(timeOf(seconds)).toBe(seconds);
  expect(timeOf(`${seconds}500`)).toBe(seconds + 0.5);
  for (const unknown of [null, '', 'today', '2026-02-31 03:04:05', '0000-00-00 00:00:00']) {
    expect(timeOf(unknown)).toBeNaN();
  }
});

/** What is noted of a text of a kind, without the name of its column and what is done with it. */
function oddityOf(text: string | null, kind: 'name' | 'prose' | 'path' | 'code' = 'name') {
  const noted: string[] = [];
  check.noteOddText(text, 'title', (reason) => noted.push(reason), kind);
  return noted.map((reason) => /^title (?:has |is )?(.+?)(?:,|:| that)/.exec(reason)?.[1]);
}

test('a text is odd if it is a JSON array of texts or an object, and not if it only begins so', () => {
  const odd = ['["RPG"]', '[ "A", "B" ]', '[]', '{"en": "Action"}', '{}'];
  const usual = ['[REC]', '["RPG"] and more', '[1]', '{', '"Quoted"', '.hack//{}', '', null];
  for (const text of odd) expect(oddityOf(text)).toEqual(['JSON']);
  for (const text of usual) expect(oddityOf(text)).toEqual([]);
});

test.each([
  [
    'HTML entities',
    ['A &amp; B', '&quot;A&quot;', 'A&#39;s', 'Pok&#xE9;mon', '&frac12;'],
    ['name', 'prose', 'path'],
  ],
  [
    'HTML tags',
    ['A<br>B', '<i>A</i>', 'A <a href="x">B</a>', '<BR/>', '<!-- A'],
    ['name', 'prose'],
  ],
  [
    'control characters',
    ['a\0', 'a\u0007b', 'a\u007fb', 'Pok\u0082mon', 'Rock\u0092n'],
    ['name', 'prose'],
  ],
  ['control characters', ['a\nb', 'a\tb'], ['name']],
  ['white space at an end', [' a', 'a ', 'a\u00a0'], ['name', 'path']],
  ['white space at an end', ['a  b', 'a \u3000b'], ['name']],
] as const)('a text with %s is odd: %j', (what, texts, kinds) => {
  for (const kind of ['name', 'prose', 'path', 'code'] as const) {
    const expected = (kinds as readonly string[]).includes(kind) ? [what] : [];
    for (const text of texts)
      expect([kind, text, oddityOf(text, kind)]).toEqual([kind, text, expected]);
  }
});

test('what looks like HTML or JSON and is none is not odd', () => {
  const usual = [
    'Command & Conquer',
    'R&D; Q',
    'I <3 You',
    'A < B > C',
    '<Hack>',
    'Ratchet&Clank',
    'a.b/c-d',
  ];
  for (const text of usual) expect(oddityOf(text)).toEqual([]);
  expect(oddityOf('Two  spaces.\n\nAnd a\ttab \r\n', 'prose')).toEqual([]);
});

test('of a long text, the report has the part with what is odd', () => {
  const noted: Value[] = [];
  const text = `${'a '.repeat(500)}Tom &amp; Jerry${' b'.repeat(500)}`;
  check.noteOddText(text, 'description', (_, value) => noted.push(value), 'prose');
  expect(noted).toEqual([expect.stringMatching(/^….{1,20}Tom &amp; Jerry.{1,60}…$/)]);
});
