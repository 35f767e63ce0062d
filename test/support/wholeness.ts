/**
 * Checks of a snapshots folder after a fault: the current generation verifies, the run reported the
 * fault, and no files are left behind.
 */

import { hash } from 'node:crypto';
import { lutimesSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { runGenerator as runGeneratorCommand } from '#cli/generate.ts';
import type { Catalogue } from '#demo/catalogue/load.ts';
import { checkFind } from '#find/check.ts';
import { MANIFEST, UNFINISHED_PREFIX } from '#lib/format/layout.ts';
import { contentHash, encodeManifest, makeManifest } from '#lib/format/manifest.ts';
import { currentId, generationDir, idsOnDisk, readManifest } from '#lib/generations/generations.ts';
import { withoutHistory } from '#lib/generations/history.ts';
import { everything, verifyAndOpen } from '#lib/generations/verify.ts';
import { plainCatalogue } from '#test/catalogue/plain.ts';
import { makeSqlite } from '#test/catalogue/snapshots.ts';
import { change } from './databases.ts';
import type { Texts } from './processes.ts';
import {
  type Finished,
  generate,
  generatorVariables,
  makeFolder,
  runCommand,
  startProgram,
} from './product.ts';

export const newSnapshots = () => path.join(makeFolder(), 'snapshots');

/** Starts the generator without waiting for it. */
export function startGenerator(
  databaseUrl: string,
  snapshotsDir: string,
  args: readonly string[] = [],
  environment: Texts = {},
  wrapper: readonly string[] = [],
) {
  const variables = { ...generatorVariables(databaseUrl, snapshotsDir), ...environment };
  return startProgram('generate', args, variables, wrapper);
}

/** Runs the generator in this process, also if it is to fail. */
export function runGenerator(
  databaseUrl: string,
  snapshotsDir: string,
  args: readonly string[] = [],
  environment: Texts = {},
): Promise<Finished> {
  const variables = { ...generatorVariables(databaseUrl, snapshotsDir), ...environment };
  return runCommand(runGeneratorCommand, args, variables);
}

const readJson = (...parts: string[]) => JSON.parse(readFileSync(path.join(...parts), 'utf8'));

export const statusOf = (snapshotsDir: string) => readJson(snapshotsDir, 'status.json');
/** The report of the last run. */
export const reportOf = (snapshotsDir: string) => readJson(snapshotsDir, 'report.json');
/** The content of a file of the current generation. */
export const published = (snapshotsDir: string, name: string) =>
  readJson(snapshotsDir, 'current', name);

/** What the current generation has of the catalogue, whatever was published before it. */
export const catalogueHash = (snapshotsDir: string) =>
  contentHash(withoutHistory(readManifest(path.join(snapshotsDir, 'current'))));

/** Makes the unfinished files of killed programs old enough to be removed. */
export function ageDeadWrites(snapshotsDir: string): void {
  for (const name of readdirSync(snapshotsDir))
    if (name.startsWith(UNFINISHED_PREFIX)) lutimesSync(path.join(snapshotsDir, name), 0, 0);
}

/** Fails if the folder holds an incomplete generation or other files that a run left behind. */
export function expectNoDebris(snapshotsDir: string): void {
  const expected = [
    'current',
    // Of tables with updated_at.
    'earlier-run',
    'generations',
    'keys.json',
    'lock',
    'lock.holder',
    'report.json',
    'reserve',
    'status.json',
    // Of replicas, and of what is pushed.
    'accepted-keys.json',
    'accepted-snapshot.json',
    'push',
    'replica.json',
  ];
  expect(readdirSync(snapshotsDir).filter((name) => !expected.includes(name))).toEqual([]);
  const generations = readdirSync(path.join(snapshotsDir, 'generations'));
  expect(generations.toSorted()).toEqual(idsOnDisk(snapshotsDir).toSorted());
}

/** Makes a manifest that fits the files of a generation, which a test has changed. @returns its new id */
export function fitManifest(snapshotsDir: string, id: string): string {
  const dir = generationDir(snapshotsDir, id);
  const before = readManifest(dir);
  const files = before.files.map(({ path: name }) => {
    const bytes = readFileSync(path.join(dir, name));
    return { path: name, size: bytes.length, sha256: hash('sha256', bytes) };
  });
  const manifest = makeManifest({ ...before, files }, before.sequence);
  writeFileSync(path.join(dir, MANIFEST), encodeManifest(manifest));
  renameSync(dir, generationDir(snapshotsDir, manifest.id));
  return manifest.id;
}

/** @returns the id of the current generation, which verifies */
export async function expectCurrentVerifies(snapshotsDir: string): Promise<string> {
  const id = currentId(snapshotsDir);
  if (id === undefined) throw new Error('There is no current generation.');
  expect(
    (await verifyAndOpen(generationDir(snapshotsDir, id), everything(checkFind))).manifest.id,
  ).toBe(id);
  return id;
}

/** @returns the last line that a run printed, its error message; fails if it printed a stack trace */
export function expectOneClearLine({ code, stdout, stderr }: Finished, expected = 1): string {
  expect([code, stdout], stderr).toEqual([expected, '']);
  expect(stderr).not.toMatch(/^\s+at |^Node\.js v|Unhandled|\n\n/m);
  return stderr.trimEnd().split('\n').at(-1) ?? '';
}

/** A database that can be changed, by default in one row, so that each run has something to publish. */
export async function makeChanging(catalogue: Catalogue = plainCatalogue(8)) {
  const url = await makeSqlite(catalogue);
  let changes = 0;
  const describe = () =>
    `UPDATE games SET description = 'Change ${++changes}' WHERE id = (SELECT MIN(id) FROM games)`;
  const database = {
    url,
    change: (sql = describe()) => change(url, sql),
    /** Changes the database and publishes. @returns the id of the generation */
    async publish(snapshotsDir: string, sql?: string): Promise<string> {
      await database.change(sql);
      await generate(url, snapshotsDir);
      return currentId(snapshotsDir) as string;
    },
  };
  return database;
}

/** Such a database, and a folder with one generation of it. */
export async function makePublished(catalogue?: Catalogue) {
  const database = await makeChanging(catalogue);
  const snapshotsDir = newSnapshots();
  await generate(database.url, snapshotsDir);
  return { database, snapshotsDir };
}
