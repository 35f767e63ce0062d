/** The lists of changes, from a thread that shares its time between keys: pages, what is kept, and what is refused. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Change, encodeDifference } from '#lib/format/difference-file.ts';
import { CHANGES, differenceFile } from '#lib/format/layout.ts';
import { listDifferences, writeDifference } from '#lib/generations/differences.ts';
import { type ChangePage, makeChanges, type PageRequest } from '#proxy/api/changes/changes.ts';
import { CLIENT, MOST_PER_KEY, makeTurns } from '#proxy/api/changes/turns.ts';
import { makeFindRoute } from '#proxy/api/routes/find-route.ts';
import type { Generation } from '#proxy/snapshot/generation.ts';
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

async function read(
  first: number,
  count = 50,
  from = idOf(1),
  to = TO,
): Promise<ChangePage | undefined> {
  const client = new Int32Array(new SharedArrayBuffer(4));
  const page = await changes.read({ from, to, first, count, key: 1, client });
  if (page === 'busy') throw new Error(page);
  return page;
}

/** Writes a difference in which covers were added, with the ids from 1. */
function addCovers(count: number, from = idOf(1), to = TO): void {
  const covers = Array.from({ length: count }, (_, at): Change => {
    const [id, after] = [`${at + 1}`, '0123456789abcdef'];
    return { kind: 'cover', id, path: `/covers/${id}`, before: null, after };
  });
  const content = encodeDifference({ from, to }, covers);
  writeDifference(dir, path.join(dir, 'unfinished'), { from, to }, content);
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

test('each difference is read once: what happens to its file later affects no list', async () => {
  addCovers(2, idOf(0), idOf(1));
  addCovers(0);
  expect(await read(0, 50, idOf(0))).toMatchObject({ total: 2 });
  for (const difference of listDifferences(dir)) {
    writeFileSync(path.join(dir, CHANGES, differenceFile(difference)), 'damaged');
  }
  expect(await read(0)).toMatchObject({ total: 0 });
  // Its own file is not damaged, and the chain to it needs the others.
  addCovers(0, TO, idOf(3));
  expect(await read(0, 50, idOf(0), idOf(3))).toMatchObject({ total: 2 });
  const [oldest] = listDifferences(dir).map(differenceFile);
  rmSync(path.join(dir, CHANGES, oldest as string));
  addCovers(0, idOf(3), idOf(4));
  expect(await read(0, 50, idOf(0), idOf(4))).toBeUndefined();
});

describe('the work of a thread', () => {
  const WAITS = new Int32Array(1);

  /** Makes work that notes its steps. The first is taken at once. */
  function makeWork() {
    const noted: string[] = [];
    function* work(name: string, count: number): Generator<void, string> {
      for (let left = count; left > 0; left--) {
        yield;
        noted.push(name);
      }
      return name;
    }
    const takeTurns = makeTurns<string>();
    const start = (key: string, name: string, count: number, client = WAITS) =>
      takeTurns(key, name, client, work(name, count));
    return { noted, start };
  }

  test('alternates between keys, and one that has just come goes first', async () => {
    const { noted, start } = makeWork();
    const long = ['a1', 'a2'].map((name) => start('a', name, 4));
    const other = start('b', 'b', 3);
    expect(await start('c', 'c', 1)).toBe('c');
    expect(noted.join(' ')).toBe('c');
    expect(await start('d', 'd', 0)).toBe('d');
    expect(await Promise.all([...long, other])).toEqual(['a1', 'a2', 'b']);
    expect(noted.join(' ')).toBe('c b a1 b a1 b a1 a1 a2 a2 a2 a2');
  });

  test('is bounded for each key, but not that for the same list', async () => {
    const { start } = makeWork();
    const names = Array.from({ length: MOST_PER_KEY + 1 }, (_, at) => `${at}`);
    const all = [...names, '0'].map((name) => start('a', name, 1));
    expect(await Promise.all(all)).toEqual([...names.slice(0, -1), undefined, '0']);
  });

  test('is given up once its client has left, or has sent its last request and its key another', async () => {
    const { noted, start } = makeWork();
    const [left, ended, alone] = [new Int32Array(1), new Int32Array(1), new Int32Array(1)];
    const all = [
      start('a', 'left', 3, left),
      start('b', 'ended', 3, ended),
      start('c', 'alone', 1, alone),
    ];
    left[0] = CLIENT.left;
    ended[0] = alone[0] = CLIENT.ended;
    all.push(start('b', 'next', 1));
    expect(await Promise.all(all)).toEqual([undefined, undefined, 'alone', 'next']);
    expect(noted.toSorted()).toEqual(['alone', 'next']);
  });

  test.each([
    ['ended', { readableEnded: true }],
    ['left', { readableEnded: true, destroyed: true }],
  ] as const)('learns that a client has %s', async (state, socket) => {
    const seen = Promise.withResolvers<PageRequest>();
    const route = makeFindRoute('', async (request) => {
      while (request.client[0] === CLIENT.waits) await new Promise(setImmediate);
      seen.resolve(request);
      return 'busy';
    })('/changes');
    const find = route?.prepare(`since=${idOf(1)}`);
    const answer = find?.({ id: TO } as Generation, {
      key: 7,
      socket: { remoteAddress: '', ...socket },
    });
    expect(await seen.promise).toMatchObject({ key: 7, from: idOf(1), to: TO });
    expect((await seen.promise).client[0]).toBe(CLIENT[state]);
    expect(await answer).toBe('busy');
  });
});

test('if the thread ends, the next request starts another one', async () => {
  addCovers(3);
  const waiting = read(0);
  changes.close();
  await expect(waiting).rejects.toThrow('ended');
  expect(await read(0)).toMatchObject({ total: 3 });
});
