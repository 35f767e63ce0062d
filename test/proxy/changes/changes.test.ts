/** The lists of changes, from a thread that joins them: pages, what is kept, and what is refused. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Change } from '../../../format/difference-file.ts';
import { CHANGES, differenceFile } from '../../../format/layout.ts';
import { listDifferences, writeDifference } from '../../../generations/differences.ts';
import { makeChanges, type PageReply } from '../../../proxy/changes/changes.ts';
import { makeFolder } from '../../support/product.ts';

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

const idsOf = (reply: PageReply): number[] =>
  typeof reply === 'string'
    ? []
    : JSON.parse(`[${reply.text}]`).map(({ id }: { id: number }) => id);

test('a list is joined once, and sorted by number; its pages are parts of it', async () => {
  addCovers(130);
  const pages = await Promise.all([read(0), read(50), read(100)]);
  expect(pages).toMatchObject([50, 50, 30].map((count) => ({ total: 130, count })));
  expect(pages.flatMap(idsOf)).toEqual(Array.from({ length: 130 }, (_, at) => at + 1));
  for (const first of [130, 1e15]) {
    expect(await read(first)).toEqual({ total: 130, count: 0, text: '' });
  }
  rmSync(path.join(dir, CHANGES), { recursive: true });
  expect(await read(0)).toEqual(pages[0]);
  expect(faults).toEqual([]);
});

test('a list between generations without changes is empty, also between one and itself', async () => {
  addCovers(0);
  expect(await read(0)).toEqual({ total: 0, count: 0, text: '' });
  expect(await read(0, 50, TO)).toEqual({ total: 0, count: 0, text: '' });
});

test('neither an unknown generation nor a damaged difference affects other lists', async () => {
  expect(await read(0)).toBe('gone');
  addCovers(2, idOf(0), idOf(1));
  const [first] = listDifferences(dir).map(differenceFile);
  writeFileSync(path.join(dir, CHANGES, first as string), 'damaged');
  addCovers(1);
  expect(idsOf(await read(0))).toEqual([1]);
  for (let times = 0; times < 2; times++) expect(await read(0, 50, idOf(0))).toBe('gone');
  expect(idsOf(await read(0))).toEqual([1]);
  expect(faults).toEqual([
    expect.stringMatching(/cannot be used: .* Clients that need it get 410 and read/),
  ]);
});

test('if a list cannot be joined now, the requests are told to come back', async () => {
  const folder = path.join(dir, CHANGES);
  writeFileSync(folder, 'not a folder');
  expect(await Promise.all([read(0), read(50)])).toEqual(['busy', 'busy']);
  rmSync(folder);
  mkdirSync(folder);
  addCovers(3);
  expect(await read(0)).toMatchObject({ total: 3 });
  const fault = expect.stringMatching(/^Differences cannot be joined: .*ENOTDIR/);
  expect(faults).toEqual([fault, fault]);
});

test('if the thread ends, the next request starts another one', async () => {
  addCovers(3);
  const waiting = read(0);
  changes.close();
  expect(await waiting).toBe('busy');
  expect(await read(0)).toMatchObject({ total: 3 });
});

test('at most 1,000 requests wait', async () => {
  addCovers(1);
  const replies = await Promise.all(Array.from({ length: 1_001 }, () => read(0)));
  expect(replies.map((reply) => typeof reply)).toEqual([...Array(1_000).fill('object'), 'string']);
  expect(replies.at(-1)).toBe('busy');
});
