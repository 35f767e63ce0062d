/** Sets of numbers against plain arrays, as lists and as bits, at every size where the form changes. */
import { describe, expect, test } from 'vitest';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import {
  atMost,
  cardinality,
  EMPTY,
  isDense,
  type NumberSet,
  slice,
} from '#find/search/sets/number-set.ts';
import { QueryMemory, SetAlgebra } from '#find/search/sets/set-algebra.ts';

const memory = new QueryMemory();
const setsBelow = (games: number) => new SetAlgebra(games, memory);

const ascending = (ranks: Iterable<number>) => [...new Set(ranks)].sort((a, b) => a - b);

function randomRanks(random: Random, games: number, count: number): Uint32Array {
  // Some crowd together, as games of one series do in title order.
  const from = random.happens(0.3) ? random.below(games) : 0;
  const width = Math.min(games - from, random.happens(0.3) ? count * 2 : games);
  return Uint32Array.from(
    ascending(Array.from({ length: count }, () => from + random.below(Math.max(1, width)))),
  );
}

const ranksOf = (set: NumberSet) => slice(set, 0, cardinality(set));

/** Everything that can be read of a set. */
function expectSet(set: NumberSet, expected: readonly number[], random: Random): void {
  expect(ranksOf(set)).toEqual(expected);
  expect(cardinality(set)).toBe(expected.length);
  expect(atMost(set)).toBeGreaterThanOrEqual(expected.length);
  for (const start of [0, 1, 31, 32, 33, expected.length - 1, random.below(expected.length + 40)]) {
    const from = Math.max(0, start);
    const count = random.pick([0, 1, 2, 50, 100, 10_000]);
    expect(slice(set, from, count)).toEqual(expected.slice(from, from + count));
  }
}

describe('a union', () => {
  test('holds what any of its lists holds, each rank once and in order', () => {
    const random = makeRandom(1);
    const forms = { list: 0, bits: 0 };
    for (let i = 0; i < 300; i++) {
      const games = random.pick([1, 31, 32, 33, 64, 1000, 5000]);
      const lists = Array.from({ length: random.below(6) }, () => {
        // A list may consist of several ascending ones.
        const parts = Array.from({ length: 1 + random.below(3) }, () => [
          ...randomRanks(random, games, random.below(random.pick([1, 10, 3000]))),
        ]);
        return Uint32Array.from(parts.flat());
      });
      const copies = lists.map((list) => [...list]);
      const set = setsBelow(games).union(lists);
      forms[set.list === undefined ? 'bits' : 'list']++;
      expect(lists.map((list) => [...list])).toEqual(copies);
      expectSet(set, ascending(copies.flat()), random);
    }
    expect(Math.min(forms.list, forms.bits)).toBeGreaterThan(15);
  });

  test.each([2047, 2048, 2049])('of %i ranks has the first, the last and all between', (count) => {
    const all = Uint32Array.from({ length: count }, (_, i) => i);
    expectSet(setsBelow(count).union([all]), [...all], makeRandom(count));
    expectSet(setsBelow(count).union([all, all]), [...all], makeRandom(count));
  });

  test('of nothing is empty', () => {
    expectSet(setsBelow(10).union([]), [], makeRandom());
    const none = new Uint32Array(0);
    expectSet(setsBelow(0).union([none, none]), [], makeRandom());
    expectSet(EMPTY, [], makeRandom());
  });
});

describe('an intersection', () => {
  test('holds what all sets hold, whatever their forms and sizes, and leaves them alone', () => {
    const random = makeRandom(2);
    const forms = { list: 0, bits: 0 };
    const earlier: { set: NumberSet; expected: readonly number[] }[] = [];
    for (let i = 0; i < 250; i++) {
      const games = random.pick([1, 33, 500, 4000, 8000]);
      const sizes = games === 8000 ? [16_000] : [0, 1, 5, 60, 600, 4000];
      const lists = Array.from({ length: 1 + random.below(5) }, () =>
        randomRanks(random, games, random.pick(sizes)),
      );
      const shareOfBits = random.pick([0, 0.5, 1]);
      const sets = lists.map((list): NumberSet => {
        return random.happens(shareOfBits) ? setsBelow(games).toBits({ list }) : { list };
      });
      const before = sets.map(ranksOf);
      const expected = before.reduce((kept, other) => {
        const members = new Set(other);
        return kept.filter((rank) => members.has(rank));
      });
      const algebra = setsBelow(games);
      const found = algebra.intersect(sets);
      expectSet(found, expected, random);
      if (sets.length === 2) expect(algebra.sizeOfBoth(sets[0], sets[1])).toBe(expected.length);
      expect(sets.map(ranksOf)).toEqual(before);
      if (lists.length === 1 || expected.length === 0) continue;
      forms[found.list === undefined ? 'bits' : 'list']++;
      earlier.push({ set: found, expected });
    }
    expect(Math.min(forms.list, forms.bits)).toBeGreaterThan(5);
    // They share the memory in which they are made, but not the memory in which they are kept.
    for (const { set, expected } of earlier) expect(ranksOf(set)).toEqual(expected);
  });
});

/** A set of random ranks in either form, and the same ranks as a list. */
function randomSet(random: Random, games: number): { set: NumberSet; list: number[] } {
  const list = randomRanks(random, games, random.below(random.pick([2, 60, games])));
  return {
    set: random.happens(0.5) ? { list } : setsBelow(games).toBits({ list }),
    list: [...list],
  };
}

test('union, difference and filter are those of arrays, whatever the forms; no set changes', () => {
  const random = makeRandom(3);
  for (let i = 0; i < 150; i++) {
    const games = random.pick([1, 33, 500, 4000]);
    const all = Array.from({ length: 2 + random.below(3) }, () => randomSet(random, games));
    const sets = all.map(({ set }) => set);
    const algebra = setsBelow(games);
    expectSet(algebra.unite(sets), ascending(all.flatMap(({ list }) => list)), random);
    const [one, other] = all;
    const removed = new Set(other.list);
    const rest = one.list.filter((rank) => !removed.has(rank));
    expectSet(algebra.subtract(one.set, algebra.toBits(other.set).bits), rest, random);
    const seen: number[] = [];
    const kept = algebra.filter(one.set, (rank) => {
      seen.push(rank);
      return rank % 3 === 0;
    });
    const thirds = one.list.filter((rank) => rank % 3 === 0);
    expectSet(kept, thirds, random);
    // Each rank once, in order.
    expect(seen).toEqual(one.list);
    expect(sets.map(ranksOf)).toEqual(all.map(({ list }) => list));
  }
});

test.each([100_000, 1_000_000])('of %i games a list is dense from a thirty-second on', (games) => {
  const list = new Uint32Array(games / 32 + 1);
  expect(isDense(list, games)).toBe(true);
  expect(isDense(list.subarray(1), games)).toBe(false);
});
