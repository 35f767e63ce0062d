/** The limit on the bytes per second of a pull. */
import { expect, test } from 'vitest';
import { makeRateLimit } from '../../../depot/pull/rate-limit.ts';

async function* pieces(count: number, size: number): AsyncGenerator<Buffer> {
  for (let i = 0; i < count; i++) yield Buffer.alloc(size);
}

function makeClock() {
  let time = 1_000_000;
  return {
    now: () => time,
    pause: async (milliseconds: number) => {
      time += milliseconds;
    },
    skip(milliseconds: number) {
      time += milliseconds;
    },
  };
}

async function read(bytes: AsyncIterable<Buffer>): Promise<number> {
  let size = 0;
  for await (const piece of bytes) size += piece.length;
  return size;
}

test('all transfers together get as many bytes per second as allowed', async () => {
  const clock = makeClock();
  const limit = makeRateLimit(1_000_000, clock);
  const began = clock.now();
  const sizes = await Promise.all([1, 2, 3].map(() => read(limit(pieces(10, 100_000)))));
  expect(sizes).toEqual([1_000_000, 1_000_000, 1_000_000]);
  // What a reader may take at once is not waited for.
  expect(clock.now() - began).toBeGreaterThan(2_700);
  expect(clock.now() - began).toBeLessThan(3_100);
});

test('after a pause, only a quarter of a second may be caught up', async () => {
  const clock = makeClock();
  const limit = makeRateLimit(1_000_000, clock);
  await read(limit(pieces(1, 100_000)));
  clock.skip(60_000);
  const began = clock.now();
  await read(limit(pieces(10, 100_000)));
  expect(clock.now() - began).toBeGreaterThan(700);
});
