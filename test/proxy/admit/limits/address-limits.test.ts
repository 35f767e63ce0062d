/**
 * The limit on requests without a valid key, in a table of fixed size for any number of addresses. The
 * tests compare it with a list of the admitted requests of each address.
 */
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { AddressLimits } from '#proxy/admit/limits/address-limits.ts';

const MINUTE = 60_000;
const WINDOWS_PER_SET = 8;
/** With this limit the table has so few sets that they fill up. */
const LARGE_LIMIT = 500_000;

/** The tag of its address, three numbers, then the times. */
const cellsFor = (limit: number) => 4 + limit;

const address = (number: number) =>
  `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;

/** The number of sets of a table for a limit. */
const setsOf = (limit: number) =>
  (new AddressLimits(limit).memory.byteLength - 8) / (4 + WINDOWS_PER_SET * cellsFor(limit) * 8);

/** The set of each window whose last request was admitted at a time, in a table with this limit. */
function setsUsedAt(memory: SharedArrayBuffer, limit: number, time: number): number[] {
  const sets = setsOf(limit);
  const cells = new Float64Array(memory, 8 + sets * 4);
  const windows = Array.from({ length: sets * WINDOWS_PER_SET }, (_, window) => window);
  const used = windows.filter((window) => cells[window * cellsFor(limit) + 3] === time);
  return used.map((window) => Math.floor(window / WINDOWS_PER_SET));
}

/** A table with the seed of another one, or a given seed. */
function makeLimits(limit: number, seed: Uint32Array): AddressLimits {
  const memory = new SharedArrayBuffer(new AddressLimits(limit).memory.byteLength);
  new Uint32Array(memory, 0, 2).set(seed);
  return new AddressLimits(limit, memory);
}

/** Finds addresses whose windows are in the same set. */
function findSharing(limits: AddressLimits, count: number): string[] {
  const probe = makeLimits(LARGE_LIMIT, new Uint32Array(limits.memory, 0, 2));
  const bySet = new Map<number, string[]>();
  for (let number = 1; ; number++) {
    probe.admit(address(number), number);
    const [set] = setsUsedAt(probe.memory, LARGE_LIMIT, number);
    const sharing = bySet.get(set) ?? [];
    sharing.push(address(number));
    if (sharing.length === count) return sharing;
    bySet.set(set, sharing);
  }
}

const peek = (limits: AddressLimits, from: string, now: number) =>
  limits.windowOf(from).admit(limits.limit, now, false);

test('each of thousands of simultaneous addresses has exactly its limit', () => {
  const random = makeRandom(1);
  const LIMIT = 3;
  // With this seed no set of the table overflows.
  const limits = makeLimits(LIMIT, Uint32Array.of(1, 2));
  const admitted = new Map<string, number[]>();
  let now = 1e6;
  let refused = 0;
  for (let step = 0; step < 40_000; step++, now += random.next() * 7) {
    const from = address(random.below(6_000));
    const times = (admitted.get(from) ?? []).filter((time) => now - time < MINUTE);
    const peeked = peek(limits, from, now);
    const quota = limits.admit(from, now);
    const isFree = times.length < LIMIT;
    if (isFree) times.push(now);
    else refused++;
    admitted.set(from, times);
    // Calling `expect` for each step would take seconds.
    const found = [quota.admitted, quota.remaining, peeked.admitted, peeked.remaining];
    const left = LIMIT - times.length;
    const expected = [isFree, left, isFree, left + Number(isFree)];
    if (found.join() !== expected.join()) expect(found).toEqual(expected);
  }
  expect(refused).toBeGreaterThan(1_000);
});

describe('the table', () => {
  test('has a fixed size, regardless of the limit and the number of addresses', () => {
    for (const [limit, sets] of [
      [60, 8_192],
      [LARGE_LIMIT, 4],
      [1_000_000, 2],
    ]) {
      const { memory } = new AddressLimits(limit);
      expect([limit, setsOf(limit)]).toEqual([limit, sets]);
      // 128 MiB, unless two sets of the largest limit take more.
      expect(memory.byteLength).toBeLessThan(130 * 2 ** 20);
      expect(memory.growable).toBe(false);
    }
  });

  test('replaces the window of a full set that was admitted least recently', () => {
    const limits = new AddressLimits(LARGE_LIMIT);
    const sharing = findSharing(limits, WINDOWS_PER_SET + 2);
    const eight = sharing.slice(0, WINDOWS_PER_SET);
    for (const [index, from] of eight.entries()) limits.admit(from, 1_000 + index);
    // Then the second one is the least recent.
    limits.admit(eight[0], 2_000);
    limits.admit(sharing[WINDOWS_PER_SET], 3_000);
    const remaining = (from: string) => peek(limits, from, 4_000).remaining;
    expect(eight.map(remaining)).toEqual([
      LARGE_LIMIT - 2,
      LARGE_LIMIT,
      ...Array.from({ length: WINDOWS_PER_SET - 2 }, () => LARGE_LIMIT - 1),
    ]);
    expect(remaining(sharing[WINDOWS_PER_SET])).toBe(LARGE_LIMIT - 1);
    // The third is replaced next, because peek does not count.
    limits.admit(sharing[WINDOWS_PER_SET + 1], 5_000);
    expect(remaining(eight[2])).toBe(LARGE_LIMIT);
    expect(remaining(eight[3])).toBe(LARGE_LIMIT - 1);
    // A new window does not contain requests of the one that it replaces.
    expect(limits.admit(eight[1], 6_000).remaining).toBe(LARGE_LIMIT - 1);
  });
});

test('threads that share the memory count in the same windows', () => {
  const limits = new AddressLimits(3);
  const otherThread = new AddressLimits(3, limits.memory);
  limits.admit('192.0.2.1', 0);
  expect(otherThread.admit('192.0.2.1', 1).remaining).toBe(1);
  expect(peek(limits, '192.0.2.1', 1).remaining).toBe(1);
});
