/** The time and the space that a run needs, and whether the disk has that space. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeSpaceCheck, space } from '../../../doctor/checks/space.ts';
import { encodeManifest, makeManifest } from '../../../format/manifest.ts';
import {
  currentId,
  generationDir,
  pointCurrentTo,
  readManifest,
} from '../../../generations/generations.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '../../catalogue/snapshots.ts';
import { makeFolder } from '../../support/product.ts';
import { examine } from '../installation.ts';

test('the rows of the database say how long a run takes, and how much space a generation', async () => {
  const found = await examine(space, {
    DATABASE_URL: await makeSampleSqlite(),
    SNAPSHOTS_DIR: makeFolder(),
  });
  expect(found).toEqual([
    {
      level: 'ok',
      text: expect.stringMatching(
        /^\d+ games, 908 covers and \d+ files: a run takes about 1 s on an idle machine, and 2 s on a busy one\.$/,
      ),
    },
    {
      level: 'ok',
      text: expect.stringMatching(/^A generation takes about \d+ KB, all that are kept/),
    },
  ]);
});

test('a disk without enough space is found, before and after it is full', async () => {
  const snapshotsDir = await makeSampleSnapshots();
  setSizeOfCurrent(snapshotsDir, 20e6);
  const findingWith = async (free: number) => {
    const check = makeSpaceCheck(() => free);
    const [found] = await examine(check, { SNAPSHOTS_DIR: snapshotsDir }, { programs: ['proxy'] });
    return found;
  };
  expect(await findingWith(1e9)).toMatchObject({ level: 'ok' });
  expect(await findingWith(60e6)).toMatchObject({
    level: 'warning',
    text: expect.stringMatching(/about 21 MB, .* The disk will be full before old generations/),
  });
  expect(await findingWith(20e6)).toMatchObject({
    level: 'error',
    text: `Only 20 MB are free on the disk of ${snapshotsDir}.`,
  });
  expect(await findingWith(0)).toEqual({
    level: 'error',
    text: `No space is free on the disk of ${snapshotsDir}.`,
    fix: expect.stringContaining('snapshot prune'),
  });
  setSizeOfCurrent(snapshotsDir, 75e6);
  expect(await findingWith(80e6)).toMatchObject({
    level: 'error',
    text: expect.stringContaining('The next run cannot write its generation.'),
  });
});

/** Replaces the current generation by the manifest of one of this size. */
function setSizeOfCurrent(snapshotsDir: string, bytes: number): void {
  const before = generationDir(snapshotsDir, currentId(snapshotsDir) ?? '');
  const manifest = readManifest(before);
  const [first = { path: '', size: 0, sha256: '' }, ...rest] = manifest.files;
  const sized = makeManifest(
    { ...manifest, files: [{ ...first, size: bytes }, ...rest] },
    manifest.sequence,
  );
  rmSync(before, { recursive: true });
  mkdirSync(generationDir(snapshotsDir, sized.id));
  const file = path.join(generationDir(snapshotsDir, sized.id), 'manifest.json');
  writeFileSync(file, encodeManifest(sized));
  pointCurrentTo(snapshotsDir, sized.id);
}
