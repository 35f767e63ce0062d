/** Makes the SQLite file and the generation of the sample catalogue that all tests of a run share. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runGenerator } from '#cli/generate.ts';
import { fillDatabase } from '#demo/catalogue/load.ts';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { runCommand } from '#demo/programs.ts';

export async function makeSample() {
  const folder = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-sample-'));
  const databaseFile = path.join(folder, 'catalogue.db');
  const snapshotsDir = path.join(folder, 'snapshots');
  const url = `sqlite:${databaseFile}`;
  await fillDatabase(url, sampleCatalogue());
  await runCommand(runGenerator, [], { ...SITE, DATABASE_URL: url, SNAPSHOTS_DIR: snapshotsDir });
  return {
    databaseFile,
    snapshotsDir,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The variables that generations of the tests are made with. */
export const SITE = {
  SITE_URL: 'https://covers.example',
  FILES_URL: 'https://files.covers.example',
  PUBLIC_URL: 'https://api.covers.example',
} as const;
