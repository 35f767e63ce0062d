/** A wrong value of the search index that a search relies on is refused by the name of its file. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { checkFilters, checkWords } from '../../../format/index/check-search-index.ts';
import type { Column } from '../../../format/index/columns.ts';
import { openSearchIndex } from '../../../format/index/search-index.ts';
import { CURRENT } from '../../../format/layout.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { add, swap } from './index-columns.ts';

let dir: string;

beforeAll(async () => {
  const snapshotsDir = await makeSnapshots(seededCatalogue({ games: 90, seed: 5, platforms: 5 }));
  dir = path.join(snapshotsDir, CURRENT);
});

/** Opens and checks the search index after a change to its columns. */
function checkSearch(
  change: (columns: Readonly<Record<string, Column>>) => void,
  games = 90,
): void {
  const index = openSearchIndex((name) => new Uint8Array(readFileSync(path.join(dir, name))));
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

type SearchChange = Parameters<typeof checkSearch>[0];

test('a search index that a generator made passes', () => {
  expect(() => checkSearch(() => {})).not.toThrow();
});

const WRONG_POSITIONS = /the words of reading \d+ have wrong positions/;
const WRONG_REPEATS = /"repeatedWords" names a reading or a word that does not exist/;
const WRONG_FURTHER = /the ranks of "rankOfFurther" do not ascend below 90/;
const WRONG_SLUGS = /"slugReadings" does not ascend from 90 to \d+/;
const WRONG_ORDER = /"readingsByWords" does not hold every reading once, in order/;

/** The index of the first word of a reading at position 1, and so with another word before it. */
const secondWord = ({ wordPositions }: Readonly<Record<string, Column>>) =>
  wordPositions.indexOf(1);

const WRONG_READINGS: [string, RegExp, SearchChange][] = [
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
  ['a repeated word of no reading', WRONG_REPEATS, (of) => of.repeatedWords.fill(99, 0, 1)],
  ['a repeated word of another reading', WRONG_POSITIONS, (of) => add(of.repeatedWords, 0, -1)],
  ['a repeated word at a taken position', WRONG_POSITIONS, (of) => of.repeatedWords.fill(0, 1, 2)],
  [
    'a repeated word far behind its reading',
    WRONG_POSITIONS,
    (of) => of.repeatedWords.fill(2 ** 32 - 1, 1, 2),
  ],
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
  [
    'a reading of no number',
    WRONG_ORDER,
    (of) => of.readingsByWords.fill(of.readingsByWords.length, 0, 1),
  ],
  ['a last reading of no number', WRONG_ORDER, (of) => of.readingsByWords.fill(2 ** 32 - 1, -1)],
];

test.each<[string, RegExp, SearchChange]>([
  [
    'texts from 1 on',
    /"words\.textStart" does not ascend/,
    (of) => add(of['words.textStart'], 0, 1),
  ],
  [
    'texts that fall',
    /"genres\.textStart" does not ascend/,
    (of) => add(of['genres.textStart'], 1, 9_999),
  ],
  [
    'ranks that fall',
    /"types\.ranksStart" does not ascend/,
    (of) => add(of['types.entriesStart'], 1, 9_999),
  ],
  [
    'a text twice',
    /the texts of "words" do not ascend/,
    (of) => {
      // An empty text can only be the first.
      const starts = of['words.textStart'];
      starts[2] = starts[1];
    },
  ],
  [
    'texts out of order',
    /the texts of "words" do not ascend/,
    (of) => of['words.text']?.fill(0xffff, 0, 1),
  ],
  [
    'a rank of no game',
    /"regions" do not ascend below 90/,
    (of) => of['regions.entries']?.fill(90, -1),
  ],
  [
    'a rank twice',
    /"types" do not ascend below 90/,
    (of) => of['types.entries']?.copyWithin(1, 0, 1),
  ],
  [
    'a word of no reading',
    /"words" do not ascend below \d+/,
    (of) => of['words.entries']?.fill(of.readingsByWords.length, -1),
  ],
  [
    'an ending of no reading',
    /"endings" do not ascend below \d+/,
    (of) => of['endings.entries']?.fill(of.readingsByWords.length, -1),
  ],
  ...WRONG_READINGS,
  ['years from 1 on', /"yearStart" does not ascend/, (of) => add(of.yearStart, 0, 1)],
  ['a year twice', /its years do not ascend/, (of) => of.years?.copyWithin(1, 0, 1)],
  ['a game of another year', /do not agree/, (of) => add(of.yearOfRank, 0, 1)],
  ['a year of no number', /do not agree/, (of) => of.yearOfRank?.fill(65_535, 0, 1)],
  ['a game twice', /do not agree/, (of) => of.ranksByYear?.copyWithin(1, 0, 1)],
  ['a game of no number', /do not agree/, (of) => add(of.ranksByYear, 0, 9_999)],
])('a search index with %s is refused', (_, fault, change) => {
  expect(() => checkSearch(change)).toThrow(/^index\/(?:words|filters)\.bin is damaged: .*\.$/);
  expect(() => checkSearch(change)).toThrow(fault);
});

test('a search index of another number of games is refused', () => {
  expect(() => checkSearch(() => {}, 91)).toThrow(
    'index/filters.bin is damaged: it is made for 90 games, the generation has 91.',
  );
});
