/**
 * A damaged generation is never served, if any of its files is truncated, changed, missing or of a future
 * version. The old generation stays current, and readiness, metrics and log report the refusal.
 */

import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { checkFind } from '#find/check.ts';
import { FORMAT_VERSION, GENERATIONS, MANIFEST, PLATFORMS } from '#lib/format/layout.ts';
import {
  encodeManifest,
  LARGEST_MANIFEST,
  makeManifest,
  parseManifest,
} from '#lib/format/manifest.ts';
import { idsOnDisk, pointCurrentTo } from '#lib/generations/generations.ts';
import { everything, verifyAndOpen } from '#lib/generations/verify.ts';
import { openFiles } from '#proxy/snapshot/open-files.ts';
import { Snapshots } from '#proxy/snapshot/snapshots.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import {
  generate,
  makeFolder,
  NEVER,
  startProxy,
  testKey,
  writeKeys,
} from '#test/support/product.ts';

/** @param games how many games the older generation has; the newer one has one more */
async function makeDamagedGenerations(games: number, platforms: number) {
  const dir = path.join(makeFolder(), 'snapshots');
  for (const count of [games, games + 1]) {
    await generate(await makeSqlite(seededCatalogue({ games: count, seed: 9, platforms })), dir);
  }
  const [older, newer] = idsOnDisk(dir) as [string, string];
  const newerDir = path.join(dir, GENERATIONS, newer);
  const undamaged = path.join(makeFolder(), 'undamaged');
  cpSync(newerDir, undamaged, { recursive: true });
  return {
    dir,
    older,
    newer,
    newerDir,
    undamaged,
    /** The files of the newer generation, except empty ones, in which nothing can be damaged. */
    files: readdirSync(undamaged, { recursive: true, encoding: 'utf8' }).filter((name) => {
      const stats = statSync(path.join(undamaged, name));
      return stats.isFile() && stats.size > 0;
    }),
    /** Restores the newer generation, without hard links to the older one. */
    restore(): void {
      rmSync(newerDir, { recursive: true, force: true });
      cpSync(undamaged, newerDir, { recursive: true });
    },
    pointTo: (id: string) => pointCurrentTo(dir, id),
  };
}

/** @param position from 0 (inclusive) to 1 (exclusive), where in the file */
type Damage = (file: string, position: number) => void;

const edit =
  (change: (bytes: Buffer, at: number) => Buffer): Damage =>
  (file, position) => {
    const bytes = readFileSync(file);
    writeFileSync(file, change(bytes, Math.floor(bytes.length * position)));
  };

const DAMAGE = {
  truncated: edit((bytes, at) => bytes.subarray(0, at)),
  emptied: edit(() => Buffer.alloc(0)),
  'changed in one bit': edit((bytes, at) =>
    Buffer.from(bytes.with(at, bytes[at] ^ (1 << (at % 8)))),
  ),
  'overwritten with zeros': edit((bytes, at) => bytes.fill(0, at)),
  extended: edit((bytes) => Buffer.concat([bytes, Buffer.from('}')])),
  missing: (file) => rmSync(file),
  'a folder': (file) => {
    rmSync(file);
    mkdirSync(file);
  },
  // Opening a pipe waits for a writer.
  'a pipe': (file) => {
    rmSync(file);
    execFileSync('mkfifo', [file]);
  },
} as const satisfies Readonly<Record<string, Damage>>;

const key = testKey(1);
const MIDDLE = 0.5;
const generations = await makeDamagedGenerations(20, 3);
writeKeys(generations.dir, [key]);

