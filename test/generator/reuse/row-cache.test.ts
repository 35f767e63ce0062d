/** The row cache only saves work: what is left of a run that was refused, failed or killed does no harm. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROW_CACHE } from '../../../format/layout.ts';
import { newSnapshots } from '../../support/wholeness.ts';
import { makeTimed, run } from './runs.ts';

const CACHE = ['cover_files.bin', 'covers.bin', 'games.bin', 'head.json'];

test('a run that is refused leaves the row cache as it was', async () => {
  const database = await makeTimed('sqlite', 60);
  const dir = newSnapshots();
  await run(database, dir);
  const covers = await database.rows("SELECT id FROM covers WHERE status = 'approved' ORDER BY id");
  const last = String(covers.at(covers.length >> 1)?.[0]);
  const setStatus = (status: string) =>
    database.run('UPDATE covers SET status = ?, updated_at = CURRENT_TIMESTAMP WHERE id <= ?', [
      status,
      last,
    ]);
  await setStatus('rejected');
  await expect(run(database, dir, { isForced: false })).rejects.toThrow('by more than 20 %');
  expect(readdirSync(path.join(dir, ROW_CACHE)).toSorted()).toEqual(CACHE);
  await setStatus('approved');
  await database.run(
    "UPDATE covers SET status = 'rejected', updated_at = CURRENT_TIMESTAMP WHERE id = ?",
    [last],
  );
  expect(await run(database, dir, { isForced: false })).toMatchObject({
    outcome: 'published',
    readAllBecause: null,
  });
  expect(readdirSync(path.join(dir, ROW_CACHE)).toSorted()).toEqual(CACHE);
  await database.close();
});

test('what a killed run has left in the row cache is removed', async () => {
  const database = await makeTimed('sqlite', 20);
  const dir = newSnapshots();
  await run(database, dir);
  writeFileSync(path.join(dir, ROW_CACHE, 'covers.bin.next'), 'CCC');
  await database.run(
    'UPDATE games SET description = ?, updated_at = CURRENT_TIMESTAMP WHERE id = (SELECT MIN(id) FROM games)',
    ['Changed'],
  );
  expect(await run(database, dir)).toMatchObject({ outcome: 'published', readAllBecause: null });
  expect(readdirSync(path.join(dir, ROW_CACHE)).toSorted()).toEqual(CACHE);
  await database.close();
});

test('a run that cannot write the row cache publishes all the same', async () => {
  const database = await makeTimed('sqlite', 20);
  const dir = newSnapshots();
  await run(database, dir);
  mkdirSync(path.join(dir, ROW_CACHE, 'games.bin.next'));
  await database.run(
    'UPDATE games SET description = ?, updated_at = CURRENT_TIMESTAMP WHERE id = (SELECT MIN(id) FROM games)',
    ['Changed'],
  );
  expect(await run(database, dir)).toMatchObject({ outcome: 'published' });
  await database.close();
});
