/** Bitsets that share memory with those of earlier queries, but with no other of their own query. */
import { expect, test } from 'vitest';
import { QueryMemory, SetAlgebra } from '#find/search/sets/set-algebra.ts';

test('the bitsets of a query are empty and separate, whatever earlier queries left in their memory', () => {
  const memory = new QueryMemory();
  for (const lengths of [[3, 5], [5, 3, 4], Array.from({ length: 100 }, (_, i) => 1 + (i % 7))]) {
    memory.startQuery();
    const made = lengths.map((length) => {
      const bits = new SetAlgebra(length * 32, memory).emptyBits();
      expect([...bits]).toEqual(new Array(length).fill(0));
      return bits.fill(7);
    });
    for (const [number, bits] of made.entries()) bits.fill(number);
    for (const [number, bits] of made.entries()) {
      expect([...bits]).toEqual(new Array(lengths[number]).fill(number));
    }
  }
});

test('a copy does not change with its original', () => {
  const sets = new SetAlgebra(128, new QueryMemory());
  const bits = sets.emptyBits().fill(1);
  const copy = sets.copyBits(bits);
  bits.fill(2);
  expect([...copy]).toEqual([1, 1, 1, 1]);
});