test.each(Object.keys(DAMAGE) as (keyof typeof DAMAGE)[])(
  'a generation with a file that is %s is refused, and the old one stays',
  async (kind) => {
    const { dir, older, newer, newerDir, files, restore, pointTo } = generations;
    pointTo(older);
    const snapshots = new Snapshots(
      dir,
      async () => {},
      pino({ enabled: false }),
      () => 0,
    );
    await snapshots.refresh();
    for (const file of files) {
      restore();
      // In the manifest, a digit of the counts, since not every byte of JSON matters.
      const manifest = readFileSync(path.join(newerDir, MANIFEST));
      const digit = (manifest.indexOf('"games": 2') + 9.5) / manifest.length;
      DAMAGE[kind](path.join(newerDir, file), file === MANIFEST ? digit : MIDDLE);
      await expect(verifyAndOpen(newerDir, everything(checkFind)), file).rejects.toThrow();
      pointTo(newer);
      await snapshots.refresh();
      expect(snapshots.current()?.id, file).toBe(older);
      const { id, error } = snapshots.refusal() ?? {};
      expect(id, file).toBe(newer);
      expect(error?.message, file).not.toBe('');
      pointTo(older);
      await snapshots.refresh();
      expect(snapshots.refusal(), file).toBeUndefined();
    }
    snapshots.close();
  },
);

test('a manifest with a wrong size of a file is refused before memory is allocated for it', () => {
  const { newerDir, undamaged, restore } = generations;
  restore();
  const content = parseManifest(readFileSync(path.join(undamaged, MANIFEST), 'utf8'));
  const files = content.files.map((file) =>
    file.path === PLATFORMS ? { ...file, size: 2 ** 50 } : file,
  );
  const manifest = makeManifest({ ...content, files }, content.sequence);
  writeFileSync(path.join(newerDir, MANIFEST), encodeManifest(manifest));
  expect(() => openFiles({ dir: newerDir, id: manifest.id })).toThrow(
    /^platforms\.json is damaged: it has \d+ bytes, but the manifest says 1125899906842624\.$/,
  );
});

const futureVersion: Damage = (file) => {
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...manifest, format_version: FORMAT_VERSION + 1 }));
};

test.each<[string, string, Damage, RegExp]>([
  ['a changed bit in an index', 'index/words.bin', DAMAGE['changed in one bit'], /SHA-256/],
  [
    'a future version',
    MANIFEST,
    futureVersion,
    new RegExp(
      `format version ${FORMAT_VERSION + 1}; this program reads version ${FORMAT_VERSION}`,
    ),
  ],
  [
    'a manifest that is too large',
    MANIFEST,
    (file) => truncateSync(file, LARGEST_MANIFEST + 1),
    /cannot be read: manifest\.json is larger than 1310720 bytes\.$/,
  ],
])('the proxy refuses %s and reports it', async (_, name, damage, message) => {
  const { dir, older, newer, newerDir, restore, pointTo } = generations;
  restore();
  pointTo(older);
  const proxy = await startProxy(dir, {}, NEVER);
  const state = async () => ({
    ready: await proxy.readyz(),
    metrics: await proxy.metrics(),
    served: (await proxy.get('/stats', key.key)).headers['x-snapshot'],
  });
  expect((await state()).metrics).toMatch(/^snapshot_refused 0$/m);
  damage(path.join(newerDir, name), MIDDLE);
  pointTo(newer);
  await proxy.refresh();
  const { ready, metrics, served } = await state();
  expect(served).toBe(older);
  expect([ready.status, ready.json.snapshot]).toEqual([200, older]);
  expect(ready.json.refused).toEqual({ id: newer, error: expect.stringMatching(message) });
  expect(metrics).toMatch(/^snapshot_refused 1$/m);
  expect(metrics).toContain(`snapshot_info{id="${older}"} 1`);
  expect(proxy.log().split('refused a generation').length - 1).toBe(1);
  // Without another one, a proxy has nothing to serve.
  const bare = await startProxy(dir, {}, NEVER);
  expect((await bare.get('/stats', key.key)).json).toEqual({ error: 'No snapshot yet' });
  const { status, json } = await bare.readyz();
  expect([status, json.refused.error]).toEqual([503, expect.stringMatching(message)]);
  await bare.stop();
  // The refusal ends as soon as the current generation is valid.
  pointTo(older);
  await proxy.refresh();
  expect((await state()).ready.json.refused).toBeNull();
  expect((await state()).metrics).toMatch(/^snapshot_refused 0$/m);
});
