/** Bitsets that share memory with those of earlier queries, but with no other of their own query. */
import { expect, test } from 'vitest';
import { copyBits, newBits, startQuery } from '#proxy/find/search/sets/bits.ts';

test('the bitsets of a query are empty and separate, whatever earlier queries left in their memory', () => {
  for (const lengths of [[3, 5], [5, 3, 4], Array.from({ length: 100 }, (_, i) => 1 + (i % 7))]) {
    startQuery();
    const made = lengths.map((length) => {
      const bits = newBits(length);
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
  startQuery();
  const bits = newBits(4).fill(1);
  const copy = copyBits(bits);
  bits.fill(2);
  expect([...copy]).toEqual([1, 1, 1, 1]);
});
