/** Look-ups by id and the binary searches behind them, compared with plain scans. */
import { describe, expect, test } from 'vitest';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import { firstIndex, firstIndexNear } from '#lib/columns/arrays.ts';
import { findById, splitId } from '#lib/format/index/ids.ts';

const random = makeRandom(31);

/** Ways in which ids can be spread, each as the distance to the next id. */
const SPREADS: Record<string, (random: Random) => bigint> = {
  'consecutive ids': () => 1n,
  'ids with gaps': ({ below }) => BigInt(1 + below(9)),
  'ids in two distant groups': ({ below }) => (below(100) === 0 ? 2n ** 55n : 1n),
  'ids that double': ({ below }) => 2n ** BigInt(below(57)),
};

describe.each(Object.entries(SPREADS))('%s', (_, distance) => {
  test.each([0, 1, 2, 3, 64])('%i of them are found, and no others', (count) => {
    let last = BigInt(random.below(5));
    const ids = Array.from({ length: count }, () => {
      last += distance(random);
      return last;
    });
    const columns = {
      idHigh: Uint32Array.from(ids, (id) => Number(id >> 32n)),
      idLow: Uint32Array.from(ids, (id) => Number(id & 0xffff_ffffn)),
      numberOfId: Uint32Array.from(ids, (_, position) => position * 7),
    };
    const find = (id: bigint) => {
      const halves = splitId(String(id));
      if (halves === undefined) throw new Error(`${id} is no id.`);
      return findById(columns, halves);
    };
    for (const [position, id] of ids.entries()) {
      expect(find(id)).toBe(position * 7);
      for (const other of [id - 1n, id + 1n]) {
        if (!ids.includes(other)) expect(find(other), String(other)).toBeUndefined();
      }
    }
    for (const id of [0n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 64n - 1n]) {
      if (!ids.includes(id)) expect(find(id), String(id)).toBeUndefined();
    }
  });
});

test('from any guess, the same index is found', () => {
  for (let to = 1; to <= 20; to++) {
    for (let from = 0; from < to; from++) {
      for (let first = from; first <= to; first++) {
        const passes = (index: number) => {
          if (index < from || index >= to) throw new Error(`${index} is outside.`);
          return index >= first;
        };
        expect(firstIndex(from, to, passes)).toBe(first);
        for (let guess = from; guess < to; guess++) {
          expect(firstIndexNear(guess, from, to, passes)).toBe(first);
        }
      }
    }
  }
});
