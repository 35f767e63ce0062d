/** Only the owner may read a snapshots folder unless the operator shares it, with any umask. */
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { GENERATIONS } from '../../format/layout.ts';
import { makeFolder } from '../support/product.ts';
import {
  changeTitle,
  generate,
  listAll,
  makeDatabase,
  modeOf,
  modesOf,
  PRIVATE,
  SHARED,
  serveOnce,
  withUmask,
} from './folder-modes.ts';

test.each(['000', '077'])('with umask %s only the owner may read it', async (umask) => {
  const url = await makeDatabase();
  const dir = path.join(makeFolder(), 'deep', 'snapshots');
  await generate(url, dir, withUmask(umask));
  await serveOnce(dir, withUmask(umask));
  expect(listAll(dir)).toEqual(
    expect.arrayContaining(['keys.json', 'status.json', 'lock', 'lock.holder', 'proxy']),
  );
  expect(modesOf(path.dirname(dir))).toEqual(PRIVATE);
  expect(modeOf(path.dirname(dir))).toBe('700');
});

test.each(['000', '077'])(
  'with umask %s and the setgid bit its group may read it too',
  async (umask) => {
    const url = await makeDatabase();
    const dir = path.join(makeFolder(), 'snapshots');
    mkdirSync(dir);
    chmodSync(dir, 0o2770);
    await generate(url, dir, withUmask(umask));
    await serveOnce(dir, withUmask(umask));
    expect(modesOf(dir)).toEqual(SHARED);
    expect(modeOf(dir)).toBe('2770');
  },
);

test('without the setgid bit its content is private, even if everybody may read the folder', async () => {
  const url = await makeDatabase();
  const dir = path.join(makeFolder(), 'snapshots');
  mkdirSync(dir);
  chmodSync(dir, 0o755);
  await generate(url, dir);
  await serveOnce(dir);
  expect(modesOf(dir)).toEqual(PRIVATE);
});

test('the next run corrects the permissions of all generations and links no file with wrong ones', async () => {
  const url = await makeDatabase();
  const dir = path.join(makeFolder(), 'snapshots');
  await generate(url, dir);
  await changeTitle(url, 'Another title');
  await generate(url, dir);
  // The permissions that an older version set.
  for (const name of listAll(dir)) {
    const file = path.join(dir, name);
    chmodSync(file, statSync(file).isDirectory() ? 0o755 : 0o644);
  }
  expect((await generate(url, dir)).stdout).toContain('The data has not changed');
  expect(modesOf(dir)).toEqual(PRIVATE);

  chmodSync(dir, 0o2750);
  expect((await generate(url, dir)).stdout).toContain('The data has not changed');
  expect(modesOf(dir)).toEqual(SHARED);
  await changeTitle(url, 'A third title');
  await generate(url, dir);
  expect(readdirSync(path.join(dir, GENERATIONS))).toHaveLength(3);
  expect(modesOf(dir)).toEqual(SHARED);
});
