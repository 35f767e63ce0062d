/** Records are read from packs that stay open, so they stay readable when their files are replaced. */
import { closeSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { GameNumber } from '#lib/columns/numbers.ts';
import { isPack } from '#lib/format/layout.ts';
import type { ManifestFile } from '#lib/format/manifest.ts';
import { identityIn } from '#lib/generations/files/checked-files.ts';
import { gatherGames, pageBody } from '#proxy/api/bodies.ts';
import { makeGeneration } from '#proxy/snapshot/generation.ts';
import { type OpenedFiles, openFiles } from '#proxy/snapshot/open-files.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';

const PACK = 'games/snes.json';
let dir: string;
let files: OpenedFiles;

beforeEach(async () => {
  dir = realpathSync(path.join(await makeSampleSnapshots(), 'current'));
  files = openFiles({ dir, id: path.basename(dir) });
});
afterEach(() => files.descriptors.forEach(closeSync));

test('every file is open, and no pack is in memory', () => {
  const names = files.manifest.files.map(({ path: name }) => name);
  expect([...files.descriptors.keys()]).toEqual([...names, 'manifest.json']);
  expect([...files.contents.keys()].filter(isPack)).toEqual([]);
});

test('a pack that is removed or replaced after it was checked is read as it was', () => {
  const generation = makeGeneration(files);
  const platform = generation.index.platformBySlug.get('snes') as number;
  const game = generation.index.platforms[platform]?.firstGame as number;
  const body = generation.games.body(game).bytes;
  const pack = path.join(dir, PACK);
  const content = readFileSync(pack);
  rmSync(pack);
  expect(generation.games.body(game).bytes).toEqual(body);
  writeFileSync(
    pack,
    content.map((byte) => byte ^ 1),
  );
  expect(generation.games.body(game).bytes).toEqual(body);
});

test('only files that have changed since the current generation was opened are hashed again', () => {
  const open = (identities: ReadonlyMap<string, string>) =>
    openFiles({ dir, id: path.basename(dir), current: { ...files, identities } });
  const pack = path.join(dir, PACK);
  writeFileSync(pack, readFileSync(pack, 'latin1').replace('Chrono', 'chrono'), 'latin1');
  expect(() => open(files.identities)).toThrow(/^games\/snes\.json is damaged: its SHA-256/);
  // With the identity of the changed file the pack is accepted, so it was not hashed.
  const file = files.manifest.files.find(({ path: name }) => name === PACK) as ManifestFile;
  const identity = identityIn(statSync(pack, { bigint: true }), file.sha256);
  const again = open(new Map([...files.identities, [PACK, identity]]));
  again.descriptors.forEach(closeSync);
});

test('records that are neighbours in a pack and those of different platforms are listed alike', () => {
  const generation = makeGeneration(files);
  const { games, index } = generation;
  const numbers = [...index.games.rank.keys()] as GameNumber[];
  const expected = numbers.map((game) => JSON.parse(games.body(game).bytes.toString()));
  for (const listed of [numbers, numbers.toReversed()]) {
    const list = gatherGames(generation, listed, undefined);
    const body = pageBody(list, { page: 1, perPage: 50, total: listed.length });
    const { data } = JSON.parse(body.bytes.toString());
    expect(data).toEqual(listed.map((game) => expected[game]));
  }
});
