/** Sets of ranks against plain arrays, as lists and as bits, at every size where the form changes. */
import { describe, expect, test } from 'vitest';
import {
  atMost,
  EMPTY,
  forEachRank,
  intersect,
  type RankSet,
  sizeOf,
  slice,
  union,
} from '../proxy/search/rank-set.ts';
import { makeRandom, type Random } from './catalogue/random.ts';

const ascending = (ranks: Iterable<number>) => [...new Set(ranks)].sort((a, b) => a - b);

function randomRanks(random: Random, games: number, count: number): Uint32Array {
  // Some crowd together, as games of one series do in title order.
  const from = random.happens(0.3) ? random.below(games) : 0;
  const width = Math.min(games - from, random.happens(0.3) ? count * 2 : games);
  return Uint32Array.from(
    ascending(Array.from({ length: count }, () => from + random.below(Math.max(1, width)))),
  );
}

function ranksOf(set: RankSet): number[] {
  const ranks: number[] = [];
  forEachRank(set, (rank) => ranks.push(rank) > 0);
  return ranks;
}

/** Everything that can be read of a set. */
function expectSet(set: RankSet, expected: readonly number[], random: Random): void {
  expect(ranksOf(set)).toEqual(expected);
  expect(sizeOf(set)).toBe(expected.length);
  expect(atMost(set)).toBeGreaterThanOrEqual(expected.length);
  for (const start of [0, 1, 31, 32, 33, expected.length - 1, random.below(expected.length + 40)]) {
    const from = Math.max(0, start);
    const count = random.pick([0, 1, 2, 50, 100, 10_000]);
    expect(slice(set, from, count)).toEqual(expected.slice(from, from + count));
  }
  const most = 1 + random.below(expected.length + 1);
  const visited: number[] = [];
  forEachRank(set, (rank) => visited.push(rank) < most);
  expect(visited).toEqual(expected.slice(0, most));
}

describe('a union', () => {
  test('holds what any of its lists holds, each rank once and in order', () => {
    const random = makeRandom(1);
    const forms = { list: 0, bits: 0 };
    for (let i = 0; i < 400; i++) {
      const games = random.pick([1, 31, 32, 33, 64, 1000, 5000]);
      const lists = Array.from({ length: random.below(6) }, () => {
        // A list may be several ascending ones behind one another.
        const parts = Array.from({ length: 1 + random.below(3) }, () => [
          ...randomRanks(random, games, random.below(random.pick([1, 10, 3000]))),
        ]);
        return Uint32Array.from(parts.flat());
      });
      const copies = lists.map((list) => [...list]);
      const set = union(lists, games);
      forms[set.list === undefined ? 'bits' : 'list']++;
      expect(lists.map((list) => [...list])).toEqual(copies);
      expectSet(set, ascending(copies.flat()), random);
    }
    expect(Math.min(forms.list, forms.bits)).toBeGreaterThan(30);
  });

  test.each([2047, 2048, 2049])('of %i ranks has the first, the last and all between', (count) => {
    const all = Uint32Array.from({ length: count }, (_, i) => i);
    expectSet(union([all], count), [...all], makeRandom(count));
    expectSet(union([all, all], count), [...all], makeRandom(count));
  });

  test('of nothing is empty', () => {
    expectSet(union([], 10), [], makeRandom());
    expectSet(union([new Uint32Array(0), new Uint32Array(0)], 0), [], makeRandom());
    expectSet(EMPTY, [], makeRandom());
  });
});

describe('an intersection', () => {
  const toBits = (list: Uint32Array, games: number): RankSet => {
    // Said often enough, any list passes the size from which a union is stored as bits.
    const set = union(Array(1 + Math.ceil(2048 / Math.max(1, list.length))).fill(list), games);
    if (list.length > 0) expect(set.bits).toBeDefined();
    return set;
  };

  test('holds what all sets hold, whatever their forms and sizes, and leaves them alone', () => {
    const random = makeRandom(2);
    let found = 0;
    for (let i = 0; i < 600; i++) {
      const games = random.pick([1, 33, 500, 4000]);
      const lists = Array.from({ length: 1 + random.below(4) }, () =>
        randomRanks(random, games, random.pick([0, 1, 5, 60, 600, 4000])),
      );
      const sets = lists.map((list): RankSet => {
        return random.happens(0.5) ? { list } : toBits(list, games);
      });
      const before = sets.map(ranksOf);
      const expected = before.reduce((kept, other) => {
        const members = new Set(other);
        return kept.filter((rank) => members.has(rank));
      });
      expectSet(intersect(sets), expected, random);
      expect(sets.map(ranksOf)).toEqual(before);
      if (lists.length > 1) found += expected.length;
    }
    expect(found).toBeGreaterThan(1_000);
  });
});
