/** A wrong value of an index that a reader relies on is refused by the name of its file. */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { checkFilters, checkRecordIndex, checkWords } from '../../../format/index/checks.ts';
import type { Column } from '../../../format/index/columns.ts';
import {
  encodePlatforms,
  openRecordIndex,
  type PlatformEntry,
  type RecordIndex,
} from '../../../format/index/record-index.ts';
import { openSearchIndex } from '../../../format/index/search-index.ts';
import { CURRENT, PLATFORM_INDEX } from '../../../format/layout.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { add, swap } from './index-columns.ts';

type Sizes = Map<string, number | undefined>;
type RecordChange = (index: RecordIndex, sizes: Sizes) => void;
/** Of the columns of both files of the search index, such as "words.entries". */
type SearchChange = (columns: Readonly<Record<string, Column>>) => void;

let dir: string;
let platforms: PlatformEntry[];

beforeAll(async () => {
  // The last two platforms have one game and none.
  const snapshotsDir = await makeSnapshots(seededCatalogue({ games: 90, seed: 5, platforms: 5 }));
  dir = realpathSync(path.join(snapshotsDir, CURRENT));
  platforms = JSON.parse(read(PLATFORM_INDEX).toString());
});

const read = (name: string) => readFileSync(path.join(dir, name));
// A copy of its own, at a multiple of 8 and free to be changed.
const copy = (name: string) => new Uint8Array(read(name));

/** Opens and checks the index of records after a change to it. */
function checkRecords(change: RecordChange, list = platforms): void {
  const text = new Uint8Array(Buffer.from(encodePlatforms(list)));
  const index = openRecordIndex((name) => (name === PLATFORM_INDEX ? text : copy(name)));
  const sizes: Sizes = new Map();
  change(index, sizes);
  checkRecordIndex(index, (name) =>
    sizes.has(name) ? sizes.get(name) : statSync(path.join(dir, name)).size,
  );
}

/** Opens and checks the search index after a change to its columns. */
function checkSearch(change: SearchChange, games = 90): void {
  const index = openSearchIndex(copy);
  const columns: Record<string, Column> = {};
  for (const [name, value] of Object.entries(index)) {
    if (ArrayBuffer.isView(value)) columns[name] = value as Column;
    else if (typeof value === 'object') {
      for (const [part, column] of Object.entries(value))
        columns[`${name}.${part}`] = column as Column;
    }
  }
  change(columns);
  checkFilters(index, games);
  checkWords(index);
}

const largest = () => platforms.toSorted((a, b) => b.games - a.games)[0];
const empty = () => platforms.find(({ games }) => games === 0) as PlatformEntry;
const gamesPack = () => `games/${largest().slug}.json`;

test('indexes that a generator made pass', () => {
  expect(() => checkRecords(() => {})).not.toThrow();
  expect(() => checkSearch(() => {})).not.toThrow();
});

test.each<[string, number, Partial<PlatformEntry>, RegExp]>([
  ['a slug that leads out', 1, { slug: '../x' }, /"\.\.\/x" is not a slug/],
  ['a line break in a slug', 1, { slug: 'a\r\nb' }, /is not a slug/],
  ['a gap between platforms', 1, { first_game: 1 }, /as its first game, not/],
  ['a gap between covers', 1, { first_cover: 1 }, /as its first cover, not/],
  ['a record outside', 0, { length: 1e6 }, /outside platforms\.json/],
])('platforms with %s are refused', (_, number, values, fault) => {
  const check = () =>
    checkRecords(() => {}, platforms.with(number, { ...platforms[number], ...values }));
  expect(check).toThrow(/^index\/platforms\.json is damaged: /);
  expect(check).toThrow(fault);
});

test('platforms with a slug twice are refused', () => {
  const list = platforms.with(1, { ...platforms[1], slug: platforms[0].slug });
  expect(() => checkRecords(() => {}, list)).toThrow(/is there twice/);
});

const NOT_AT = /(?:games|covers)\.bin .*is not at byte/;
const WRONG_SLOTS = /paths\.bin .*slots are taken, by 90 games/;

