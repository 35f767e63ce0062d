/** Packs in memory and packs on disk give the same bodies. */
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ManifestFile } from '../../../format/manifest.ts';
import { recordBody } from '../../../proxy/api/resources/body.ts';
import { gameCovers } from '../../../proxy/api/resources/covers.ts';
import { consecutiveGames, gameBody, gatherGames } from '../../../proxy/api/resources/games.ts';
import { pageBody } from '../../../proxy/api/resources/lists.ts';
import { type Generation, makeGeneration } from '../../../proxy/snapshot/generation.ts';
import { openFiles, planOpening } from '../../../proxy/snapshot/open-files.ts';
import { identityOf, MOST_OPEN_PACKS, PackGoneError } from '../../../proxy/snapshot/pack-files.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';

let dir: string;
let inMemory: Generation;
let inPart: Generation;
let byRanges: Generation;
/** Opened as for clients that request it by name. */
let byName: Generation;
/** The number of packs that each generation reads from disk, in the order of opening. */
const descriptorCounts: number[] = [];
const descriptors: number[] = [];

beforeAll(async () => {
  const snapshotsDir = await makeSampleSnapshots();
  dir = realpathSync(path.join(snapshotsDir, 'current'));
  const open = (mostMemory: number | undefined) => {
    const order = { dir, id: path.basename(dir), mostMemory, known: undefined };
    const files = openFiles(planOpening(order));
    descriptorCounts.push(files.descriptors.size);
    descriptors.push(...files.descriptors.values());
    return makeGeneration(files);
  };
  inMemory = open(2 ** 30);
  const { files } = inMemory.manifest;
  const all = files.reduce((sum, { size }) => sum + size, 0);
  const covers = files.filter(({ path: name }) => name.startsWith('covers/'));
  inPart = open(all - Math.max(...covers.map(({ size }) => size)));
  byRanges = open(0);
  byName = open(undefined);
});

afterAll(() => {
  for (const generation of [inMemory, inPart, byRanges, byName]) generation.close();
  descriptors.forEach(closeSync);
});

/** The packs that this process has open, once for each descriptor. */
function openPacks(): string[] {
  const names = readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      // The descriptor of this listing is already closed.
      return [];
    }
  });
  return names.filter((name) => name.startsWith(dir));
}

/** Bodies of every kind, from the whole catalogue. */
function bodiesOf(generation: Generation): string[] {
  const { platforms, games, covers } = generation.index;
  const page = { page: 1, perPage: 100, total: 9 };
  const bodies = platforms.flatMap(({ first_game: from, games: total }) => [
    pageBody(consecutiveGames(generation, from, from + total, undefined), page),
    pageBody(consecutiveGames(generation, from, from + total, { member: 'covers' }), page),
  ]);
  for (let game = 0; game < games.rank.length; game++) {
    bodies.push(recordBody(generation.games, game), gameCovers(generation, game));
    bodies.push(gameBody(generation, game, { member: 'covers' }));
  }
  for (let cover = 0; cover < covers.numberOfId.length; cover++)
    bodies.push(recordBody(generation.covers, cover));
  bodies.push(pageBody(gatherGames(generation, [3, 0, 5], undefined), page));
  return bodies.map(({ bytes, hash }) => `${hash} ${bytes}`);
}

test('as many packs as fit are kept in memory', () => {
  const [none, some, all, byNameCount] = descriptorCounts as [number, number, number, number];
  expect(none).toBe(0);
  expect(some).toBeGreaterThan(0);
  expect(all).toBeGreaterThan(some);
  expect(all).toBe(inMemory.index.platforms.length * 2);
  expect(byNameCount).toBe(0);
});

test('bodies are the same with all, some or no packs in memory', () => {
  const bodies = bodiesOf(inMemory);
  expect(bodies.length).toBeGreaterThan(100);
  expect(bodiesOf(byRanges)).toEqual(bodies);
  expect(bodiesOf(inPart)).toEqual(bodies);
  expect(bodiesOf(byName)).toEqual(bodies);
});

test('a generation that is requested by name has few packs open, and none after it is closed', () => {
  const before = openPacks().length;
  expect(inMemory.index.platforms.length * 2).toBeGreaterThan(MOST_OPEN_PACKS);
  bodiesOf(byName);
  expect(openPacks().length).toBeLessThanOrEqual(before + MOST_OPEN_PACKS);
  byName.close();
  const closed = openPacks().length;
  expect(closed).toBe(descriptors.length);
  bodiesOf(byName);
  expect(openPacks()).toHaveLength(closed + MOST_OPEN_PACKS);
});

test('a pack that was replaced or removed after it was checked is not read', () => {
  const pack = path.join(dir, 'games/snes.json');
  const content = readFileSync(pack);
  const platform = byName.index.platformBySlug.get('snes') as number;
  const game = byName.index.platforms[platform]?.first_game as number;
  const body = recordBody(byName.games, game).bytes;
  byName.close();
  rmSync(pack);
  expect(() => recordBody(byName.games, game)).toThrow(PackGoneError);
  writeFileSync(pack, content);
  expect(() => recordBody(byName.games, game)).toThrow(PackGoneError);
  // The other generations opened the pack when it was valid, and still have it open.
  expect(recordBody(byRanges.games, game).bytes).toEqual(body);
});

test('only packs that have changed since their last check are hashed again', () => {
  const id = path.basename(dir);
  const open = (known: ReadonlyMap<string, string> | undefined) =>
    openFiles(planOpening({ dir, id, mostMemory: undefined, known }));
  const { identities } = open(undefined);
  expect([...identities.keys()]).toContain('games/snes.json');
  const pack = path.join(dir, 'games/snes.json');
  const content = readFileSync(pack);
  const { mtime } = statSync(pack);
  writeFileSync(pack, content.toString('latin1').replace('Chrono', 'chrono'), 'latin1');
  utimesSync(pack, mtime, new Date(mtime.getTime() + 5_000));
  expect(() => open(identities)).toThrow(/^games\/snes\.json is damaged: its SHA-256/);
  // With the identity of the changed file the pack is accepted, so it was not hashed.
  const descriptor = openSync(pack, 'r');
  const file = inMemory.manifest.files.find(({ path: name }) => name === 'games/snes.json');
  const identity = identityOf(file as ManifestFile, descriptor);
  closeSync(descriptor);
  expect(open(new Map([...identities, ['games/snes.json', identity]])).manifest.id).toBe(id);
  writeFileSync(pack, content);
});
