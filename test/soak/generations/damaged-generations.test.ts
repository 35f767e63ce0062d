/**
 * A damaged generation is never served, whatever byte of whatever file is damaged: random damages. The
 * kinds of damage are checked file by file in `test/system/generations/damaged-generation.test.ts`.
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
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { CURRENT, GENERATIONS, MANIFEST } from '../../../format/layout.ts';
import { openSnapshots } from '../../../proxy/snapshot/snapshots.ts';
import { makeRandom, type Random } from '../../catalogue/random.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSqlite } from '../../catalogue/snapshots.ts';
import { generate, makeFolder } from '../../support/product.ts';
import { printFigure, rounds } from '../rounds.ts';

const PROMISE = 'A damaged generation is never served';
const DAMAGES = rounds(40, 500);

let dir: string;
let older: string;
let newer: string;
/** The folder of an undamaged copy of the newer generation. */
let undamaged: string;

beforeAll(async () => {
  dir = path.join(makeFolder(), 'snapshots');
  for (const games of [200, 210]) {
    await generate(await makeSqlite(seededCatalogue({ games, seed: 9, platforms: 5 })), dir);
  }
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

type Damage = (file: string, random: Random) => void;

const edit = (change: (bytes: Buffer, random: Random) => Buffer): Damage => {
  return (file, random) => writeFileSync(file, change(readFileSync(file), random));
};

const DAMAGE: Readonly<Record<string, Damage>> = {
  truncated: edit((bytes, random) => bytes.subarray(0, random.below(bytes.length))),
  emptied: edit(() => Buffer.alloc(0)),
  'changed in one bit': edit((bytes, random) => {
    const at = random.below(bytes.length);
    bytes[at] = bytes[at] ^ (1 << random.below(8));
    return bytes;
  }),
  'overwritten with zeros': edit((bytes, random) => bytes.fill(0, random.below(bytes.length))),
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
};

test(`each of ${DAMAGES} damaged generations is refused, and the old one stays`, async () => {
  const files = readdirSync(undamaged, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(path.join(undamaged, name)).isFile())
    // An empty file has no bit to change.
    .filter((name) => statSync(path.join(undamaged, name)).size > 0);
  const manifest = JSON.parse(readFileSync(path.join(undamaged, MANIFEST), 'utf8'));
  const refused: string[] = [];
  const events = { swapped: () => {}, refused: (id: string) => refused.push(id) };
  const open = () =>
    openSnapshots(
      dir,
      async () => {},
      events,
      () => 0,
    );
  let snapshots = open();
  let harmless = 0;
  for (let seed = 0; seed < DAMAGES; seed++) {
    const random = makeRandom(seed);
    // The manifest is damaged in a third of the cases, because all other checks depend on it.
    const file = random.happens(0.3) ? MANIFEST : random.pick(files);
    const kind = random.pick(Object.keys(DAMAGE));
    restore();
    const target = path.join(folderOf(newer), file);
    DAMAGE[kind]?.(target, random);
    pointTo(older);
    await snapshots.refresh();
    expect(snapshots.refusal()).toBeUndefined();
    pointTo(newer);
    await snapshots.refresh();
    const what = `${file} ${kind} (seed ${seed})`;
    if (snapshots.current()?.id === newer) {
      // Only white space of the manifest has changed, so its content is still the same.
      expect(file, what).toBe(MANIFEST);
      expect(JSON.parse(readFileSync(target, 'utf8')), what).toEqual(manifest);
      harmless++;
      // Otherwise the generation would stay open and not be read again.
      snapshots.close();
      snapshots = open();
    } else {
      expect(snapshots.current()?.id, what).toBe(older);
      expect(refused.splice(0), what).toEqual([newer]);
      expect(snapshots.refusal()?.id, what).toBe(newer);
      expect(snapshots.refusal()?.error.message, what).not.toBe('');
    }
  }
  snapshots.close();
  expect(harmless).toBeLessThan(DAMAGES / 20);
  printFigure(
    PROMISE,
    `${DAMAGES} damaged generations, ${DAMAGES - harmless} refused, ${harmless} changed only in white space`,
  );
});
