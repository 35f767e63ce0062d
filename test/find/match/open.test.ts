/** The index of `/match`: its checks, and the bounds that find near spellings. */
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { MATCH_RULES } from '#find/match/forms.ts';
import {
  checkMatch,
  fewestEdits,
  findKeys,
  firstKeyOf,
  hashWords,
  lettersOf,
  looseKey,
  type MatchIndex,
  openMatch,
} from '#find/match/open.ts';
import { canBecome } from '#find/text/edit-distance.ts';
import { encodeColumns, openColumns } from '#lib/columns/container.ts';
import { type GameNumber, lookupOf } from '#lib/columns/numbers.ts';
import { editDistance } from '#test/find/text/edit-distance.ts';

const none = { text: new Uint16Array(), textStart: new Uint32Array(1) };
const NO_IDS = { ...none, entries: new Uint32Array(), entriesStart: new Uint32Array(1) };
const FILE = 'some.bin';
const PLATFORMS = [
  { firstGame: 0, games: 2 },
  { firstGame: 2, games: 1 },
];

/** An index of two platforms with three games: "zelda" and "doom" on one, "doom" on the other. */
function makeIndex(): MatchIndex {
  const keys = [looseKey('doom'), looseKey('zelda'), looseKey('doom')];
  const list = {
    start: Uint32Array.of(0, 2, 3),
    key: Uint32Array.from(keys),
    game: gamesOf(1, 0, 2),
  };
  const empty = { start: new Uint32Array(3), key: new Uint32Array(), game: gamesOf() };
  const letters = Uint32Array.of(lettersOf('doom'), lettersOf('zelda'), lettersOf('doom'));
  return {
    loose: { ...list, letters },
    words: empty,
    parts: empty,
    gameIds: NO_IDS,
    platformIds: NO_IDS,
  };
}

function open(index: MatchIndex, rules = MATCH_RULES): MatchIndex {
  const pieces = encodeColumns({ rules: Uint32Array.of(rules), ...index }, 1);
  const file = new Uint8Array(Buffer.concat([...pieces]));
  return openMatch(openColumns(file, FILE, 1), PLATFORMS.length);
}

test('the index is read as it was written, and finds the forms of a platform', () => {
  const index = open(makeIndex());
  checkMatch(index, PLATFORMS, FILE);
  const key = looseKey('doom');
  expect([0, 1].map((platform) => findKeys(index.loose, platform, key, key + 1))).toEqual([
    [0, 1],
    [2, 3],
  ]);
  expect(findKeys(index.loose, 0, firstKeyOf(5), firstKeyOf(6))).toEqual([1, 2]);
});

test('an index of other rules is refused', () => {
  expect(() => open(makeIndex(), 99)).toThrow('has version 99 of the rules for titles');
});

const UNORDERED = 'out of order';
const tooFew = (column: string) => `its column "loose.${column}" has 2 entries, not 3`;
const ONE_TEXT = { text: Uint16Array.of(0x61), textStart: Uint32Array.of(0, 1) };
const ID_OF_NO_GAME = {
  ...ONE_TEXT,
  ...{ entries: Uint32Array.of(3), entriesStart: Uint32Array.of(0, 1) },
};

const gamesOf = (...games: number[]) => lookupOf<number, GameNumber>(Uint32Array.from(games));

describe('a damaged index is refused', () => {
  test.each<[string, (index: MatchIndex) => MatchIndex, string]>([
    ['a key out of order', (i) => loosely(i, { key: i.loose.key.toSorted().reverse() }), UNORDERED],
    ['a game of another platform', (i) => loosely(i, { game: gamesOf(1, 2, 2) }), UNORDERED],
    ['a game that does not exist', (i) => loosely(i, { game: gamesOf(1, 0, 3) }), UNORDERED],
    ['a platform too few', (i) => loosely(i, { start: Uint32Array.of(0, 3) }), tooFew('start')],
    ['starts that fall', (i) => loosely(i, { start: Uint32Array.of(0, 3, 2) }), 'does not ascend'],
    ['missing letters', (i) => loosely(i, { letters: new Uint32Array(2) }), tooFew('letters')],
    ['an id of no game', (i) => ({ ...i, gameIds: ID_OF_NO_GAME }), 'do not ascend below 3'],
  ])('%s', (_, damage, fault) => {
    const check = () => checkMatch(open(damage(makeIndex())), PLATFORMS, FILE);
    expect(check).toThrow(`${FILE} is damaged: `);
    expect(check).toThrow(fault);
  });
});

function loosely(index: MatchIndex, loose: Partial<MatchIndex['loose']>): MatchIndex {
  return { ...index, loose: { ...index.loose, ...loose } };
}

test('edits are counted up to a limit, and never more than letters tell', () => {
  const random = makeRandom(5);
  const letters = [...'abcdefghij'];
  for (let round = 0; round < 3_000; round++) {
    const one = Array.from({ length: 8 + random.below(20) }, () => random.pick(letters));
    const other = [...one];
    for (let edits = random.below(5); edits > 0; edits--) {
      const at = random.below(other.length);
      other.splice(at, random.below(2), ...(random.happens(0.7) ? [random.pick(letters)] : []));
    }
    const [a, b] = [one.join(''), other.join('')];
    const edits = editDistance(a, b, false);
    const [codes, others] = [a, b].map((text) => [...text].map((letter) => letter.charCodeAt(0)));
    for (const most of [0, 1, 2, 3])
      expect(canBecome(codes, others, most, false)).toBe(edits <= most);
    const lengths = Math.abs(a.length - b.length);
    expect(fewestEdits(lettersOf(a), lettersOf(b), lengths)).toBeLessThanOrEqual(edits);
  }
});

test('other digits are never near, and the order of words does not matter for their hash', () => {
  expect(fewestEdits(lettersOf('game2'), lettersOf('game3'), 0)).toBe(Number.POSITIVE_INFINITY);
  expect(hashWords(['valis', 'sd'])).toBe(hashWords(['sd', 'valis']));
  expect(hashWords(['valis', 'sd'])).not.toBe(hashWords(['valis', 'ds']));
});
