/** Two generations of which the newer one is damaged: what the proxy must never serve. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { GENERATIONS } from '#lib/format/layout.ts';
import { idsOnDisk, pointCurrentTo } from '#lib/generations/generations.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { generate, makeFolder } from '#test/support/product.ts';

/** @param games how many games the older generation has; the newer one has one more */
export async function makeDamagedGenerations(games: number, platforms: number) {
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
export type Damage = (file: string, position: number) => void;

const edit =
  (change: (bytes: Buffer, at: number) => Buffer): Damage =>
  (file, position) => {
    const bytes = readFileSync(file);
    writeFileSync(file, change(bytes, Math.floor(bytes.length * position)));
  };

export const DAMAGE = {
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
