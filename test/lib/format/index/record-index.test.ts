/** The index of games and covers: everything is found by its name, and damaged files by theirs. */
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import type { GameNumber } from '#lib/columns/numbers.ts';
import { hashBytes } from '#lib/format/content-hash.ts';
import { findById, splitId } from '#lib/format/index/ids.ts';
import { findGame, gameSlug, openRecordIndex, platformOf } from '#lib/format/index/record-index.ts';
import { COVER_INDEX, GAME_INDEX, PATH_INDEX, PLATFORMS } from '#lib/format/layout.ts';
import {
  encodeFile,
  type NamedColumns,
  startsOf,
  wrongColumns,
} from '../../columns/index-columns.ts';

describe('the index of records', () => {
  const random = makeRandom(1);
  // The same slugs on every platform, one of which has no game.
  const sizes = [30, 0, 200, 1];
  const slugs = sizes.flatMap((size) => Array.from({ length: size }, (_, i) => `game-${i}.~_A`));
  // These two have the same hash.
  slugs.splice(40, 2, 'game-7ba639b0b7', 'game-47a5f7887c');
  const records = sizes.map(
    (size, i) =>
      `{"slug":"p${i}","name":"É ${i}","game_count":${size},"cover_count":${size},"url":"x"}`,
  );
  const body = `{"data":[\n${records.join(',\n')}\n]}`;
  const firstOf = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
  const count = slugs.length;
  const ids = [0n, 1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n];
  while (ids.length < count) ids.push(BigInt(random.below(2 ** 32)) << BigInt(random.below(32)));
  const shuffled = [...new Set(ids)].map((id) => ({ id, key: random.next() }));
  while (shuffled.length < count)
    shuffled.push({ id: 10n ** 18n + BigInt(shuffled.length), key: 2 });
  const coverIds = shuffled.sort((a, b) => a.key - b.key).map(({ id }) => id);
  const order = coverIds.map((_, i) => i).sort((a, b) => (at(a) < at(b) ? -1 : 1));
  function at(cover: number): bigint {
    return coverIds[cover];
  }
  const places = () => ({
    offset: new Uint32Array(count),
    length: new Uint32Array(count),
    hash: new Uint32Array(count * 2),
  });
  const platformAt = (game: number) => firstOf.findLastIndex((first) => game >= first);
  const bySlug = Uint32Array.from(slugs.keys()).sort(
    (a, b) =>
      platformAt(a) - platformAt(b) ||
      crc32(slugs[a]) - crc32(slugs[b]) ||
      (slugs[a] < slugs[b] ? -1 : 1),
  );
  const games: NamedColumns = { ...places(), firstCover: startsOf(slugs.map(() => 1)) };
  const paths: NamedColumns = {
    rank: new Uint32Array(count),
    gameOfRank: new Uint32Array(count),
    slugStart: startsOf(slugs.map((slug) => slug.length)),
    slugText: Uint8Array.from(Buffer.from(slugs.join(''))),
    idHigh: new Uint32Array(count),
    idLow: Uint32Array.from(slugs.keys()),
    numberOfId: Uint32Array.from(slugs.keys()).reverse(),
    bySlug,
    slugHash: Uint32Array.from(bySlug, (game) => crc32(slugs[game])),
  };
  const covers: NamedColumns = {
    ...places(),
    idHigh: Uint32Array.from(order, (cover) => Number(at(cover) >> 32n)),
    idLow: Uint32Array.from(order, (cover) => Number(at(cover) & 0xffff_ffffn)),
    numberOfId: Uint32Array.from(order),
    region: new Uint16Array(count),
    type: new Uint16Array(count),
    orderOfId: new Uint16Array(count),
  };
  const open = (text = body, { ofGames = games, ofPaths = paths, ofCovers = covers } = {}) => {
    const files = new Map([
      [PLATFORMS, Uint8Array.from(Buffer.from(text))],
      [GAME_INDEX, encodeFile(ofGames)],
      [PATH_INDEX, encodeFile(ofPaths)],
      [COVER_INDEX, encodeFile(ofCovers)],
    ]);
    return openRecordIndex((name) => files.get(name) as Uint8Array);
  };

  test('finds every game by its platform and slug, every cover by its id, and no other', () => {
    const index = open();
    expect(index.platforms).toHaveLength(sizes.length);
    for (const [number, platform] of index.platforms.entries()) {
      const { slug, firstGame, games: size } = platform;
      const counts = { firstGame: firstOf[number], games: sizes[number] };
      expect(platform).toMatchObject({ slug: `p${number}`, name: `É ${number}`, ...counts });
      expect(platform).toMatchObject({ firstCover: firstOf[number], covers: sizes[number] });
      expect([platform.record.toString(), platform.hash]).toEqual([
        records[number],
        hashBytes(records[number]),
      ]);
      expect(index.platformBySlug.get(slug)).toBe(number);
      for (const [game, text] of slugs.entries()) {
        if (game < firstGame || game >= firstGame + size) continue;
        expect(findGame(index, number, text)).toBe(game);
        expect(gameSlug(index, game as GameNumber)).toBe(text);
        expect(platformOf(index.platforms, 'firstCover', game)).toBe(number);
      }
      for (const other of ['game-200.~_A', 'GAME-0.~_A', 'game-0', '', 'é'.repeat(9)]) {
        expect(findGame(index, number, other), other).toBeUndefined();
      }
    }
    for (const text of slugs) expect(findGame(index, 1, text), text).toBeUndefined();
    for (const game of slugs.keys()) {
      expect(findById(index.games, [0, game])).toBe(count - 1 - game);
    }
    const { games: withoutUpperHalves } = open(body, {
      ofPaths: { ...paths, idHigh: new Uint32Array(0) },
    });
    expect(findById(withoutUpperHalves, [0, 0])).toBe(count - 1);
    expect(findById(index.games, [0, count])).toBeUndefined();
    expect(findById(index.games, [1, 0])).toBeUndefined();
    const findCover = (id: string) => {
      const halves = splitId(id);
      return halves && findById(index.covers, halves);
    };
    for (const [cover, id] of coverIds.entries()) expect(findCover(String(id))).toBe(cover);
    const others = ['01', '+1', '-1', '1.0', '1e3', ' 1', '', '0x1', '18446744073709551616', '７'];
    for (const id of [...others, String(10n ** 18n - 1n), '9'.repeat(20), '9'.repeat(400)]) {
      expect(findCover(id), id).toBeUndefined();
    }
  });

  test('is refused by the name of the file where a column is missing or of a wrong length', () => {
    for (const [fault, wrong] of wrongColumns(games)) {
      expect(() => open(body, { ofGames: wrong }), fault).toThrow(
        /^index\/(?:games|paths|covers)\.bin is damaged/,
      );
    }
    for (const [fault, wrong] of wrongColumns(paths)) {
      expect(() => open(body, { ofPaths: wrong }), fault).toThrow(/^index\/paths\.bin is damaged/);
    }
    for (const [fault, wrong] of wrongColumns(covers)) {
      expect(() => open(body, { ofCovers: wrong }), fault).toThrow(/^index\/covers\.bin is dam/);
    }
  });
});
