/**
 * Generations of one catalogue whose every record names the generation that it is of, so that an
 * answer from the wrong one is seen.
 */
import { readdirSync, renameSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import type { Row } from '../../../database/database.ts';
import { CURRENT, GENERATIONS } from '../../../format/layout.ts';
import type { Snapshots } from '../../../proxy/snapshot/snapshots.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSqlite } from '../../catalogue/snapshots.ts';
import { generate, makeFolder, type TestKey, writeKeys } from '../../support/product.ts';

/** A catalogue whose every platform, game and cover names it, so that no body is in another one. */
export function markedCatalogue(games: number, mark: string): Catalogue {
  const catalogue = seededCatalogue({ games, seed: 3 });
  const marked = (rows: Iterable<Row>, position: number) =>
    [...rows].map((row) => row.map((value, column) => (column === position ? mark : value)));
  return {
    ...catalogue,
    platforms: [...catalogue.platforms].map(([id, slug, name]) => [id, slug, `${name} ${mark}`]),
    games: marked(catalogue.games, 5),
    covers: marked(catalogue.covers, 2),
  };
}

/** A snapshots folder with a generation of each mark, and a key. @returns the ids in that order */
export async function makeGenerations(
  games: number,
  marks: readonly string[],
  key: TestKey,
): Promise<{ dir: string; ids: string[] }> {
  const dir = path.join(makeFolder(), 'snapshots');
  for (const mark of marks) await generate(await makeSqlite(markedCatalogue(games, mark)), dir);
  writeKeys(dir, [key]);
  return { dir, ids: readdirSync(path.join(dir, GENERATIONS)).sort() };
}

/** Publishes a generation again, as the generator's last step does. */
export function pointTo(dir: string, id: string): void {
  const next = path.join(dir, 'next');
  symlinkSync(path.join(GENERATIONS, id), next);
  renameSync(next, path.join(dir, CURRENT));
}

/** A word of the catalogue that a generation holds, or why it is not there. */
export function askByName(snapshots: Snapshots, id: string): Promise<string> {
  return new Promise((resolve) => {
    snapshots.pinned(id, (found) => {
      const text = typeof found === 'string' ? found : found.game(0).bytes.toString();
      resolve(/"description":"(\w+)"/.exec(text)?.[1] ?? text);
    });
  });
}
