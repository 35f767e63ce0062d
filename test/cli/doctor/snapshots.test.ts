/** What the doctor finds in the snapshots folder. */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { Finding } from '#cli/doctor/check.ts';
import { checkSpace, snapshots, space } from '#cli/doctor/checks/snapshots.ts';
import { encodeManifest, makeManifest } from '#lib/format/manifest.ts';
import {
  currentId,
  generationDir,
  pointCurrentTo,
  readManifest,
} from '#lib/generations/generations.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { testKey, writeKeys } from '#test/support/product.ts';
import { examine, faultsIn } from './examine.ts';

const KEEP = { generations: 5, days: 0 };

let snapshotsDir: string;
beforeEach(async () => {
  snapshotsDir = await makeSampleSnapshots();
});

const faults = async (proxyUser?: string) =>
  faultsIn(await examine(snapshots, { SNAPSHOTS_DIR: snapshotsDir }, ['proxy'], proxyUser));

test('what the user of the proxy may not read is an error', async () => {
  writeKeys(snapshotsDir, [testKey(1)]);
  chmodSync(path.dirname(snapshotsDir), 0o755);
  expect(await faults('nobody')).toMatchObject([
    { level: 'error', text: expect.stringContaining(`${snapshotsDir}, which has mode 0700`) },
  ]);
  for (const folder of ['', 'generations']) chmodSync(path.join(snapshotsDir, folder), 0o755);
  chmodSync(path.join(snapshotsDir, 'keys.json'), 0o644);
  expect(await faults('nobody')).toMatchObject([
    {
      level: 'error',
      text: expect.stringMatching(/may not enter .*\/generations\/000001-\w+, which has mode 0700/),
    },
  ]);
  expect(await faults('no-such-user')).toMatchObject([
    { level: 'error', text: expect.stringContaining('There is no user "no-such-user"') },
  ]);
  expect(await faults()).toMatchObject([{ level: 'skipped' }]);
});

test('a key of the explorer that was revoked is an error', async () => {
  const key = testKey(1);
  const variables = { SNAPSHOTS_DIR: snapshotsDir, EXPLORER_KEY: key.key };
  const levels = async (state: 'approved' | 'revoked') => {
    writeKeys(snapshotsDir, [{ ...key, state }]);
    const found = faultsIn(await examine(snapshots, variables, ['proxy'], 'root'));
    return found.filter(({ text }) => text.includes('EXPLORER_KEY')).map(({ level }) => level);
  };
  expect([await levels('approved'), await levels('revoked')]).toEqual([[], ['error']]);
});

test('a disk without enough space is found, before and after it is full', async () => {
  expect(await examine(space, { SNAPSHOTS_DIR: snapshotsDir }, ['proxy'])).toHaveLength(1);
  const levelWith = (free: number) => {
    const levels: Finding['level'][] = [];
    checkSpace(snapshotsDir, free, KEEP, {
      ok: () => levels.push('ok'),
      warn: () => levels.push('warning'),
      error: () => levels.push('error'),
    });
    return levels;
  };
  setSizeOfCurrent(snapshotsDir, 75e6);
  expect(levelWith(1e9)).toEqual(['ok']);
  expect(levelWith(200e6)).toEqual(['warning']);
  expect(levelWith(80e6)).toEqual(['error']);
  expect(levelWith(0)).toEqual(['error']);
});

/** Replaces the current generation by the manifest of one of this size. */
function setSizeOfCurrent(folder: string, bytes: number): void {
  const before = generationDir(folder, currentId(folder) ?? '');
  const manifest = readManifest(before);
  const [first = { path: '', size: 0, sha256: '' }, ...rest] = manifest.files;
  const files = [{ ...first, size: bytes }, ...rest];
  const sized = makeManifest({ ...manifest, files }, manifest.sequence);
  rmSync(before, { recursive: true });
  mkdirSync(generationDir(folder, sized.id));
  writeFileSync(path.join(generationDir(folder, sized.id), 'manifest.json'), encodeManifest(sized));
  pointCurrentTo(folder, sized.id);
}
