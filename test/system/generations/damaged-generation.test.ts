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
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import {
  CURRENT,
  FORMAT_VERSION,
  GENERATIONS,
  MANIFEST,
  PLATFORMS,
} from '../../../format/layout.ts';
import { encodeManifest, makeManifest, parseManifest } from '../../../format/manifest.ts';
import { openFiles } from '../../../proxy/snapshot/open-files.ts';
import { openSnapshots } from '../../../proxy/snapshot/snapshots.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSqlite } from '../../catalogue/snapshots.ts';
import {
  generate,
  makeFolder,
  NEVER,
  startProxy,
  testKey,
  writeKeys,
} from '../../support/product.ts';

const key = testKey(1);

let dir: string;
let older: string;
let newer: string;
/** The folder of an undamaged copy of the newer generation. */
let undamaged: string;

beforeAll(async () => {
  dir = path.join(makeFolder(), 'snapshots');
  for (const games of [20, 21]) {
    await generate(await makeSqlite(seededCatalogue({ games, seed: 9, platforms: 3 })), dir);
  }
  writeKeys(dir, [key]);
  [older, newer] = readdirSync(path.join(dir, GENERATIONS)).sort() as [string, string];
  undamaged = path.join(makeFolder(), 'undamaged');
  cpSync(folderOf(newer), undamaged, { recursive: true });
});

function folderOf(id: string): string {
  return path.join(dir, GENERATIONS, id);
}

/** Restores the newer generation from the copy, without hard links to other generations. */
function restore(): void {
  rmSync(folderOf(newer), { recursive: true, force: true });
  cpSync(undamaged, folderOf(newer), { recursive: true });
}

function pointTo(id: string): void {
  const next = path.join(dir, 'next');
  symlinkSync(path.join(GENERATIONS, id), next);
  renameSync(next, path.join(dir, CURRENT));
}

type Damage = (file: string) => void;

const edit = (change: (bytes: Buffer) => Buffer): Damage => {
  return (file) => writeFileSync(file, change(readFileSync(file)));
};
const middle = (bytes: Buffer) => Math.floor(bytes.length / 2);

const DAMAGE = {
  truncated: edit((bytes) => bytes.subarray(0, middle(bytes))),
  emptied: edit(() => Buffer.alloc(0)),
  'changed in one bit': edit((bytes) => {
    // A digit of the counts in the manifest, since not every byte of JSON matters.
    const games = bytes.indexOf('"games": 2');
    const at = games < 0 ? middle(bytes) : games + 9;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return bytes;
  }),
  'overwritten with zeros': edit((bytes) => bytes.fill(0, middle(bytes))),
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

test.each(Object.keys(DAMAGE) as (keyof typeof DAMAGE)[])(
  'a generation with a file that is %s is refused, and the old one stays',
  async (kind) => {
    const files = readdirSync(undamaged, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(path.join(undamaged, name)).isFile())
      // An empty file has no bit to change.
      .filter((name) => statSync(path.join(undamaged, name)).size > 0);
    const refused: string[] = [];
    const events = { swapped: () => {}, refused: (id: string) => refused.push(id) };
    pointTo(older);
    const snapshots = openSnapshots(dir, events, () => 0);
    await snapshots.refresh();
    for (const file of files) {
      restore();
      DAMAGE[kind](path.join(folderOf(newer), file));
      pointTo(newer);
      await snapshots.refresh();
      expect(snapshots.current()?.id, file).toBe(older);
      expect(refused.splice(0), file).toEqual([newer]);
      expect(snapshots.refusal()?.error.message, file).not.toBe('');
      pointTo(older);
      await snapshots.refresh();
      expect(snapshots.refusal(), file).toBeUndefined();
    }
    snapshots.close();
  },
);

test('a manifest with a wrong size of a file is refused before memory is allocated for it', () => {
  restore();
  const content = parseManifest(readFileSync(path.join(undamaged, MANIFEST), 'utf8'));
  const files = content.files.map((file) =>
    file.path === PLATFORMS ? { ...file, size: 2 ** 50 } : file,
  );
  const manifest = makeManifest({ ...content, files }, content.sequence);
  writeFileSync(path.join(folderOf(newer), MANIFEST), encodeManifest(manifest));
  expect(() => openFiles({ dir: folderOf(newer), id: manifest.id })).toThrow(
    /^platforms\.json is damaged: it has \d+ bytes, but the manifest says 1125899906842624\.$/,
  );
});

const futureVersion: Damage = (file) => {
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...manifest, format_version: FORMAT_VERSION + 1 }));
};

test.each<[string, string, Damage, RegExp]>([
  ['a truncated pack', 'games', DAMAGE.truncated, /damaged/],
  ['a changed bit in an index', 'index/words.bin', DAMAGE['changed in one bit'], /SHA-256/],
  [
    'a missing index',
    'index/covers.bin',
    DAMAGE.missing,
    /is missing, but manifest\.json names it/,
  ],
  [
    'a future version',
    MANIFEST,
    futureVersion,
    new RegExp(
      `format version ${FORMAT_VERSION + 1}; this program reads version ${FORMAT_VERSION}`,
    ),
  ],
  [
    'a manifest of more than 1 MiB',
    MANIFEST,
    (file) => truncateSync(file, 1024 * 1024 + 1),
    /^manifest\.json is larger than 1048576 bytes\.$/,
  ],
])('the proxy refuses %s and reports it', async (_, name, damage, message) => {
  restore();
  pointTo(older);
  const proxy = await startProxy(dir, {}, NEVER);
  const state = async () => ({
    ready: await proxy.readyz(),
    metrics: await proxy.metrics(),
    served: (await proxy.get('/stats', key.key)).headers['x-snapshot'],
  });
  expect((await state()).metrics).toMatch(/^snapshot_refused 0$/m);
  const file =
    name === 'games' ? `games/${readdirSync(path.join(folderOf(newer), 'games'))[0]}` : name;
  damage(path.join(folderOf(newer), file));
  pointTo(newer);
  await proxy.refresh();
  const { ready, metrics, served } = await state();
  expect(served).toBe(older);
  expect([ready.status, ready.json.snapshot]).toEqual([200, older]);
  expect(ready.json.refused).toEqual({ id: newer, error: expect.stringMatching(message) });
  expect(metrics).toMatch(/^snapshot_refused 1$/m);
  expect(metrics).toContain(`snapshot_info{id="${older}"} 1`);
  expect(proxy.log().split('refused a generation').length - 1).toBe(1);
  // The refusal ends as soon as the current generation is valid.
  pointTo(older);
  await proxy.refresh();
  expect((await state()).ready.json.refused).toBeNull();
  expect((await state()).metrics).toMatch(/^snapshot_refused 0$/m);
  await proxy.stop();
});
