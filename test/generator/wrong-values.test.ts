/** A run checks the values that it has written, before anybody relies on them. */
import { expect, test, vi } from 'vitest';
import { currentId } from '#lib/generations/generations.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { generate } from '#test/support/product.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

vi.mock('#find/check.ts', () => ({
  checkFind() {
    throw new Error('index/words.bin is damaged: "words" does not ascend.');
  },
}));

test('a run that has written wrong values publishes nothing', async () => {
  const dir = newSnapshots();
  await expect(generate(await makeSampleSqlite(), dir)).rejects.toThrow(
    'verify the new generation: index/words.bin is damaged: ',
  );
  expect(currentId(dir)).toBeUndefined();
});
