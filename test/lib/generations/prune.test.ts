/** Which generations stay: the last ones, and the newest of each of the last days, whatever the clock did. */
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { generationId, MANIFEST, sequenceOf } from '#lib/format/layout.ts';
import { replaceFile } from '#lib/generations/files/replace-file.ts';
import { currentId, generationDir, idsOnDisk } from '#lib/generations/generations.ts';
import { findKept, prune } from '#lib/generations/prune.ts';
import { disturbed } from '#test/lib/generations/disk.ts';
import { makeFolder } from '#test/support/product.ts';
import {
  ageDeadWrites,
  expectNoDebris,
  makePublished,
  runGenerator,
} from '#test/support/wholeness.ts';

/** @param days of the generations, the oldest first, which are called 1, 2, 3 … @returns those that stay */
function kept(days: readonly string[], generations: number, most: number): number[] {
  const published = days.map((day, at) => ({ id: String(at + 1), day }));
  const ids = findKept(published, { generations, days: most });
  return [...ids].map(Number).sort((a, b) => a - b);
}

test('the last ones and the newest of each of the last days stay', () => {
  const days = ['01', '02', '02', '05', '06', '06', '06', '06'];
  expect(kept(days, 1, 3)).toEqual([3, 4, 8]);
  expect(kept(days, 3, 3)).toEqual([3, 4, 6, 7, 8]);
  expect(kept(days, 3, 0)).toEqual([6, 7, 8]);
  // A bad night cannot remove what was there in the evening.
  const night = Array.from({ length: 100 }, () => '07');
  expect(kept([...days, ...night], 5, 7)).toEqual([1, 3, 4, 8, 104, 105, 106, 107, 108]);
});

test('a clock that was wrong costs a day, and takes the place of none', () => {
  expect(kept(['01', '02', '03', '2036', '03', '04'], 1, 4)).toEqual([2, 3, 4, 5, 6]);
  // Set back to a day that was.
  expect(kept(['01', '02', '03', '01', '03', '04'], 1, 4)).toEqual([1, 2, 3, 4, 5, 6]);
  const toAndFro = Array.from({ length: 100 }, (_, at) => String(at % 2));
  expect(kept(toAndFro, 1, 4)).toHaveLength(8);
});

test('the day is that of the manifest, or, if that cannot be read, of the folder', async () => {
  const { database, snapshotsDir: dir } = await makePublished();
  for (let run = 0; run < 3; run++) await database.publish(dir);
  const [first = '', second = '', third = '', current] = idsOnDisk(dir);
  const copied = new Date();
  for (const [id, day] of [
    [first, '2026-01-01'],
    [second, '2026-01-02'],
    [third, '2026-01-02'],
  ] as const) {
    const folder = generationDir(dir, id);
    const file = path.join(folder, MANIFEST);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replaceAll(/("changed_at": ?")[^T]*/g, `$1${day}`));
    utimesSync(folder, copied, copied);
  }
  const damaged = generationId(0, 'd'.repeat(64));
  mkdirSync(generationDir(dir, damaged));
  const old = new Date('2025-12-31T23:59:59Z');
  utimesSync(generationDir(dir, damaged), old, old);
  expect(await prune(dir, { generations: 1, days: 4 })).toEqual([second]);
  expect(await prune(dir, { generations: 1, days: 3 })).toEqual([damaged]);
  expect([idsOnDisk(dir), currentId(dir)]).toEqual([[first, third, current], current]);
  await database.change();
  await runGenerator(database.url, dir, [], { KEEP_GENERATIONS: '1' });
  expect(idsOnDisk(dir)).toEqual([first, third, currentId(dir)]);
});

test('what cannot be removed is a warning: runs publish all the same', async () => {
  const { database, snapshotsDir: dir } = await makePublished();
  const refuse = () => {
    throw new Error('EACCES: permission denied, rm');
  };
  await disturbed('rmSync', /\/generations\/\.unfinished-removed-/, refuse, async () => {
    for (const sequence of [2, 3]) {
      await database.change();
      const run = await runGenerator(database.url, dir, [], {
        KEEP_GENERATIONS: '1',
        KEEP_DAYS: '0',
      });
      expect([run.code, sequenceOf(currentId(dir) ?? '')]).toEqual([0, sequence]);
      expect(run.stderr).toContain('not all removed: EACCES');
      expect(run.stderr).not.toContain('All rows are read');
    }
  });
  await prune(dir, { generations: 1, days: 0 });
  expectNoDebris(dir);
});

test('an unfinished file stays as long as a program in another container may be writing it', async () => {
  const { snapshotsDir: dir } = await makePublished();
  // A process id that does not exist here.
  const unfinished = path.join(dir, '.unfinished-999999999-keys.json');
  writeFileSync(unfinished, '{');
  await prune(dir, { generations: 1, days: 0 });
  expect(existsSync(unfinished)).toBe(true);
  ageDeadWrites(dir);
  await prune(dir, { generations: 1, days: 0 });
  expect(existsSync(unfinished)).toBe(false);
});

test('two programs with the same process id can replace a file at the same time', async () => {
  const file = path.join(makeFolder(), 'keys.json');
  let isFirst = true;
  const replaceToo = () => {
    if (!isFirst) return;
    isFirst = false;
    replaceFile(file, 'theirs');
  };
  await disturbed('renameSync', /-keys\.json$/, replaceToo, async () => replaceFile(file, 'ours'));
  expect(readFileSync(file, 'utf8')).toBe('ours');
});