test.each<[string, RegExp, RecordChange]>([
  ['a game elsewhere', NOT_AT, ({ games }) => add(games.byteOffset, 3, 1)],
  [
    'a game at a fraction',
    NOT_AT,
    ({ games }) => {
      const byteOffset = Float64Array.from(games.byteOffset);
      add(byteOffset, 3, 0.5);
      Object.assign(games, { byteOffset });
    },
  ],
  ['a longer game', NOT_AT, ({ games }) => add(games.byteLength, 3, 1)],
  ['a cover elsewhere', NOT_AT, ({ covers }) => add(covers.byteOffset, 0, 8)],
  [
    'a last game that is longer than its pack',
    /bytes of games\//,
    ({ games }) => add(games.byteLength, largest().first_game + largest().games - 1, 1),
  ],
  [
    'a longer pack',
    /games\.bin .*bytes of games\//,
    (_, sizes) => sizes.set(gamesPack(), statSync(path.join(dir, gamesPack())).size + 1),
  ],
  [
    'a pack with nothing in it that is not empty',
    /take 3 bytes of games\//,
    (_, sizes) => sizes.set(`games/${empty().slug}.json`, 4),
  ],
  [
    'no pack',
    /platforms\.json .*there is no covers\//,
    (_, sizes) => sizes.set(`covers/${largest().slug}.json`, undefined),
  ],
  ['slugs from 1 on', /"slugStart" does not ascend/, ({ games }) => add(games.slugStart, 0, 1)],
  ['slugs that fall', /"slugStart" does not ascend/, ({ games }) => add(games.slugStart, 3, 9_999)],
  ['a rank twice', /paths\.bin .*does not lead back/, ({ games }) => add(games.rank, 0, 1)],
  ['a rank of no game', /does not lead back/, ({ games }) => add(games.rank, 0, 9_999)],
  ['a game of no number', /does not lead back/, ({ games }) => add(games.gameOfRank, 0, 9_999)],
  [
    'games out of order',
    /paths\.bin .*are not in title order/,
    ({ games }) => {
      const first = largest().first_game;
      const [rank, next] = [games.rank[first], games.rank[first + 1]];
      swap(games.rank, first, first + 1);
      swap(games.gameOfRank, rank, next);
    },
  ],
  [
    'covers of another platform',
    /games\.bin .*do not begin with cover/,
    ({ games }) => {
      const { first_game: first } = platforms.find(
        ({ first_game }) => first_game > 0,
      ) as PlatformEntry;
      games.firstCover.fill(games.firstCover[first - 1], first, first + 1);
    },
  ],
  [
    'no empty slot',
    WRONG_SLOTS,
    ({ games }) =>
      games.slots.forEach((entry, slot, slots) => {
        if (entry === 0) slots[slot] = 1;
      }),
  ],
  [
    'an empty slot too many',
    WRONG_SLOTS,
    ({ games: { slots } }) => slots.fill(0, slots.findIndex(Boolean), slots.findIndex(Boolean) + 1),
  ],
  [
    'a table that is more than half full',
    /90 of 128 slots are taken/,
    ({ games }) => Object.assign(games, { slots: new Uint32Array(128).fill(1, 0, 90) }),
  ],
  [
    'a slot of no game',
    /a slot names a game that does not exist/,
    ({ games: { slots } }) => slots.fill(91, slots.indexOf(90), slots.indexOf(90) + 1),
  ],
  [
    'an id of no cover',
    /covers\.bin .*does not exist/,
    ({ covers: { numberOfId } }) => numberOfId.fill(numberOfId.length, 5, 6),
  ],
  [
    'an id twice',
    /covers\.bin .*do not ascend/,
    ({ covers: { idLow } }) => idLow.copyWithin(4, 3, 4),
  ],
  [
    'ids that fall far',
    /covers\.bin .*do not ascend/,
    ({ covers }) => {
      const idHigh = new Uint32Array(covers.idLow.length).fill(1, 3, 4);
      Object.assign(covers, { idHigh });
    },
  ],
  ['ids of games that fall', /paths\.bin .*do not ascend/, ({ games }) => swap(games.idLow, 3, 4)],
])('records with %s are refused', (_, fault, change) => {
  expect(() => checkRecords(change)).toThrow(/^index\/\w+\.(?:bin|json) is damaged: .*\.$/);
  expect(() => checkRecords(change)).toThrow(fault);
});

const WRONG_POSITIONS = /the words of reading \d+ have wrong positions/;
const WRONG_REPEATS = /"repeatedWords" names a reading or a word that does not exist/;
const WRONG_FURTHER = /the ranks of "rankOfFurther" do not ascend below 90/;
const WRONG_SLUGS = /"slugReadings" does not ascend from 90 to \d+/;
const WRONG_ORDER = /"readingsByWords" does not hold every reading once, in order/;

/** The index of the first word of a reading at position 1, and so with another word before it. */
const secondWord = ({ wordPositions }: Readonly<Record<string, Column>>) =>
  wordPositions.indexOf(1);

