/** A run checks the values that it has written, before anybody relies on them. */
import { expect, test } from 'vitest';
import { openDatabase } from '#lib/database/open.ts';
import { currentId } from '#lib/generations/generations.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { run } from '#test/generator/reuse/runs.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

test('a run that has written wrong values publishes nothing', async () => {
  const database = await openDatabase(await makeSampleSqlite());
  const dir = newSnapshots();
  const checkValues = () => {
    throw new Error('index/words.bin is damaged: "words" does not ascend.');
  };
  await expect(run(database, dir, { checkValues })).rejects.toThrow(
    'verify the new generation: index/words.bin is damaged: ',
  );
  await database.close();
  expect(currentId(dir)).toBeUndefined();
});
