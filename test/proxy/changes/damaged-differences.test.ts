/** A list of changes is exact, or there is none: whatever has happened to the files of differences. */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Change, LARGEST_DIFFERENCE, parseChange } from '../../../format/difference-file.ts';
import { CHANGES } from '../../../format/layout.ts';
import { writeDifference } from '../../../generations/changes/write-difference.ts';
import { makeFolder } from '../../support/product.ts';
import { differenceOf, type History, joinExactly, makeHistory } from './history.ts';

let history: History;
let ids: readonly string[];
let foreign: string;

beforeAll(async () => {
  history = await makeHistory(5);
  ids = [...history.states.keys()];
  const other = await makeHistory(6, 2);
  foreign = differenceOf(other, [...other.states.keys()][1]);
});

test('the list between any two generations is exact, in both directions', () => {
  for (const from of ids) {
    for (const to of ids) expect(joinExactly(history, from, to).outcome).toBe('joined');
  }
});

describe('there is no list if a difference on the way is', () => {
  const cases: [string, (file: string, id: string) => void, string][] = [
    ['missing', (file) => rmSync(file), 'gone'],
    ['empty', (file) => truncateSync(file), 'it is empty'],
    ['a folder', (file) => replaceBy(file, mkdirSync), 'a directory, not a regular file'],
    ['a dangling link', (file) => replaceBy(file, () => symlinkSync('nowhere', file)), 'gone'],
    [
      'larger than any difference',
      (file) => truncateSync(file, LARGEST_DIFFERENCE + 1),
      'it is too large',
    ],
    ['one endless line', (file) => writeFileSync(file, 'x'.repeat(100_000)), 'without an end'],
    [
      'that of another generation',
      (file) => copyFileSync(differenceOf(history, ids[2]), file),
      'it belongs to',
    ],
    ['that of another folder', (file) => copyFileSync(foreign, file), 'it belongs to'],
    ['of another version', changeVersion, 'it has version 2'],
    ['one that contradicts its parent', repeatParent, 'contradicts others about'],
  ];

  test.each(cases)('%s', (_, damage, expected) => {
    const id = ids[3];
    const folder = path.join(history.dir, CHANGES);
    const kept = path.join(makeFolder(), 'kept');
    cpSync(folder, kept, { recursive: true });
    damage(differenceOf(history, id), id);
    expect(joinExactly(history, ids[0], ids[5])).toEqual(
      expected === 'gone'
        ? { outcome: 'gone' }
        : { outcome: 'refused', message: expect.stringContaining(expected) },
    );
    // The way between later generations does not need it.
    expect(joinExactly(history, ids[4], ids[5]).outcome).toBe('joined');
    rmSync(folder, { recursive: true });
    cpSync(kept, folder, { recursive: true });
  });

  function replaceBy(file: string, make: (file: string) => void): void {
    rmSync(file);
    make(file);
  }

  function changeVersion(file: string): void {
    writeFileSync(file, readFileSync(file, 'utf8').replace('"version":1', '"version":2'));
  }

  /** Has the changes of its parent again, with a right checksum: they do not begin with its state. */
  function repeatParent(file: string, id: string): void {
    const text = readFileSync(differenceOf(history, ids[2]), 'utf8');
    const lines = text.split('\n').slice(1, -2);
    expect(lines.length).toBeGreaterThan(0);
    const head = { from: ids[2], to: id, published_at: '2026-11-22T00:00:00Z' };
    rmSync(file);
    writeDifference(
      file,
      head,
      lines.map((line) => parseChange(line) as Change),
    );
  }
});