test.each<[string, RegExp, SearchChange]>([
  ['texts from 1 on', /"words\.textStart" does not/, (of) => add(of['words.textStart'], 0, 1)],
  ['texts that fall', /"genres\.textStart" does/, (of) => add(of['genres.textStart'], 1, 9_999)],
  ['ranks that fall', /"types\.ranksStart" does/, (of) => add(of['types.entriesStart'], 1, 9_999)],
  // An empty text can only be the first.
  ['a text twice', /texts of "words" do not/, (of) => of['words.textStart'].copyWithin(2, 1, 2)],
  ['texts out of order', /texts of "words" do not/, (of) => of['words.text'].fill(0xffff, 0, 1)],
  [
    'a rank of no game',
    /"regions" do not ascend below 90/,
    (of) => of['regions.entries'].fill(90, -1),
  ],
  ['a rank twice', /"types" do not ascend/, (of) => of['types.entries'].copyWithin(1, 0, 1)],
  [
    'a word of no reading',
    /"words" do not ascend below \d+/,
    (of) => of['words.entries'].fill(of.readingsByWords.length, -1),
  ],
  [
    'an ending of no reading',
    /"endings" do not ascend/,
    (of) => of['endings.entries'].fill(of.readingsByWords.length, -1),
  ],
  ['two words at one position', WRONG_POSITIONS, (of) => add(of.wordPositions, secondWord(of), -1)],
  [
    'a word behind the end of its reading',
    WRONG_POSITIONS,
    (of) => of.wordPositions.fill(254, 0, 1),
  ],
  [
    'a first word without a position',
    WRONG_POSITIONS,
    (of) => {
      const reading = of['words.entries'][secondWord(of)];
      const first = of.wordPositions.findIndex(
        (position, at) => position === 0 && of['words.entries'][at] === reading,
      );
      of.wordPositions[first] = 255;
    },
  ],
  [
    'a repeated word of no reading',
    WRONG_REPEATS,
    (of) => of.repeatedWords.fill(of.readingsByWords.length, 0, 1),
  ],
  ['a repeated word of another reading', WRONG_POSITIONS, (of) => add(of.repeatedWords, 0, -1)],
  ['a repeated word at a taken position', WRONG_POSITIONS, (of) => of.repeatedWords.fill(0, 1, 2)],
  ['a repeated word far behind', WRONG_POSITIONS, (of) => of.repeatedWords.fill(2 ** 32 - 1, 1, 2)],
  [
    'a repeated word that does not exist',
    WRONG_REPEATS,
    (of) => of.repeatedWords.fill(of['words.textStart'].length - 1, 2, 3),
  ],
  ['a further reading of no game', WRONG_FURTHER, (of) => of.rankOfFurther.fill(90, -1)],
  ['further readings out of order', WRONG_FURTHER, (of) => swap(of.rankOfFurther, 0, 1)],
  ['a first reading as that of a slug', WRONG_SLUGS, (of) => of.slugReadings.fill(89, 0, 1)],
  ['a slug of no reading', WRONG_SLUGS, (of) => of.slugReadings.fill(0xffff_ffff, -1)],
  ['slugs out of order', WRONG_SLUGS, (of) => swap(of.slugReadings, 0, 1)],
  ['readings out of order', WRONG_ORDER, (of) => swap(of.readingsByWords, 0, 1)],
  ['a reading twice', WRONG_ORDER, (of) => of.readingsByWords.copyWithin(1, 0, 1)],
  ['a reading of no number', WRONG_ORDER, (of) => of.readingsByWords.fill(2 ** 32 - 1, -1)],
  ['years from 1 on', /"yearStart" does not ascend/, (of) => add(of.yearStart, 0, 1)],
  ['a year twice', /its years do not ascend/, (of) => of.years.copyWithin(1, 0, 1)],
  ['a game of another year', /do not agree/, (of) => add(of.yearOfRank, 0, 1)],
  ['a year of no number', /do not agree/, (of) => of.yearOfRank.fill(65_535, 0, 1)],
  ['a game twice', /do not agree/, (of) => of.ranksByYear.copyWithin(1, 0, 1)],
  ['a game of no year', /do not agree/, (of) => add(of.ranksByYear, 0, 9_999)],
])('a search index with %s is refused', (_, fault, change) => {
  expect(() => checkSearch(change)).toThrow(/^index\/(?:words|filters)\.bin is damaged: .*\.$/);
  expect(() => checkSearch(change)).toThrow(fault);
});

test('a search index of another number of games is refused', () => {
  expect(() => checkSearch(() => {}, 91)).toThrow(
    'index/filters.bin is damaged: it is made for 90 games, the generation has 91.',
  );
});
