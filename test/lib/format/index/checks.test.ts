/** A wrong value of an index that a reader relies on is refused by the name of its file. */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { openSearchIndex } from '#find/search/open.ts';
import type { StoredColumn } from '#lib/columns/container.ts';
import { checkFilters, checkRecordIndex, checkWords } from '#lib/format/index/checks.ts';
import { openRecordIndex, type RecordIndex } from '#lib/format/index/record-index.ts';
import { CURRENT, PLATFORMS } from '#lib/format/layout.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { add, swap } from '../../columns/index-columns.ts';

type Sizes = Map<string, number | undefined>;
type RecordChange = (index: RecordIndex, sizes: Sizes) => void;
/** Of the columns of both files of the search index, such as "words.entries". */
type SearchChange = (columns: Readonly<Record<string, StoredColumn>>) => void;

// The last two platforms have one game and none.
const snapshotsDir = await makeSnapshots(seededCatalogue({ games: 90, seed: 5, platforms: 5 }));
const dir = realpathSync(path.join(snapshotsDir, CURRENT));

const read = (name: string) => readFileSync(path.join(dir, name));
// A copy of its own, at a multiple of 8 and free to be changed.
const copy = (name: string) => new Uint8Array(read(name));
const { platforms } = openRecordIndex(copy);

/** Opens and checks the index of records after a change to it. */
function checkRecords(change: RecordChange, body = read(PLATFORMS).toString()): void {
  const index = openRecordIndex((name) =>
    name === PLATFORMS ? new Uint8Array(Buffer.from(body)) : copy(name),
  );
  const sizes: Sizes = new Map();
  change(index, sizes);
  checkRecordIndex(index, (name) =>
    sizes.has(name) ? sizes.get(name) : statSync(path.join(dir, name)).size,
  );
}

/** Opens and checks the search index after a change to its columns. */
function checkSearch(change: SearchChange): void {
  const index = openSearchIndex(copy, 90);
  const columns: Record<string, StoredColumn> = {};
  for (const [name, value] of Object.entries(index)) {
    if (ArrayBuffer.isView(value)) columns[name] = value as StoredColumn;
    else if (typeof value === 'object') {
      for (const [part, column] of Object.entries(value))
        columns[`${name}.${part}`] = column as StoredColumn;
    }
  }
  change(columns);
  checkFilters(index);
  checkWords(index);
}

const largest = () => platforms.toSorted((a, b) => b.games - a.games)[0];
const emptyPack = () => `games/${platforms.find(({ games }) => games === 0)?.slug}.json`;
const last = () => largest().firstGame + largest().games - 1;
const pack = (kind: string) => `${kind}/${largest().slug}.json`;
const longer = () => statSync(path.join(dir, pack('games'))).size + 1;

test('indexes that a generator made pass', () => {
  expect(() => checkRecords(() => {})).not.toThrow();
  expect(() => checkSearch(() => {})).not.toThrow();
});

