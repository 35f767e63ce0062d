/** How long differences are kept: 30 days from when a generation was replaced, also by an earlier one. */
import { mkdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { CHANGES, CURRENT, differenceFile, GENERATIONS } from '../../../format/layout.ts';
import { findPath } from '../../../generations/changes/difference-path.ts';
import {
  idsOfDifferences,
  KEPT_DAYS,
  pruneDifferences,
  renewDifferences,
} from '../../../generations/changes/keep-differences.ts';
import { readHead } from '../../../generations/changes/read-difference.ts';
import { writeDifference } from '../../../generations/changes/write-difference.ts';
import { makeFolder } from '../../support/product.ts';

const DAY = 24 * 60 * 60;
const NOW = Date.UTC(2026, 10, 22) / 1000;
const idOf = (sequence: number) => `${String(sequence).padStart(6, '0')}-0123456789ab`;
let dir: string;

beforeEach(() => {
  dir = makeFolder();
  for (const folder of [CHANGES, GENERATIONS]) mkdirSync(path.join(dir, folder));
});

const fileOf = (sequence: number) => path.join(dir, CHANGES, differenceFile(idOf(sequence)));
const onDisk = () =>
  idsOfDifferences(dir)
    .map(Number.parseFloat)
    .toSorted((a, b) => a - b);

/** @param days how long ago it was published */
function addDifference(parent: number, sequence: number, days: number): void {
  const head = { from: idOf(parent), to: idOf(sequence), published_at: '2026-11-22T00:00:00Z' };
  writeDifference(fileOf(sequence), head, []);
  utimesSync(fileOf(sequence), NOW - days * DAY, NOW - days * DAY);
}

function keepOnDisk(current: number, ...others: number[]): void {
  for (const sequence of [current, ...others]) {
    mkdirSync(path.join(dir, GENERATIONS, idOf(sequence)));
  }
  symlinkSync(path.join(GENERATIONS, idOf(current)), path.join(dir, CURRENT));
}

test(`differences older than ${KEPT_DAYS} days are removed`, () => {
  addDifference(1, 2, 40);
  addDifference(2, 3, 30.1);
  addDifference(3, 4, 29.9);
  addDifference(4, 5, 0);
  writeFileSync(path.join(dir, CHANGES, 'notes.txt'), 'not ours');
  keepOnDisk(5, 4);
  expect(pruneDifferences(dir, NOW * 1000)).toBe(2);
  expect(onDisk()).toEqual([4, 5]);
  expect(pruneDifferences(dir, NOW * 1000)).toBe(0);
});

test('an old difference stays while it lies between two generations on disk', () => {
  for (const [parent, sequence] of [
    [1, 2],
    [2, 3],
    [3, 4],
    [3, 5],
    [5, 6],
  ] as const) {
    addDifference(parent, sequence, 100);
  }
  // 2 is kept because it is current or held; 4 was replaced by going back to 3.
  keepOnDisk(2, 4, 6);
  expect(pruneDifferences(dir, NOW * 1000)).toBe(1);
  expect(onDisk()).toEqual([3, 4, 5, 6]);
});

test('going back to an earlier generation keeps the differences that it passes for the full time again', () => {
  addDifference(1, 2, 40);
  addDifference(2, 3, 20);
  addDifference(3, 4, 20);
  keepOnDisk(4, 2);
  renewDifferences(dir, idOf(2), NOW * 1000);
  expect(statSync(fileOf(3)).mtimeMs).toBe(NOW * 1000);
  expect(pruneDifferences(dir, (NOW + 29 * DAY) * 1000)).toBe(1);
  expect(onDisk()).toEqual([3, 4]);
});

test('a damaged difference is removed when it is old, and stops neither pruning nor going back', () => {
  addDifference(1, 2, 40);
  addDifference(2, 3, 40);
  writeFileSync(fileOf(3), 'damaged');
  utimesSync(fileOf(3), NOW - 40 * DAY, NOW - 40 * DAY);
  keepOnDisk(3, 1);
  renewDifferences(dir, idOf(1), NOW * 1000);
  expect(pruneDifferences(dir, NOW * 1000)).toBe(2);
});

test('the path between two generations leads through their closest common ancestor', () => {
  for (const [parent, sequence] of [
    [1, 2],
    [2, 3],
    [3, 4],
    [2, 5],
    [5, 6],
  ] as const) {
    addDifference(parent, sequence, 0);
  }
  const path = (from: number, to: number) =>
    findPath((id) => readHead(dir, id)?.from, idOf(from), idOf(to))?.map(
      ({ id, isReversed }) => Number.parseFloat(id) * (isReversed ? -1 : 1),
    );
  expect(path(4, 6)).toEqual([-4, -3, 5, 6]);
  expect(path(6, 4)).toEqual([-6, -5, 3, 4]);
  expect(path(1, 4)).toEqual([2, 3, 4]);
  expect(path(4, 2)).toEqual([-4, -3]);
  expect(path(4, 4)).toEqual([]);
  expect(path(4, 7)).toBeUndefined();
  expect(path(7, 4)).toBeUndefined();
});
