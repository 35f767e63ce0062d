/** Makes snapshots folders from a catalogue with SQLite and the real generator. */
import { copyFileSync, cpSync } from 'node:fs';
import path from 'node:path';
import { type Catalogue, fillDatabase } from '#demo/catalogue/load.ts';
import { change, type Kind, makeDatabase } from '#test/support/databases.ts';
import { generate, makeFolder, type TestKey, writeKeys } from '#test/support/product.ts';
import { shared } from '#test/support/shared.ts';

/**
 * Loads a catalogue into a new database.
 * @param statements that are run on it afterwards @returns its DATABASE_URL
 */
export async function makeLoaded(kind: Kind, catalogue: Catalogue, ...statements: string[]) {
  const url = await makeDatabase(kind);
  await fillDatabase(url, catalogue);
  await change(url, ...statements);
  return url;
}

export const makeSqlite = (catalogue: Catalogue, ...statements: string[]) =>
  makeLoaded('sqlite', catalogue, ...statements);

/** @returns a new snapshots folder with one generation of the catalogue and, if there are any, keys */
export async function makeSnapshots(
  catalogue: Catalogue,
  keys: readonly TestKey[] = [],
): Promise<string> {
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  await generate(await makeSqlite(catalogue), snapshotsDir);
  if (keys.length > 0) writeKeys(snapshotsDir, keys);
  return snapshotsDir;
}

/** A new copy of the SQLite database of the sample catalogue. @returns its DATABASE_URL */
export async function makeSampleSqlite(): Promise<string> {
  const file = path.join(makeFolder(), 'catalogue.db');
  copyFileSync((await shared('sample')).databaseFile, file);
  return `sqlite:${file}`;
}

/** @returns a new snapshots folder with one generation of the sample catalogue and, if any, keys */
export async function makeSampleSnapshots(keys: readonly TestKey[] = []): Promise<string> {
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  const { snapshotsDir: original } = await shared('sample');
  cpSync(original, snapshotsDir, { recursive: true, verbatimSymlinks: true });
  if (keys.length > 0) writeKeys(snapshotsDir, keys);
  return snapshotsDir;
}
