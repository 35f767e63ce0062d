/** A list of changes is exact, or there is none: whatever has happened to the files of differences. */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { encodeDifference, LARGEST_DIFFERENCE } from '#lib/format/difference-file.ts';
import { CHANGES } from '#lib/format/layout.ts';
import { listDifferences, readDifference, writeDifference } from '#lib/generations/differences.ts';
import { makeFolder } from '#test/support/product.ts';
import { differenceOf, expectAllExact, joinExactly, makeHistory } from './history.ts';

const history = await makeHistory(5);
const ids = [...history.states.keys()];
const other = await makeHistory(6, 2);
const foreign = differenceOf(other, [...other.states.keys()][1]);

test('the list from any generation to any later one is exact, past a rollback, too', () => {
  expect(expectAllExact(history).pairs).toBe(15);
});

describe('there is no list if a difference on the way is', () => {
  const cases: [string, (file: string, dir: string) => void, string | undefined][] = [
    ['missing', (file) => rmSync(file), undefined],
    ['empty', (file) => truncateSync(file), 'does not fit its name'],
    ['a folder', (file) => replaceBy(file, mkdirSync), 'not a regular file'],
    ['a dangling link', (file) => replaceBy(file, () => symlinkSync('nowhere', file)), 'ENOENT'],
    [
      'larger than any difference',
      (file) => truncateSync(file, LARGEST_DIFFERENCE + 1),
      'is larger than 268435456 bytes',
    ],
    [
      'one endless line',
      (file) => writeFileSync(file, 'x'.repeat(100_000)),
      'does not fit its name',
    ],
    [
      'that of another generation',
      (file) => copyFileSync(differenceOf(history, ids[2]), file),
      'its last line does not fit its name',
    ],
    ['that of another folder', (file) => copyFileSync(foreign, file), 'does not fit'],
    ['of another version', changeVersion, 'is of another version'],
    ['one that contradicts its parent', repeatParent, 'contradicts earlier ones:'],
  ];

  test.each(cases)('%s', (_, damage, expected) => {
    const copy = { dir: makeFolder(), states: history.states };
    cpSync(path.join(history.dir, CHANGES), path.join(copy.dir, CHANGES), { recursive: true });
    damage(differenceOf(copy, ids[3]), copy.dir);
    expect(joinExactly(copy, ids[0], ids[5])).toEqual({
      page: undefined,
      damage: expected && expect.stringContaining(expected),
    });
    // The way between later generations does not need it.
    expect(joinExactly(copy, ids[4], ids[5]).page).toBeDefined();
  });

  function replaceBy(file: string, make: (file: string) => void): void {
    rmSync(file);
    make(file);
  }

  function changeVersion(file: string): void {
    writeFileSync(file, readFileSync(file, 'utf8').replace('"version":3', '"version":4'));
  }

  /** Has the changes of its parent again, with a right checksum: they do not begin with its state. */
  function repeatParent(file: string, dir: string): void {
    const [, parent] = listDifferences(dir);
    const changes = [...readDifference(dir, parent)];
    expect(changes.length).toBeGreaterThan(0);
    const both = { from: ids[2], to: ids[3] };
    writeDifference(dir, path.join(dir, 'unfinished'), both, encodeDifference(both, changes));
    renameSync(differenceOf({ dir }, ids[3]), file);
  }
});
