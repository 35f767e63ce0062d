/** Which differences lead from one generation to another, and how long they are kept. */
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { encodeDifference } from '#lib/format/difference-file.ts';
import { CHANGES, differenceFile } from '#lib/format/layout.ts';
import {
  findChain,
  listDifferences,
  pruneDifferences,
  writeDifference,
} from '#lib/generations/differences.ts';
import { makeFolder } from '#test/support/product.ts';

const idOf = (sequence: number) => `${String(sequence).padStart(6, '0')}-0123456789ab`;
function chain(steps: readonly (readonly [number, number])[], from: number, to: number) {
  const dir = makeFolder();
  mkdirSync(path.join(dir, CHANGES));
  for (const [number, [a, b]] of steps.entries()) {
    const name = differenceFile({ number, from: idOf(a), to: idOf(b) });
    writeFileSync(path.join(dir, CHANGES, name), '');
  }
  return findChain(listDifferences(dir), idOf(from), idOf(to))?.map(({ number }) => number);
}

test('a chain leads forward, past differences of runs that were killed', () => {
  const steps = [
    [1, 2],
    [2, 3],
    // Never became current.
    [3, 9],
    [3, 4],
  ] as const;
  expect(chain(steps, 1, 4)).toEqual([0, 1, 3]);
  expect(chain(steps, 3, 3)).toEqual([]);
  expect(chain(steps, 4, 3)).toBeUndefined();
  expect(chain(steps, 9, 4)).toBeUndefined();
  expect(chain(steps, 7, 4)).toBeUndefined();
  expect(chain(steps.toSpliced(1, 1), 1, 4)).toBeUndefined();
});

test('if a replica went back to a generation, the chain begins the last time that it was current', () => {
  const steps = [
    [1, 2],
    [2, 3],
    [3, 2],
    [2, 4],
  ] as const;
  expect(chain(steps, 2, 4)).toEqual([3]);
  expect(chain(steps, 3, 4)).toEqual([2, 3]);
  expect(chain(steps, 1, 4)).toEqual([0, 1, 2, 3]);
});

test('differences are numbered, and removed after 30 days; other files stay', () => {
  const dir = makeFolder();
  const unfinished = path.join(dir, 'unfinished');
  const DAY = 24 * 60 * 60;
  const now = Date.UTC(2026, 10, 22) / 1000;
  [40, 30.1, 29.9, 0].forEach((days, at) => {
    const ids = { from: idOf(at), to: idOf(at + 1) };
    writeDifference(dir, unfinished, ids, encodeDifference(ids, []));
    const difference = { number: at + 1, ...ids };
    expect(listDifferences(dir).at(-1)).toEqual(difference);
    const file = path.join(dir, CHANGES, differenceFile(difference));
    utimesSync(file, now - days * DAY, now - days * DAY);
  });
  const note = path.join(dir, CHANGES, 'notes.txt');
  writeFileSync(note, 'not ours');
  utimesSync(note, 0, 0);
  pruneDifferences(dir, now * 1000);
  expect(listDifferences(dir).map(({ number }) => number)).toEqual([3, 4]);
  expect(readdirSync(path.join(dir, CHANGES))).toContain('notes.txt');
});
