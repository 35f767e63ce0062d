/** A wrong value of the record index that a reader relies on is refused by the name of its file. */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { checkRecordIndex } from '../../../format/index/check-record-index.ts';
import {
  encodePlatforms,
  openRecordIndex,
  type PlatformEntry,
  type RecordIndex,
} from '../../../format/index/record-index.ts';
import { PLATFORM_INDEX } from '../../../format/layout.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { add, swap } from './index-columns.ts';

type Sizes = Map<string, number | undefined>;

let dir: string;
let platforms: PlatformEntry[];

beforeAll(async () => {
  // The last two platforms have one game and none.
  const snapshotsDir = await makeSnapshots(seededCatalogue({ games: 90, seed: 5, platforms: 5 }));
  dir = realpathSync(path.join(snapshotsDir, 'current'));
  platforms = JSON.parse(read(PLATFORM_INDEX).toString());
});

const read = (name: string) => readFileSync(path.join(dir, name));
// A copy of its own, at a multiple of 8 and free to be changed.
const copy = (name: string) => new Uint8Array(read(name));

/** Opens and checks the index of records after a change to it. */
function checkRecords(change: (index: RecordIndex, sizes: Sizes) => void, list = platforms): void {
  const text = new Uint8Array(Buffer.from(encodePlatforms(list)));
  const index = openRecordIndex((name) => (name === PLATFORM_INDEX ? text : copy(name)));
  const sizes: Sizes = new Map();
  change(index, sizes);
  checkRecordIndex(index, (name) =>
    sizes.has(name) ? sizes.get(name) : statSync(path.join(dir, name)).size,
  );
}

function changedPlatforms(change: (list: PlatformEntry[]) => void): PlatformEntry[] {
  const list = structuredClone(platforms);
  change(list);
  return list;
}

const set = (entry: PlatformEntry | undefined, values: Partial<PlatformEntry>) =>
  Object.assign(entry as object, values);
const largest = () => platforms.toSorted((a, b) => b.games - a.games)[0];
const empty = () => platforms.find(({ games }) => games === 0) as PlatformEntry;
test('an index that a generator made passes', () => {
  expect(() => checkRecords(() => {})).not.toThrow();
});

test.each<[string, (list: PlatformEntry[]) => void, RegExp]>([
  ['a slug that leads out', (list) => set(list[1], { slug: '../x' }), /"\.\.\/x" is not a slug/],
  ['a line break in a slug', (list) => set(list[1], { slug: 'a\r\nb' }), /is not a slug/],
  ['a slug twice', (list) => set(list[1], { slug: list[0]?.slug ?? '' }), /is there twice/],
  ['a gap between platforms', (list) => set(list[1], { first_game: 1 }), /as its first game, not/],
  ['a gap between covers', (list) => set(list[1], { first_cover: 1 }), /as its first cover, not/],
  ['a record outside', (list) => set(list[0], { length: 1e6 }), /outside platforms\.json/],
])('platforms with %s are refused', (_, change, fault) => {
  const check = () => checkRecords(() => {}, changedPlatforms(change));
  expect(check).toThrow(/^index\/platforms\.json is damaged: /);
  expect(check).toThrow(fault);
});

type RecordChange = Parameters<typeof checkRecords>[0];
const gamesPack = () => `games/${largest().slug}.json`;

