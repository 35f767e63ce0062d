/** Makes snapshots folders from a catalogue with SQLite and the real generator. */
import { cpSync } from 'node:fs';
import path from 'node:path';
import { openDatabase } from '../../database/open.ts';
import { generate, makeFolder, type TestKey, writeKeys } from '../support/product.ts';
import type { Catalogue } from './catalogue.ts';
import { loadCatalogue } from './load.ts';
import { sampleCatalogue } from './sample.ts';

/** Loads a catalogue into a new SQLite database. @returns its DATABASE_URL */
export async function makeSqlite(catalogue: Catalogue): Promise<string> {
  const url = `sqlite:${path.join(makeFolder(), 'catalogue.db')}`;
  const database = await openDatabase(url, { create: true });
  try {
    await loadCatalogue(database, catalogue);
  } finally {
    await database.close();
  }
  return url;
}

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

let sample: Promise<string> | undefined;

/** @returns a new snapshots folder with one generation of the sample catalogue and, if any, keys */
export async function makeSampleSnapshots(keys: readonly TestKey[] = []): Promise<string> {
  // The generator runs once for each test file, and its tests get copies.
  sample ??= makeSnapshots(sampleCatalogue());
  const snapshotsDir = path.join(makeFolder(), 'snapshots');
  cpSync(await sample, snapshotsDir, { recursive: true, verbatimSymlinks: true });
  if (keys.length > 0) writeKeys(snapshotsDir, keys);
  return snapshotsDir;
}
