/** Packs in memory and packs read by ranges: which way a body comes from is nobody's business. */
import { readlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Generation, openGeneration } from '../proxy/snapshot/generation.ts';
import { makeFileSource } from '../proxy/snapshot/opened-files.ts';
import { makeSampleSnapshots } from './catalogue/snapshots.ts';

let inMemory: Generation;
let inPart: Generation;
let byRanges: Generation;
/** How many packs are read by ranges, in the order of opening. */
const descriptorCounts: number[] = [];

beforeAll(async () => {
  const snapshotsDir = await makeSampleSnapshots();
  const id = path.basename(readlinkSync(path.join(snapshotsDir, 'current')));
  const open = async (mostMemory: number) => {
    const source = makeFileSource(snapshotsDir, mostMemory);
    const { descriptors } = await source.open(id);
    descriptorCounts.push(descriptors.size);
    return openGeneration(source, id);
  };
  inMemory = await open(2 ** 30);
  const { files } = inMemory.manifest;
  const all = files.reduce((sum, { size }) => sum + size, 0);
  const covers = files.filter(({ path: name }) => name.startsWith('covers/'));
  inPart = await open(all - Math.max(...covers.map(({ size }) => size)));
  byRanges = await open(0);
});

afterAll(() => {
  for (const generation of [inMemory, inPart, byRanges]) generation.close();
});

/** Every kind of body there is, of the whole catalogue. */
function bodiesOf(generation: Generation): string[] {
  const { platforms, games, covers } = generation.records;
  const bodies = platforms.flatMap(({ first_game: from, games: total }) => [
    generation.gamePage(from, from + total, { page: 1, perPage: 100, total }),
    generation.gamePage(from, from, { page: 2, perPage: 100, total }),
  ]);
  for (let game = 0; game < games.rank.length; game++) {
    const [from, to] = [games.firstCover[game] as number, games.firstCover[game + 1] as number];
    bodies.push(generation.game(game), generation.coverList(from, to));
  }
  for (let cover = 0; cover < covers.coverOfId.length; cover++)
    bodies.push(generation.cover(cover));
  bodies.push(generation.gatheredPage([3, 0, 5], { page: 1, perPage: 3, total: 9 }));
  return bodies.map(({ bytes, hash }) => `${hash} ${bytes}`);
}

test('packs are kept in memory as far as there is room', () => {
  const [none, some, all] = descriptorCounts as [number, number, number];
  expect(none).toBe(0);
  expect(some).toBeGreaterThan(0);
  expect(all).toBeGreaterThan(some);
  expect(all).toBe(inMemory.records.platforms.length * 2);
});

test('bodies are alike whether packs are in memory, in part, or read by ranges', () => {
  const bodies = bodiesOf(inMemory);
  expect(bodies.length).toBeGreaterThan(100);
  expect(bodiesOf(byRanges)).toEqual(bodies);
  expect(bodiesOf(inPart)).toEqual(bodies);
});
