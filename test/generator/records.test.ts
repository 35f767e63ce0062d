/** The JSON of records, from the values of rows. */
import { expect, test } from 'vitest';
import type { Value } from '../../database/database.ts';
import { makeFiles, makeGames, makeTexts } from '../../generator/read/catalogue.ts';
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

const GAMES = 3000;
const [texts, games] = [makeTexts(), makeGames(GAMES)];

/** The record of a game up to `publisher`, its title, and what a cover names of it. */
function recordOf(at: number, title: Value, description: Value) {
  const row = [1, 1, 'a-slug', title, 1999, description, null, '', null];
  texts.add(games, at, gameValues(row, note));
  const records = makeRecordWriter({ ...games, texts: texts.texts });
  const record = `${target.toString('utf8', 0, records.putGame(target, 0, at))}}`;
  const of = records.slugAndTitle(at);
  return { record, of, title: records.title(at), slug: records.slug(at) };
}

test('texts of any characters become JSON strings, and an empty one null', () => {
  const characters = ['a', 'Z', '0', ' ', ...'"\\/\n\0\u007fé任😀'];
  for (let i = 0; i < GAMES; i++) {
    const some = i % 2 ? characters : characters.slice(0, 4);
    const text = Array.from({ length: random.below(9) }, () => random.pick(some)).join('');
    const { record, of, title, slug } = recordOf(i, `"${text}`, text);
    const expected = { slug: 'a-slug', title: `"${text}` };
    expect(JSON.parse(record)).toEqual({
      ...{ id: 1, ...expected, release_year: 1999, description: text === '' ? null : text },
      ...{ genres: null, developer: null, publisher: null },
    });
    expect(of.map((json) => JSON.parse(json))).toEqual(['a-slug', expected.title]);
    expect([title, slug, titleOf(record)]).toEqual([expected.title, 'a-slug', expected.title]);
  }
  expect(() => recordOf(0, 'A', 5)).toThrow('description is not text');
});

test.each([`${BASE}/a.png`, 'https://else.example/b.png'])(
  'a file at %s has exact counts',
  (url) => {
    for (const value of [0, 7, 10, 2 ** 32, 2 ** 53 - 1, '18446744073709551615', null]) {
      const files = makeFiles(1);
      const row = [7, 1, 'full', null, value, 2, '18446744073709551615'];
      texts.add(files, 0, fileValues(row, url, BASE, note));
      const { putFile } = makeRecordWriter({ ...files, texts: texts.texts }, BASE);
      expect(`${target.toString('utf8', 0, putFile(target, 0, 0))}}`).toBe(
        `{"id":7,"variant":"full","mime_type":null,"width":${value},"height":2,"size_bytes":18446744073709551615,"url":"${url}"}`,
      );
    }
  },
);
