/**
 * The store of open generations. Few generations are open at a time, at most one of them besides the
 * current one has packs in memory, and every request gets a response from its own generation.
 */

import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { GENERATIONS, MANIFEST } from '../../../format/layout.ts';
import { encodeManifest, makeManifest, parseManifest } from '../../../format/manifest.ts';
import { recordBody } from '../../../proxy/api/resources/body.ts';
import type { Generation } from '../../../proxy/snapshot/generation.ts';
import { openSnapshots, type Snapshots } from '../../../proxy/snapshot/snapshots.ts';
import { makeFolder, testKey } from '../../support/product.ts';
import {
  indexBytes,
  makeGenerations,
  openFilesOf,
  pointTo,
  requestById,
} from './marked-generations.ts';

const MARKS = ['first', 'second', 'third', 'fourth', 'fifth'];
const GAMES = 4_000;
/** How long the opening of a generation takes, in one test. */
const OPENING_MS = 2_000;

const key = testKey(1);
let dir: string;
let ids: string[];

beforeAll(async () => {
  ({ dir, ids } = await makeGenerations(GAMES, MARKS, key));
});

/** Makes a snapshots folder with copies of the first generation, none of them current. */
function makeCopies(count: number): { dir: string; ids: string[] } {
  const folder = path.join(makeFolder(), 'snapshots');
  const from = path.join(dir, GENERATIONS, ids[0]);
  const manifest = parseManifest(readFileSync(path.join(from, MANIFEST), 'utf8'));
  const copies = Array.from({ length: count }, (_, i) => {
    const copy = makeManifest(manifest, i + 1);
    const to = path.join(folder, GENERATIONS, copy.id);
    cpSync(from, to, { recursive: true });
    writeFileSync(path.join(to, MANIFEST), encodeManifest(copy));
    return copy.id;
  });
  return { dir: folder, ids: copies };
}

/** The generations that the store refused to open. */
const refused: string[] = [];
let now: number;
let snapshots: Snapshots;

/** Opens a folder with a memory limit in bytes, on a clock of the test. */
function openFolder(folder: string, mostMemory = 2 ** 30, clock = () => now++): Snapshots {
  now = 0;
  refused.length = 0;
  const events = { swapped: () => {}, refused: (id: string) => refused.push(id) };
  return openSnapshots(folder, mostMemory, events, clock);
}

/** Opens the five generations with memory for this many indexes. */
function start(indexes: number, clock?: () => number): void {
  snapshots = openFolder(dir, indexBytes(dir, ids[0]) * indexes, clock);
}

const open = () => snapshots.store.opened().map(({ id }) => ids.indexOf(id));
const withPacks = () =>
  snapshots.store
    .opened()
    .filter(({ packsInMemory }) => packsInMemory > 0)
    .map(({ id }) => ids.indexOf(id));
const requestNumber = (number: number) => requestById(snapshots, ids[number]);
const publish = async (number: number) => {
  pointTo(dir, ids[number]);
  await snapshots.refresh();
};

test('the least recently used generation is closed to make room', async () => {
  start(2.5);
  await publish(0);
  for (const [number, expected] of [
    [1, [0, 1]],
    [2, [0, 1, 2]],
    // This one is used again, so the other one is closed next.
    [1, [0, 1, 2]],
    [3, [0, 1, 3]],
    [4, [0, 3, 4]],
    [0, [0, 3, 4]],
    [1, [0, 4, 1]],
  ] as const) {
    expect(await requestNumber(number)).toBe(MARKS[number]);
    expect(open()).toEqual(expected);
    expect(withPacks()).toEqual([0]);
  }
  expect(refused).toEqual([]);
  snapshots.close();
});

test('simultaneous requests for several generations are all answered with few open', async () => {
  start(1);
  await publish(0);
  const numbers = Array.from({ length: 200 }, (_, i) => i % MARKS.length);
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, open().length);
  }, 1);
  expect(await Promise.all(numbers.map(requestNumber))).toEqual(
    numbers.map((number) => MARKS[number]),
  );
  clearInterval(watch);
  expect(most).toBe(2);
  snapshots.close();
});

test('a swap closes other generations first, and the previous current one keeps its packs', async () => {
  start(1.6);
  await publish(0);
  await requestNumber(1);
  expect(open()).toEqual([0, 1]);
  await publish(2);
  expect(open()).toEqual([0, 2]);
  expect(withPacks()).toEqual([0, 2]);
  // A crawl that began before the swap continues.
  expect(await requestNumber(1)).toBe('second');
  expect(open()).toEqual([2, 1]);
  expect(withPacks()).toEqual([2]);
  snapshots.close();
});

test('only the last of the previously current generations keeps its packs', async () => {
  start(1_000);
  for (const number of [0, 1, 2]) await publish(number);
  expect(open()).toEqual([1, 2]);
  expect(withPacks()).toEqual([1, 2]);
  expect(await requestNumber(0)).toBe('first');
  expect(open()).toEqual([1, 2, 0]);
  expect(withPacks()).toEqual([1, 2]);
  // Swaps back to one that is open with its packs, and to one that is open without them.
  await publish(1);
  expect(withPacks()).toEqual([1, 2]);
  await publish(0);
  expect(withPacks()).toEqual([1, 0]);
  expect(snapshots.current()?.id).toBe(ids[0]);
  const before = openFilesOf('self', dir).length;
  const { games } = snapshots.current() as Generation;
  for (let game = 0; game < GAMES; game += 50) recordBody(games, game);
  expect(openFilesOf('self', dir)).toHaveLength(before);
  expect(await requestNumber(2)).toBe('third');
  snapshots.close();
});

