/** A wrong value of an index that a reader relies on is refused by the name of its file. */

import { readFileSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { checkRecordIndex } from '#lib/format/index/checks.ts';
import { openRecordIndex, type RecordIndex } from '#lib/format/index/record-index.ts';
import { CURRENT, PLATFORMS } from '#lib/format/layout.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { add, swap } from '../../columns/index-columns.ts';

type Sizes = Map<string, number | undefined>;
type RecordChange = (index: RecordIndex, sizes: Sizes) => void;

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

const largest = () => platforms.toSorted((a, b) => b.games - a.games)[0];
const emptyPack = () => `games/${platforms.find(({ games }) => games === 0)?.slug}.json`;
const last = () => largest().firstGame + largest().games - 1;
const pack = (kind: string) => `${kind}/${largest().slug}.json`;
const longer = () => statSync(path.join(dir, pack('games'))).size + 1;

test('an index that a generator made passes', () => {
  expect(() => checkRecords(() => {})).not.toThrow();
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
  ['the hash of another slug', NOT_BY_SLUG, ({ games }) => add(games.slugHash, 0, 1)],
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
