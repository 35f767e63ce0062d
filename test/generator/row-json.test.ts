/** The checks of values in rows, and their JSON. */
import { expect, test } from 'vitest';
import type { Value } from '../../database/database.ts';
import { makeFiles, makeGames, makeTexts } from '../../generator/read/catalogue.ts';
import { checkFileUrl, checkOptionalTime } from '../../generator/read/row-checks.ts';
import {
  fileValues,
  gameValues,
  makeRecordWriter,
  titleOf,
} from '../../generator/write/records.ts';
import { makeRandom } from '../catalogue/random.ts';

const random = makeRandom(11);
const target = Buffer.alloc(4096);
const BASE = 'https://files.example.org';
/** For values that must not cause a note. */
const note = (reason: string) => {
  throw new Error(`Unexpected note: ${reason}`);
};

function textOf(characters: readonly string[], most: number): string {
  return Array.from({ length: random.below(most) }, () => random.pick(characters)).join('');
}

/** The record of a game up to `publisher`, its title, and what a cover names of it. */
function recordOf(title: Value, description: Value) {
  const [texts, games] = [makeTexts(), makeGames(1)];
  const row = [1, 1, 'a-slug', title, 1999, description, null, '', null];
  texts.add(games, 0, gameValues(row, note));
  const records = makeRecordWriter({ ...games, texts: texts.texts });
  const record = `${target.toString('utf8', 0, records.putGame(target, 0, 0))}}`;
  return { record, of: records.slugAndTitle(0), title: records.title(0), slug: records.slug(0) };
}

/** The JSON of a file. */
function fileOf(width: Value, url: string): string {
  const [texts, files] = [makeTexts(), makeFiles(1)];
  const row = [7, 1, 'full', null, width, 2, '18446744073709551615'];
  texts.add(files, 0, fileValues(row, url, BASE, note));
  const { putFile } = makeRecordWriter({ ...files, texts: texts.texts }, BASE);
  return `${target.toString('utf8', 0, putFile(target, 0, 0))}}`;
}

test('texts of any characters become JSON strings, and an empty one null', () => {
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
    const { record, of, title, slug } = recordOf(`"${text}`, text);
    const expected = { slug: 'a-slug', title: `"${text}` };
    expect(JSON.parse(record)).toEqual({
      ...{ id: 1, ...expected, release_year: 1999, description: text === '' ? null : text },
      ...{ genres: null, developer: null, publisher: null },
    });
    expect(of.map((json) => JSON.parse(json))).toEqual(['a-slug', expected.title]);
    expect([title, slug, titleOf(record)]).toEqual([expected.title, 'a-slug', expected.title]);
  }
  expect(() => recordOf('A', 5)).toThrow('description is not text');
});

test('a count must be an unsigned whole number or unknown', () => {
  for (const value of [0, 7, 10, 2 ** 32, 2 ** 53 - 1, '18446744073709551615', null]) {
    for (const url of [`${BASE}/a.png`, 'https://else.example/b.png']) {
      expect(fileOf(value, url)).toBe(
        `{"id":7,"variant":"full","mime_type":null,"width":${value},"height":2,"size_bytes":18446744073709551615,"url":"${url}"}`,
      );
    }
  }
  for (const value of [-1, 1.5, 'x', '', '-9007199254740993'])
    expect(() => fileOf(value, BASE)).toThrow('width is not an unsigned whole number');
});

test('the path of a file becomes an address, and must not leave its folder', () => {
  const characters = ['a', 'B', '9', '_', '~', '-', '.', '/', ' ', '%', 'é', ':', '?'];
  for (let i = 0; i < 5000; i++) {
    const path = `a${textOf(i % 2 ? characters : characters.slice(0, 8), 8)}`;
    const parts = path.split('/');
    if (path.includes(':') || parts.includes('..')) continue;
    expect(checkFileUrl(path, BASE)).toBe(`${BASE}/${parts.map(encodeURIComponent).join('/')}`);
  }
  for (const path of ['..', 'a/../b', '../a', 'a/..']) {
    expect(() => checkFileUrl(path, BASE)).toThrow('path leaves its folder');
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
