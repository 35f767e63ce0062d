/** The JSON of records, from the values of rows. */

import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { encodeUrl, encodeValues } from '#generator/read/row-checks.ts';
import { platformUrl } from '#generator/rows/addresses.ts';
import type { GameRow, Rows } from '#generator/rows/catalogue.ts';
import { GAME_MEMBERS } from '#generator/rows/members.ts';
import { RecordWriter, slugOf, titleOf } from '#generator/rows/records.ts';
import { RowTexts } from '#generator/rows/texts.ts';
import { numberAt } from '#lib/columns/numbers.ts';
import type { Value } from '#lib/database/database.ts';
import { titleOfRecord } from '#lib/format/pack.ts';

const random = makeRandom(11);
const buffer = Buffer.alloc(4096);
const note = () => {};

const GAMES = 3000;
const texts = new RowTexts<GameRow>(GAMES);
const rows = {
  games: { texts, platform: new Uint32Array(GAMES) },
  covers: { values: { region: { texts: [] }, type: { texts: [] } } },
} as unknown as Rows;
const settings = { site_url: 'https://a"b', site_language: 'en', files_url: 'https://f"' };
const records = new RecordWriter(settings, [{ id: '1', slug: 'nes', name: 'NES' }], rows);

test('texts of any characters become JSON strings, and an empty one null', () => {
  /** @returns the record of a game, and its slug and title */
  const addGame = (index: number, title: Value, description: Value) => {
    const game = numberAt<GameRow>(index);
    const row = [1, 1, 'a-slug', title, 1999, description, null, '', null];
    texts.add(game, encodeValues(row, GAME_MEMBERS, '1999', note));
    const target = { buffer, at: 0, reserve() {} };
    records.addGame(target, game, 2);
    const names = [slugOf(rows.games, game), titleOf(rows.games, game)];
    return { record: buffer.toString('utf8', 0, target.at), names };
  };
  const characters = ['a', 'Z', '0', ' ', ...'"\\/\n\0\u007fé任😀'];
  for (let i = 0; i < GAMES; i++) {
    const some = i % 2 ? characters : characters.slice(0, 4);
    const text = Array.from({ length: random.below(9) }, () => random.pick(some)).join('');
    const title = `"${text}`;
    const { record, names } = addGame(i, title, text);
    expect(JSON.parse(record)).toEqual({
      ...{ id: 1, slug: 'a-slug', title, release_year: 1999, description: text || null },
      ...{ genres: null, developer: null, publisher: null, cover_count: 2 },
      ...{ platform: { slug: 'nes', name: 'NES' }, url: 'https://a"b/en/platform/nes/game/a-slug' },
    });
    expect([...names, titleOfRecord(record)]).toEqual(['a-slug', title, title]);
  }
  expect(() => addGame(0, 'A', 5)).toThrow('description is not text');
});

test.each([
  [
    '{site}/{language}/platform/{platform}/game/{game}',
    'https://a"b/pt-BR/platform/nes/game/a~slug',
  ],
  ['{site}/game.php?id={id}', 'https://a"b/game.php?id=18446744073709551615'],
  [
    'https://x.example/{game}-{id}.html?of={game}&on={platform}#{language}',
    'https://x.example/a~slug-18446744073709551615.html?of=a~slug&on=nes#pt-BR',
  ],
])('the address of a game follows the template %s', (template, url) => {
  const own = { ...settings, site_language: 'pt-BR', game_url: template };
  const ids = { high: new Uint32Array([2 ** 32 - 1]), low: new Uint32Array([2 ** 32 - 1]) };
  const games = { ...rows.games, ids, texts: new RowTexts<GameRow>(1) } as unknown as Rows['games'];
  const row = ['18446744073709551615', 1, 'a~slug', 'A', 1999, null, null, null, null];
  games.texts.add(numberAt(0), encodeValues(row, GAME_MEMBERS, '1999', note));
  const target = { buffer, at: 0, reserve() {} };
  const platforms = [{ id: '7', slug: 'nes', name: 'NES' }];
  new RecordWriter(own, platforms, { ...rows, games }).addGame(target, numberAt(0), 0);
  expect(JSON.parse(buffer.toString('utf8', 0, target.at)).url).toBe(url);
});

test.each([
  [undefined, 'https://a"b/en/platform/nes'],
  ['{site}/console/{id}?from={platform}', 'https://a"b/console/7?from=nes'],
])('the address of a platform follows the template %s', (template, url) => {
  const own = { ...settings, ...(template && { platform_url: template }) };
  expect(platformUrl(own, { id: '7', slug: 'nes', name: 'NES' })).toBe(url);
});

test('an address becomes a JSON string, whatever its characters', () => {
  for (const url of ['https://f"/a"\\b', 'https://elsewhere/"\\']) {
    const json = encodeUrl(url, settings.files_url).replace('\u0001', 'https://f\\"');
    expect(JSON.parse(json)).toBe(url);
  }
});