test.each<[string, RegExp, RecordChange]>([
  ['a game elsewhere', /games\.bin .*is not at byte/, ({ games }) => add(games.byteOffset, 3, 1)],
  [
    'a game at a fraction',
    /games\.bin .*is not at byte/,
    ({ games }) => {
      const byteOffset = Float64Array.from(games.byteOffset ?? []);
      add(byteOffset, 3, 0.5);
      Object.assign(games, { byteOffset });
    },
  ],
  ['a longer game', /games\.bin .*is not at byte/, ({ games }) => add(games.byteLength, 3, 1)],
  [
    'a last game that is longer than its pack',
    /games\.bin .*bytes of games\//,
    ({ games }) => add(games.byteLength, largest().first_game + largest().games - 1, 1),
  ],
  [
    'a longer pack',
    /games\.bin .*bytes of games\//,
    (_, sizes) => sizes.set(gamesPack(), statSync(path.join(dir, gamesPack())).size + 1),
  ],
  [
    'a pack with nothing in it that is not empty',
    /games\.bin .*take 3 bytes of games\//,
    (_, sizes) => sizes.set(`games/${empty().slug}.json`, 4),
  ],
  [
    'no pack',
    /platforms\.json .*there is no covers\//,
    (_, sizes) => sizes.set(`covers/${largest().slug}.json`, undefined),
  ],
  [
    'a cover elsewhere',
    /covers\.bin .*is not at byte/,
    ({ covers }) => add(covers.byteOffset, 0, 8),
  ],
  [
    'slugs from 1 on',
    /paths\.bin .*"slugStart" does not ascend/,
    ({ games }) => add(games.slugStart, 0, 1),
  ],
  [
    'slugs that fall',
    /paths\.bin .*"slugStart" does not ascend/,
    ({ games }) => add(games.slugStart, 3, 9_999),
  ],
  ['a rank twice', /paths\.bin .*does not lead back/, ({ games }) => add(games.rank, 0, 1)],
  [
    'a rank of no game',
    /paths\.bin .*does not lead back/,
    ({ games }) => add(games.rank, 0, 9_999),
  ],
  [
    'a game of no number',
    /paths\.bin .*does not lead back/,
    ({ games }) => add(games.gameOfRank, 0, 9_999),
  ],
  [
    'games out of order',
    /paths\.bin .*are not in title order/,
    ({ games }) => {
      const first = largest().first_game;
      const [rank, next] = [games.rank?.[first], games.rank?.[first + 1]];
      swap(games.rank, first, first + 1);
      swap(games.gameOfRank, rank, next);
    },
  ],
  [
    'covers from 1 on',
    /games\.bin .*"firstCover" does not ascend/,
    ({ games }) => add(games.firstCover, 0, 1),
  ],
  [
    'covers of another platform',
    /games\.bin .*do not begin with cover/,
    ({ games }) => {
      const { first_game: first } = platforms.find(
        ({ first_game }) => first_game > 0,
      ) as PlatformEntry;
      games.firstCover?.fill(games.firstCover[first - 1], first, first + 1);
    },
  ],
  [
    'no empty slot',
    /paths\.bin .*256 of 256 slots are taken, by 90 games/,
    ({ games }) =>
      games.slots?.forEach((entry, slot, slots) => {
        if (entry === 0) slots[slot] = 1;
      }),
  ],
  [
    'an empty slot too many',
    /slots are taken, by 90 games/,
    ({ games: { slots } }) =>
      slots?.fill(0, slots.findIndex(Boolean), slots.findIndex(Boolean) + 1),
  ],
  [
    'a table that is more than half full',
    /paths\.bin .*90 of 128 slots are taken, by 90 games/,
    ({ games }) =>
      Object.assign(games, {
        slots: Uint32Array.from({ length: 128 }, (_, i) => (i < 90 ? 1 : 0)),
      }),
  ],
  [
    'a slot of no game',
    /paths\.bin .*a slot names game 90 of 90/,
    ({ games: { slots } }) => slots?.fill(91, slots.indexOf(90), slots.indexOf(90) + 1),
  ],
  [
    'an id of no cover',
    /covers\.bin .*"numberOfId" names record (\d+) of \1\./,
    ({ covers: { numberOfId } }) => numberOfId?.fill(numberOfId.length, 5, 6),
  ],
  [
    'an id twice',
    /covers\.bin .*do not ascend/,
    ({ covers: { idLow } }) => idLow?.copyWithin(4, 3, 4),
  ],
  ['ids that fall', /covers\.bin .*do not ascend/, ({ covers }) => swap(covers.idLow, 3, 4)],
  [
    'ids that fall far',
    /covers\.bin .*do not ascend/,
    ({ covers }) => {
      const idHigh = Uint32Array.from(covers.idLow ?? [], (_, position) =>
        position === 3 ? 1 : 0,
      );
      Object.assign(covers, { idHigh });
    },
  ],
  ['ids of games that fall', /paths\.bin .*do not ascend/, ({ games }) => swap(games.idLow, 3, 4)],
])('records with %s are refused', (_, fault, change) => {
  expect(() => checkRecords(change)).toThrow(/^index\/\w+\.(?:bin|json) is damaged: .*\.$/);
  expect(() => checkRecords(change)).toThrow(fault);
});
