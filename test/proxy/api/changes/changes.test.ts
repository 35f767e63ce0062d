/** The lists of changes, from a thread that joins them: pages, what is kept, and what is refused. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Change } from '#lib/format/difference-file.ts';
import { CHANGES, differenceFile } from '#lib/format/layout.ts';
import { listDifferences, writeDifference } from '#lib/generations/differences.ts';
import { type ChangePage, makeChanges } from '#proxy/api/changes/changes.ts';
import { makeFolder } from '#test/support/product.ts';

const idOf = (sequence: number) => `${String(sequence).padStart(6, '0')}-0123456789ab`;
const TO = idOf(2);
let dir: string;
let changes: ReturnType<typeof makeChanges>;
let faults: string[];

beforeEach(() => {
  dir = makeFolder();
  faults = [];
  changes = makeChanges(dir, (fault) => faults.push(fault));
});
afterEach(() => changes.close());

const read = (first: number, count = 50, from = idOf(1)) =>
  changes.read({ from, to: TO, first, count });

/** Writes a difference in which covers were added, with the ids from 1. */
function addCovers(count: number, from = idOf(1), to = TO): void {
  const covers = Array.from({ length: count }, (_, at): Change => {
    const [id, after] = [`${at + 1}`, '0123456789abcdef'];
    return { kind: 'cover', id, path: `/covers/${id}`, before: null, after };
  });
  writeDifference(dir, path.join(dir, 'unfinished'), { from, to }, covers);
}

const idsOf = (page: ChangePage | undefined): number[] =>
  (page?.elements ?? []).map((element) => JSON.parse(element).id);

test('a list is joined once, and sorted by number; its pages are parts of it', async () => {
  addCovers(130);
  const pages = await Promise.all([read(0), read(50), read(100)]);
  expect(pages.map((page) => [page?.total, page?.elements.length])).toEqual([
    [130, 50],
    [130, 50],
    [130, 30],
  ]);
  expect(pages.flatMap(idsOf)).toEqual(Array.from({ length: 130 }, (_, at) => at + 1));
  for (const first of [130, 1e15]) {
    expect(await read(first)).toEqual({ total: 130, elements: [] });
  }
  rmSync(path.join(dir, CHANGES), { recursive: true });
  expect(await read(0)).toEqual(pages[0]);
  expect(faults).toEqual([]);
});

test('a list between generations without changes is empty, also between one and itself', async () => {
  addCovers(0);
  expect(await read(0)).toEqual({ total: 0, elements: [] });
  expect(await read(0, 50, TO)).toEqual({ total: 0, elements: [] });
});

test('neither an unknown generation nor a damaged difference affects other lists', async () => {
  expect(await read(0)).toBeUndefined();
  addCovers(2, idOf(0), idOf(1));
  const [first] = listDifferences(dir).map(differenceFile);
  writeFileSync(path.join(dir, CHANGES, first as string), 'damaged');
  addCovers(1);
  expect(idsOf(await read(0))).toEqual([1]);
  for (let times = 0; times < 2; times++) expect(await read(0, 50, idOf(0))).toBeUndefined();
  expect(idsOf(await read(0))).toEqual([1]);
  expect(faults).toEqual([
    expect.stringMatching(/cannot be used: .* Clients that need it get 410 and read/),
  ]);
});

test('a list that cannot be joined now is an error, and may be joined later', async () => {
  const folder = path.join(dir, CHANGES);
  writeFileSync(folder, 'not a folder');
  await expect(read(0)).rejects.toThrow('ENOTDIR');
  rmSync(folder);
  mkdirSync(folder);
  addCovers(3);
  expect(await read(0)).toMatchObject({ total: 3 });
});

test('if the thread ends, the next request starts another one', async () => {
  addCovers(3);
  const waiting = read(0);
  changes.close();
  await expect(waiting).rejects.toThrow('ended');
  expect(await read(0)).toMatchObject({ total: 3 });
});
