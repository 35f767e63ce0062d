/** A wrong value of the search index that a search relies on is refused by the name of its file. */
import { readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { checkFilters, checkWords } from '#find/search/check.ts';
import { openSearch } from '#find/search/open.ts';
import { filterRow, VALUE_FILTER_NAMES } from '#find/search/value-filters.ts';
import type { StoredColumn } from '#lib/columns/container.ts';
import { openFindFiles } from '#lib/format/index/index-file.ts';
import { CURRENT } from '#lib/format/layout.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { add, swap } from '../../lib/columns/index-columns.ts';

/** Of the columns of both files of the search index, such as "words.entries". */
type SearchChange = (columns: Readonly<Record<string, StoredColumn>>) => void;

const GAMES = 90;
const snapshotsDir = await makeSnapshots(seededCatalogue({ games: GAMES, seed: 5, platforms: 5 }));
const dir = realpathSync(path.join(snapshotsDir, CURRENT));

/** Opens and checks the search index after a change to its columns. */
function checkSearch(change: SearchChange): void {
  // A copy, at a multiple of 8 and free to be changed.
  const files = openFindFiles((name) => new Uint8Array(readFileSync(path.join(dir, name))));
  const index = openSearch(files, GAMES);
  const columns: Record<string, StoredColumn> = {};
  for (const [name, value] of Object.entries(index)) {
    if (ArrayBuffer.isView(value)) columns[name] = value as StoredColumn;
    else if (typeof value === 'object') {
      for (const [part, column] of Object.entries(value))
        columns[`${name}.${part}`] = column as StoredColumn;
    }
  }
  change(columns);
  checkFilters(index, files.filters.name);
  checkWords(index, files.words.name);
}

test('an index that was written passes', () => {
  expect(() => checkSearch(() => {})).not.toThrow();
});

const NOT_LISTED = /"words" does not list a variant for each of its words/;
const NOT_THERE = /"words" lists a word for a variant without it/;
const WRONG_FURTHER = /the ranks of "rankOfFurther" do not ascend below 90/;
const WRONG_SLUGS = /"slugVariants" does not ascend from 90 to \d+/;
const WRONG_ORDER = /"variantsByWords" does not hold every variant once, in order/;

test.each<[string, RegExp, SearchChange]>([
  ['texts from 1 on', /"words\.textStart" does not/, (of) => add(of['words.textStart'], 0, 1)],
  ['texts that fall', /"genres\.textStart" does/, (of) => add(of['genres.textStart'], 1, 9_999)],
  ['ranks that fall', /"types\.entriesStart"/, (of) => add(of['types.entriesStart'], 1, 9_999)],
  // An empty text can only be the first.
  ['a text twice', /texts of "words" do not/, (of) => of['words.textStart'].copyWithin(2, 1, 2)],
  ['texts out of order', /texts of "words" do not/, (of) => of['words.text'].fill(0xffff, 0, 1)],
  ['a rank of no game', /"regions" do .* below 90/, (of) => of['regions.entries'].fill(90, -1)],
  ['a rank twice', /"types" do not ascend/, (of) => of['types.entries'].copyWithin(1, 0, 1)],
  ['a word of no variant', /"words" do .* below \d+/, (of) => of['words.entries'].fill(1e6, -1)],
  [
    'an ending of no variant',
    /"endings" do not ascend/,
    (of) => of['endings.entries'].fill(1e6, -1),
  ],
  ['a variant that is not listed', NOT_LISTED, (of) => add(of['words.entries'], 0, 1)],
  ['another word in a variant', NOT_LISTED, (of) => add(of['variants.words'], 0, 1)],
  ['a word of no number', NOT_LISTED, (of) => of['variants.words'].fill(2 ** 32 - 1, 0, 1)],
  [
    'a word of no variant that has it',
    NOT_THERE,
    (of) => {
      const at = of['variants.words'].findIndex((word, index, words) => {
        const last = of['words.entries'][of['words.entriesStart'][word + 1] - 1];
        return of['variants.start'][last] === index - 1 && words[index - 1] !== word;
      });
      of['variants.words'].copyWithin(at, at - 1, at);
    },
  ],
  ['variants from 1 on', /"variants\.start" does not/, (of) => add(of['variants.start'], 0, 1)],
  ['variants that fall', /"variants\.start" does/, (of) => add(of['variants.start'], 1, 9_999)],
  ['a further variant of no game', WRONG_FURTHER, (of) => of.rankOfFurther.fill(90, -1)],
  ['further variants out of order', WRONG_FURTHER, (of) => swap(of.rankOfFurther, 0, 1)],
  ['a first variant as that of a slug', WRONG_SLUGS, (of) => of.slugVariants.fill(89, 0, 1)],
  ['a slug of no variant', WRONG_SLUGS, (of) => of.slugVariants.fill(0xffff_ffff, -1)],
  ['slugs out of order', WRONG_SLUGS, (of) => swap(of.slugVariants, 0, 1)],
  ['variants out of order', WRONG_ORDER, (of) => swap(of.variantsByWords, 0, 1)],
  ['a variant twice', WRONG_ORDER, (of) => of.variantsByWords.copyWithin(1, 0, 1)],
  ['a variant of no number', WRONG_ORDER, (of) => of.variantsByWords.fill(2 ** 32 - 1, -1)],
  ['a year twice', /its years do not ascend/, (of) => of.years.copyWithin(1, 0, 1)],
  ['a year of no number', /a year that does not exist/, (of) => of.yearOfRank.fill(65_535, 0, 1)],
])('a search index with %s is refused', (_, fault, change) => {
  expect(() => checkSearch(change)).toThrow(/^index\/(?:words|filters)\.bin is damaged: .*\.$/);
  expect(() => checkSearch(change)).toThrow(fault);
});

test.each(VALUE_FILTER_NAMES)('wrong values of the filter %s are refused', (name) => {
  const { list } = filterRow(name);
  const changes: SearchChange[] = [
    (of) => add(of[`${list}.textStart`], 0, 1),
    (of) => of[`${list}.text`].fill(0xffff, 0, 1),
    (of) => of[`${list}.entriesStart`].fill(9_999, 1, 2),
    (of) => of[`${list}.entries`].fill(GAMES, -1),
  ];
  for (const change of changes)
    expect(() => checkSearch(change)).toThrow(
      new RegExp(`^index/filters\\.bin is damaged: .*"${list}`),
    );
});