test('requests during a swap are answered from the generations that they name', async () => {
  start(1);
  await publish(0);
  for (const number of [1, 3]) {
    const swapping = publish(number);
    expect(await Promise.all(MARKS.map((_, other) => requestNumber(other)))).toEqual(MARKS);
    await swapping;
    expect(snapshots.current()?.id).toBe(ids[number]);
    expect(open().length).toBeLessThanOrEqual(2);
  }
  snapshots.close();
});

test('if room is short, the next opening is delayed as long as the last one took, but not a swap', async () => {
  let closedAt: number | undefined;
  let isSecondRequested = false;
  // By this clock the opening of the second generation, for which the first one is closed, takes long.
  start(1, () => {
    if (isSecondRequested && !open().includes(1)) closedAt ??= performance.now();
    return performance.now() + (closedAt === undefined ? 0 : OPENING_MS);
  });
  await publish(0);
  await requestNumber(1);
  isSecondRequested = true;
  await requestNumber(2);
  const ended: number[] = [];
  const last = requestNumber(3).then(() => ended.push(3));
  await publish(4);
  ended.push(4);
  await last;
  expect(ended).toEqual([4, 3]);
  expect(performance.now() - (closedAt as number)).toBeGreaterThan(OPENING_MS * 0.9);
  snapshots.close();
});

test('a generation that changed on disk after it was closed is checked again and refused', async () => {
  const copies = makeCopies(1);
  const [id] = copies.ids as [string];
  snapshots = openFolder(copies.dir, 2 ** 30, () => now);
  expect(await requestById(snapshots, id)).toBe('first');
  now += 60_000;
  await snapshots.refresh();
  expect(snapshots.store.opened()).toEqual([]);
  expect(await requestById(snapshots, id)).toBe('first');
  now += 60_000;
  await snapshots.refresh();
  const pack = path.join(copies.dir, GENERATIONS, id, 'covers');
  const file = path.join(pack, readdirSync(pack)[0]);
  const bytes = readFileSync(file);
  bytes[bytes.length - 2] = 0x20;
  writeFileSync(file, bytes);
  expect(await requestById(snapshots, id)).toBe('gone');
  expect(refused).toEqual([id]);
  // It is not checked again within half a minute.
  expect(await requestById(snapshots, id)).toBe('gone');
  expect(refused).toEqual([id]);
  now += 30_000;
  expect(await requestById(snapshots, id)).toBe('gone');
  expect(refused).toEqual([id, id]);
  snapshots.close();
});

test('a path to a generation is not accepted as its id', async () => {
  start(2.5);
  for (const name of [`./${ids[1]}`, `../${GENERATIONS}/${ids[1]}`, `${ids[1]}/`, '.', '']) {
    expect(await requestById(snapshots, name), name).toBe('gone');
  }
  expect(refused).toEqual([]);
  expect(open()).toEqual([]);
  snapshots.close();
});

test('a generation that is pruned before it is opened is gone and not reported as refused', async () => {
  const copies = makeCopies(2);
  const [first, second] = copies.ids as [string, string];
  snapshots = openFolder(copies.dir);
  const answers = [requestById(snapshots, first), requestById(snapshots, second)];
  const folder = path.join(copies.dir, GENERATIONS, second);
  // Waits until the store has found the second one. Opening the first takes much longer.
  await stat(path.join(folder, MANIFEST));
  rmSync(folder, { recursive: true });
  expect(await Promise.all(answers)).toEqual(['first', 'gone']);
  expect(refused).toEqual([]);
  snapshots.close();
});

test('simultaneous refreshes swap only once', async () => {
  let swaps = 0;
  const events = { swapped: () => swaps++, refused: () => {} };
  snapshots = openSnapshots(dir, 2 ** 30, events, () => 0);
  pointTo(dir, ids[0]);
  await Promise.all([snapshots.refresh(), snapshots.refresh()]);
  expect(snapshots.current()?.id).toBe(ids[0]);
  expect(swaps).toBe(1);
  snapshots.close();
});

test('at most eight generations are open, however small they are', async () => {
  const copies = makeCopies(10);
  snapshots = openFolder(copies.dir, 2 ** 30, () => 0);
  for (const id of copies.ids) expect(await requestById(snapshots, id)).toBe('first');
  expect(snapshots.store.opened()).toHaveLength(8);
  snapshots.close();
});

test('room is made for the previous generation too, if the next one is smaller', async () => {
  const { dir: folder, ids: large } = makeCopies(2);
  const small = await makeGenerations(500, ['small'], key);
  const [smallId] = small.ids as [string];
  const from = path.join(small.dir, GENERATIONS, smallId);
  cpSync(from, path.join(folder, GENERATIONS, smallId), { recursive: true });
  const manifest = parseManifest(readFileSync(path.join(from, MANIFEST), 'utf8'));
  const smallBytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
  snapshots = openFolder(folder, (indexBytes(dir, ids[0]) + smallBytes) * 1.1);
  const [current, named] = large as [string, string];
  pointTo(folder, current);
  await snapshots.refresh();
  await requestById(snapshots, named);
  pointTo(folder, smallId);
  await snapshots.refresh();
  expect(snapshots.store.opened().map(({ id }) => id)).toEqual([current, smallId]);
  snapshots.close();
});

test('a generation that no request has named for a minute is closed', async () => {
  start(1_000);
  await publish(0);
  for (const number of [1, 2]) await requestNumber(number);
  now += 59_000;
  await requestNumber(2);
  now += 59_000;
  await snapshots.refresh();
  expect(open()).toEqual([0, 2]);
  snapshots.close();
});