test.each<[string, (body: string) => string, RegExp]>([
  [
    'a slug that leads out',
    (b) => b.replace(/"slug":"[^"]*/, '"slug":"../x'),
    /"slug" is "\.\.\/x/,
  ],
  ['a line break in a slug', (b) => b.replace(/"slug":"/, '"slug":"\\r\\n'), /"slug" is /],
  ['a name that is a number', (b) => b.replace(/"name":"[^"]*"/, '"name":1'), /"name" is 1/],
  ['a negative count', (b) => b.replace(/"game_count":\d+/, '"game_count":-1'), /is -1/],
  ['something that is not JSON', (b) => b.replace('}', ''), /it is not JSON/],
  ['two platforms on a line', (b) => b.replace(',\n', ','), /it is not JSON/],
  ['something behind them', (b) => `${b} `, /it is not a list of platforms/],
  ['nothing', () => '', /it is not a list of platforms/],
  ['a slug twice', (b) => b.replaceAll(/"slug":"[^"]*"/g, '"slug":"x"'), /a slug is there twice/],
])('platforms with %s are refused', (_, change, fault) => {
  const check = () => checkRecords(() => {}, change(read(PLATFORMS).toString()));
  expect(check).toThrow(/^platforms\.json is damaged: /);
  expect(check).toThrow(fault);
});

test.each(['game_count', 'cover_count'])('platforms with another %s are refused', (name) => {
  const body = read(PLATFORMS).toString();
  const changed = body.replace(new RegExp(`"${name}":(\\d+)`), (_, n) => `"${name}":${+n + 1}`);
  expect(() => checkRecords(() => {}, changed)).toThrow(
    /index\/(?:games|covers)\.bin is damaged: its column/,
  );
});

const NOT_AT = /(?:games|covers)\.bin .*is not at byte/;
const NOT_BY_SLUG = /paths\.bin .*are not in the order of their slugs/;
const FALLING = /covers\.bin .*do not ascend/;
const fallingHigh = ({ idLow }: RecordIndex['covers']) =>
  new Uint32Array(idLow.length).fill(1, 3, 4);
const swapTitles: RecordChange = ({ games }) => {
  const { firstGame } = largest();
  swap(games.gameOfRank, games.rank[firstGame], games.rank[firstGame + 1]);
  swap(games.rank, firstGame, firstGame + 1);
};
const moveCovers: RecordChange = ({ games }) => {
  const { firstGame: first = 0 } = platforms.find(({ firstGame }) => firstGame > 0) ?? {};
  games.firstCover.fill(games.firstCover[first - 1], first, first + 1);
};

test.each<[string, RegExp, RecordChange]>([
  ['a game elsewhere', NOT_AT, ({ games }) => add(games.byteOffset, 3, 1)],
  ['a longer game', NOT_AT, ({ games }) => add(games.byteLength, 3, 1)],
  ['a cover elsewhere', NOT_AT, ({ covers }) => add(covers.byteOffset, 0, 8)],
  [
    'a last game longer than its pack',
    /bytes of games\//,
    ({ games }) => add(games.byteLength, last(), 1),
  ],
  [
    'a longer pack',
    /games\.bin .*bytes of games\//,
    (_, sizes) => sizes.set(pack('games'), longer()),
  ],
  [
    'a pack of nothing that is not empty',
    /take 3 bytes of/,
    (_, sizes) => sizes.set(emptyPack(), 4),
  ],
  ['no pack', /json .*there is no covers\//, (_, sizes) => sizes.set(pack('covers'), undefined)],
  ['slugs from 1 on', /"slugStart" does not ascend/, ({ games }) => add(games.slugStart, 0, 1)],
  ['slugs that fall', /"slugStart" does not ascend/, ({ games }) => add(games.slugStart, 3, 9_999)],
  ['a rank twice', /paths\.bin .*does not lead back/, ({ games }) => add(games.rank, 0, 1)],
  ['a rank of no game', /does not lead back/, ({ games }) => add(games.rank, 0, 9_999)],
  ['a game of no number', /does not lead back/, ({ games }) => add(games.gameOfRank, 0, 9_999)],
  ['games out of order', /paths\.bin .*are not in title order/, swapTitles],
  ['covers of another platform', /games\.bin .*do not begin with \d+/, moveCovers],
  ['slugs out of order', NOT_BY_SLUG, ({ games }) => swap(games.bySlug, 0, 1)],
  ['a slug twice', NOT_BY_SLUG, ({ games }) => games.bySlug.copyWithin(1, 0, 1)],
  ['a slug of no game', NOT_BY_SLUG, ({ games }) => games.bySlug.fill(90, 89)],
  ['a slug of another platform', NOT_BY_SLUG, ({ games }) => swap(games.bySlug, 0, 88)],
  [
    'an id of no cover',
    /covers\.bin .*does not exist/,
    ({ covers }) => covers.numberOfId.fill(1e6, 5, 6),
  ],
  ['an id twice', FALLING, ({ covers }) => covers.idLow.copyWithin(4, 3, 4)],
  [
    'ids that fall far',
    FALLING,
    ({ covers }) => Object.assign(covers, { idHigh: fallingHigh(covers) }),
  ],
  ['ids of games that fall', /paths\.bin .*do not ascend/, ({ games }) => swap(games.idLow, 3, 4)],
])('records with %s are refused', (_, fault, change) => {
  expect(() => checkRecords(change)).toThrow(
    /^(?:index\/\w+\.bin|platforms\.json) is damaged: .*\.$/,
  );
  expect(() => checkRecords(change)).toThrow(fault);
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
