/** Runs of the generator in this process, on a catalogue whose tables have `updated_at`. */
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { generate } from '../../../generator/generate.ts';
import type { RunOptions } from '../../../generator/run/run.ts';
import type { Progress } from '../../../program/progress.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { type Kind, makeDatabase } from '../../support/databases.ts';
import { addTimes } from './random-changes.ts';

export const quiet: Progress = { advance() {}, step() {}, warn() {}, end() {} };

export async function run(
  database: Database,
  snapshotsDir: string,
  changes: Partial<RunOptions> = {},
  progress: Progress = quiet,
) {
  const settings = {
    site_url: 'https://covers.example',
    site_language: 'en',
    files_url: 'https://files.covers.example',
  };
  const options = { isFull: false, isDryRun: false, isForced: true, warnings: [] };
  const result = await generate(
    database,
    { snapshotsDir, settings, ...options, ...changes },
    progress,
  );
  return result;
}

export async function makeTimed(kind: Kind, games = 150) {
  const database = await openDatabase(await makeDatabase(kind));
  await loadTimed(database, games);
  return database;
}

export async function loadTimed(database: Database, games: number): Promise<void> {
  await loadCatalogue(database, seededCatalogue({ games, seed: 11 }));
  await addTimes(database);
}
