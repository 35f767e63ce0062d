/**
 * The row cache only saves work. If the disk fails while a run reads or replaces it, the run publishes all
 * the same, and so does the next one.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../../database/open.ts';
import { ROW_CACHE } from '../../../../format/layout.ts';
import { makeRandom } from '../../../catalogue/random.ts';
import { seededCatalogue } from '../../../catalogue/seeded.ts';
import { makeSqlite } from '../../../catalogue/snapshots.ts';
import { addTimes, makeChanges } from '../../../generator/reuse/random-changes.ts';
import { makeTimed, run } from '../../../generator/reuse/runs.ts';
import { generate, makeFolder } from '../../../support/product.ts';
import {
  expectCurrentVerifies,
  finishInTime,
  newSnapshots,
  startGenerator,
} from '../../../support/wholeness.ts';
import { printFigure, rounds } from '../../rounds.ts';

const PRELOAD = path.join(import.meta.dirname, '../../guarantees/faulty-disk.ts');
const FAULTS = rounds(1, 80);
/** A run makes about this many calls that concern the row cache. */
const CALLS = 40;

test(`a run publishes although one of its calls on the row cache fails; ${FAULTS} such calls`, {
  timeout: 3_600_000,
}, async () => {
  const random = makeRandom(3);
  const dir = newSnapshots();
  const url = await makeSqlite(seededCatalogue({ games: 60, seed: 11 }));
  const database = await openDatabase(url);
  await addTimes(database);
  const { change } = makeChanges(random);
  const log = path.join(makeFolder(), 'faults.log');
  await generate(url, dir, ['--force']);
  const figures = { failed: 0, cached: 0 };
  for (let attempt = 0; figures.failed < FAULTS && attempt < 10 * FAULTS; attempt++) {
    await database.transaction(change);
    rmSync(log, { force: true });
    const { code, stdout, stderr } = await finishInTime(
      startGenerator(url, dir, ['--force', '--json'], {
        NODE_OPTIONS: `--import ${PRELOAD}`,
        FAULT_DIR: path.join(dir, ROW_CACHE),
        FAULT_LOG: log,
        FAULT_THREAD: 'main',
        FAULT_CALL: String(1 + random.below(CALLS)),
        FAULT_CODE: random.pick(['EIO', 'ENOSPC', 'EROFS']),
        FAULT_LASTING: random.pick(['once', 'always']),
      }),
    );
    expect(code, stderr).toBe(0);
    if (existsSync(log)) figures.failed++;
    if (JSON.parse(stdout).read_all_because === null) figures.cached++;
    await expectCurrentVerifies(dir);
    // A full run would publish what the run has missed.
    const full = JSON.parse((await generate(url, dir, ['--json', '--force', '--full'])).stdout);
    expect(full, stderr).toMatchObject({ outcome: 'unchanged' });
    expect(readdirSync(path.join(dir, ROW_CACHE)).toSorted()).toEqual(CACHE);
  }
  await database.close();
  expect(figures.failed).toBe(FAULTS);
  printFigure(
    'A run publishes although the disk fails at the row cache',
    `${figures.failed} failed calls; ${figures.cached} of the runs read only the changes, 0 differences`,
  );
});

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
