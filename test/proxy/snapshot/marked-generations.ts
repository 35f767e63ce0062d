/**
 * Generations of one catalogue in which every record contains the mark of its generation, so that a
 * response from the wrong generation is detected.
 */
import { cpSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { Catalogue } from '#demo/catalogue/load.ts';
import type { Row } from '#lib/database/database.ts';
import { GENERATIONS } from '#lib/format/layout.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { generate, type TestKey, writeKeys } from '#test/support/product.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

/** A catalogue with a mark in every platform, game and cover, so that all its bodies differ from others. */
function markedCatalogue(games: number, mark: string): Catalogue {
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

const made = new Map<string, Promise<string>>();

/** Makes a snapshots folder with a generation for each mark, and a key. @returns the ids in that order */
export async function makeGenerations(
  games: number,
  marks: readonly string[],
  key: TestKey,
): Promise<{ dir: string; ids: string[] }> {
  // The generator makes them once for each test file, and its tests get copies.
  const name = [games, ...marks].join();
  const original = made.get(name) ?? generateMarked(games, marks);
  made.set(name, original);
  atEndOfFile(() => made.delete(name));
  const dir = newSnapshots();
  cpSync(await original, dir, { recursive: true, verbatimSymlinks: true });
  writeKeys(dir, [key]);
  return { dir, ids: readdirSync(path.join(dir, GENERATIONS)).sort() };
}

async function generateMarked(games: number, marks: readonly string[]): Promise<string> {
  const dir = newSnapshots();
  for (const mark of marks) await generate(await makeSqlite(markedCatalogue(games, mark)), dir);
  return dir;
}
