/** The JSON of records, from the values of rows. */
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { gameValues } from '#generator/read/row-values.ts';
import { openValues } from '#generator/rows/records.ts';
import { makeTexts } from '#generator/rows/texts.ts';
import type { Value } from '#lib/database/database.ts';
import { titleOf } from '#lib/format/pack.ts';

const random = makeRandom(11);
const target = Buffer.alloc(4096);
/** For values that must not cause a note. */
const note = (reason: string) => {
  throw new Error(`Unexpected note: ${reason}`);
};

const GAMES = 3000;
const { texts, add } = makeTexts<number>(GAMES);

test('texts of any characters become JSON strings, and an empty one null', () => {
  /** @returns what the records have of the game: its record up to `publisher`, its title, its slug */
  const putGame = (at: number, title: Value, description: Value) => {
    const row = [1, 1, 'a-slug', title, 1999, description, null, '', null];
    add(at, gameValues(row, 1999, note));
    const records = openValues(texts);
    const record = `${target.toString('utf8', 0, records.putGame(target, 0, at))}}`;
    const ofCover = [records.slugJson(at), records.titleJson(at)].map((json) => JSON.parse(json));
    return { record, names: [records.slug(at), records.title(at)], ofCover };
  };
  const characters = ['a', 'Z', '0', ' ', ...'"\\/\n\0\u007fé任😀'];
  for (let i = 0; i < GAMES; i++) {
    const some = i % 2 ? characters : characters.slice(0, 4);
    const text = Array.from({ length: random.below(9) }, () => random.pick(some)).join('');
    const title = `"${text}`;
    const { record, ...found } = putGame(i, title, text);
    expect(JSON.parse(record)).toEqual({
      ...{ id: 1, slug: 'a-slug', title, release_year: 1999, description: text || null },
      ...{ genres: null, developer: null, publisher: null },
    });
    expect(found).toEqual({ names: ['a-slug', title], ofCover: ['a-slug', title] });
    expect(titleOf(record)).toBe(title);
  }
  expect(() => putGame(0, 'A', 5)).toThrow('description is not text');
});
