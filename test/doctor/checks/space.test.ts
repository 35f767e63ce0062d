/** The time and the space that a run needs, and whether the disk has that space. */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { space } from '../../../doctor/checks/space.ts';
import { encodeManifest, makeManifest } from '../../../format/manifest.ts';
import {
  currentId,
  generationDir,
  pointCurrentTo,
} from '../../../store/generations/generations.ts';
import { readManifest } from '../../../store/generations/manifest-file.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '../../catalogue/snapshots.ts';
import { freeKilobytes, mountSmallDisk } from '../../soak/support/small-disk.ts';
import { makeFolder } from '../../support/product.ts';
import { examine } from '../installation.ts';

const DISK_KILOBYTES = 80_000;

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

test('a disk without enough space is found, before and after it is full', async ({ skip }) => {
  const disk = await mountSmallDisk(DISK_KILOBYTES);
  if (disk === undefined) return skip('mounting is not allowed');
  const snapshotsDir = path.join(disk.root, 'snapshots');
  cpSync(await makeSampleSnapshots(), snapshotsDir, { recursive: true, verbatimSymlinks: true });
  /** Runs the check as if the current generation had this size. */
  const findingWith = async (megabytes: number) => {
    const before = generationDir(snapshotsDir, currentId(snapshotsDir) ?? '');
    const manifest = readManifest(before);
    const [first = { path: '', size: 0, sha256: '' }, ...rest] = manifest.files;
    const files = [{ ...first, size: megabytes * 1e6 }, ...rest];
    const sized = makeManifest({ ...manifest, files }, manifest.sequence);
    const { id } = sized;
    rmSync(before, { recursive: true });
    mkdirSync(generationDir(snapshotsDir, id));
    const file = path.join(generationDir(snapshotsDir, id), 'manifest.json');
    writeFileSync(file, encodeManifest(sized));
    pointCurrentTo(snapshotsDir, id);
    const [found] = await examine(space, { SNAPSHOTS_DIR: snapshotsDir }, { programs: ['proxy'] });
    return found;
  };
  expect(await findingWith(1)).toMatchObject({ level: 'ok' });
  expect(await findingWith(20)).toMatchObject({
    level: 'warning',
    text: expect.stringMatching(/about 21 MB, .* The disk will be full before old generations/),
  });
  expect(await findingWith(75)).toMatchObject({
    level: 'error',
    text: expect.stringContaining('The next run cannot write its generation.'),
  });
  const fill = (name: string, free: number) =>
    writeFileSync(
      path.join(disk.root, name),
      Buffer.alloc((freeKilobytes(disk.root) - free) * 1024),
    );
  fill('filler', 20_000);
  expect(await findingWith(1)).toMatchObject({
    level: 'error',
    text: `Only 20 MB are free on the disk of ${snapshotsDir}.`,
  });
  fill('more', 0);
  expect(await examine(space, { SNAPSHOTS_DIR: snapshotsDir }, { programs: ['proxy'] })).toEqual([
    {
      level: 'error',
      text: `No space is free on the disk of ${snapshotsDir}.`,
      fix: expect.stringContaining('snapshot prune'),
    },
  ]);
  await disk.unmount();
});
