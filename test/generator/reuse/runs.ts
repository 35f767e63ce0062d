/** Runs of the generator in this process, on a catalogue whose tables have `updated_at`. */
import { cpSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { loadCatalogue } from '#demo/catalogue/load.ts';
import { makeRandom } from '#demo/catalogue/random.ts';
import { generate, type RunOptions } from '#generator/generate.ts';
import type { Database, SnapshotReader } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { idAt, textOfId } from '#lib/format/index/ids.ts';
import { openRecordIndex } from '#lib/format/index/record-index.ts';
import { contentHash } from '#lib/format/manifest.ts';
import { generationDir, readManifest } from '#lib/generations/generations.ts';
import type { Progress } from '#lib/program/progress.ts';
import { type SeededOptions, seededCatalogue } from '#test/catalogue/seeded.ts';
import { type Kind, makeDatabase } from '#test/support/databases.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { newSnapshots, reportOf } from '#test/support/wholeness.ts';
import { addIndexes, addTimes, dropUniqueIndexes, makeChanges } from './random-changes.ts';

export const SETTINGS = {
  site_url: 'https://covers.example',
  site_language: 'en',
  files_url: 'https://files.covers.example',
};

export const quiet: Progress = { advance() {}, step() {}, warn() {}, end() {} };

export async function run(
  database: Database,
  snapshotsDir: string,
  changes: Partial<RunOptions> = {},
  progress: Progress = quiet,
) {
  const keep = { generations: 5, days: 0 };
  const options = {
    isFull: false,
    isDryRun: false,
    isForced: true,
    warnings: [],
    keep,
    ...changes,
  };
  return generate(database, { snapshotsDir, settings: SETTINGS, ...options }, progress);
}

/** Runs once. @returns the outcome, and the steps of the run that it names */
export async function runSteps(database: Database, snapshotsDir: string) {
  const steps: string[] = [];
  const progress = { ...quiet, step: (text: string) => steps.push(text) };
  const { outcome } = await run(database, snapshotsDir, {}, progress);
  return [outcome, steps] as const;
}

export async function makeTimed(kind: Kind, games: number) {
  const database = await openDatabase(await makeDatabase(kind));
  atEndOfFile(() => database.close());
  await loadTimed(database, games);
  return database;
}

/** @returns such a database, and a snapshots folder with a generation of it */
export async function makeTimedSite(kind: Kind, games: number) {
  const [database, dir] = [await makeTimed(kind, games), newSnapshots()];
  await run(database, dir);
  return { database, dir };
}

export async function loadTimed(
  database: Database,
  games: number,
  changes: Partial<SeededOptions> = {},
): Promise<void> {
  const catalogue = seededCatalogue({ games, seed: 11, ...changes });
  await loadCatalogue(database, { ...catalogue, gameTitles: [] });
  await addTimes(database);
  await dropUniqueIndexes(database);
}

/** What must be the same after runs of both kinds. */
function contentOf(snapshotsDir: string, id: string | undefined) {
  const manifest = readManifest(generationDir(snapshotsDir, String(id)));
  const { finished_at: _, outcome: __, ...rows } = reportOf(snapshotsDir);
  const files = manifest.files.map(({ changed_at: _, ...file }) => file);
  return { hash: contentHash(manifest), files, rows };
}

/**
 * Runs once, and compares the result with that of a run that reads all rows, in a copy of the folder.
 * @param mayReadAll whether the run may read all rows, too; otherwise, it must read only what has changed
 * @param isRecent whether it is a run of recent changes
 * @returns the outcome of the run
 */
export async function expectEqualsFull(
  database: Database,
  dir: string,
  message?: string,
  mayReadAll = false,
  isRecent = false,
) {
  const fullDir = newSnapshots();
  if (existsSync(dir)) cpSync(dir, fullDir, { recursive: true, verbatimSymlinks: true });
  const changed = await run(database, dir, { isRecent });
  const full = await run(database, fullDir, { isFull: true });
  // A path that several games have is resolved by reading all of them.
  if (!mayReadAll)
    expect(changed.readAllBecause ?? ' has the path of ', message).toContain(' has the path of ');
  expect(contentOf(dir, changed.id), message).toEqual(contentOf(fullDir, full.id));
  return changed.outcome;
}

/**
 * Changes a catalogue at random, in so many batches, and after each one compares a run that reads only what
 * has changed with one that reads all rows.
 * @param alter statements that change the tables first; then, runs may read all rows
 * @returns how many runs found something to publish
 */
export async function compareRuns(
  kind: Kind,
  options: { seed: number; batches: number; games: number; alter?: readonly string[] },
): Promise<number> {
  const { seed, batches, games, alter = [] } = options;
  const database = await makeTimed(kind, games);
  for (const sql of alter) await database.run(sql);
  const dir = newSnapshots();
  const { change, describeAgain } = makeChanges(makeRandom(seed));
  const makeBatch: readonly (() => Promise<unknown>)[] = [
    () => database.transaction(change),
    // A transaction that commits after a run that could not see its changes.
    () =>
      database.transaction(async (writer) => {
        await change(writer);
        await run(database, dir);
      }),
    // The same row within one second, before and after runs.
    async () => {
      const describe = await describeAgain(database);
      for (let i = 0; i < 3; i++) {
        await describe(i);
        await run(database, dir);
      }
      await database.transaction(change);
      await describe(3);
    },
  ];
  let published = 0;
  expect((await run(database, dir)).readAllBecause).toBe('there is no generation yet');
  for (let batch = 1; batch <= batches; batch++) {
    await makeBatch[batch % makeBatch.length]();
    const isRenamed = batch % 10 === 0;
    if (isRenamed)
      await database.run(
        'UPDATE platforms SET name = ? WHERE id = (SELECT id FROM (SELECT MIN(id) AS id FROM platforms) AS p)',
        [`Renamed ${batch}`],
      );
    const mayReadAll = isRenamed || alter.length > 0;
    const outcome = await expectEqualsFull(database, dir, `batch ${batch}`, mayReadAll);
    if (batch % 4 === 0) {
      const [again, steps] = await runSteps(database, dir);
      expect(again).toBe('unchanged');
      if (alter.length === 0) expect(steps).not.toContain('writing packs');
      await expectEqualsFull(database, dir, `after batch ${batch}`, mayReadAll);
    }
    if (outcome === 'published') published++;
  }
  return published;
}

/** The ids of the covers of the current generation. */
export function publicCovers(snapshotsDir: string): string[] {
  const read = (name: string) => readFileSync(path.join(snapshotsDir, 'current', name));
  const { covers } = openRecordIndex(read);
  return Array.from(covers.idLow, (_, position) => textOfId(idAt(covers, position)));
}

/** A database that counts how often the fingerprints of all games are read. */
export function countingWhole(database: Database) {
  const counting = {
    whole: 0,
    ...database,
    snapshot: <T>(read: (reader: SnapshotReader) => Promise<T>) =>
      database.snapshot(({ rows, ...others }) =>
        read({
          ...others,
          rows(sql, parameters) {
            if (sql.endsWith('FROM games GROUP BY 1')) counting.whole++;
            return rows(sql, parameters);
          },
        }),
      ),
  };
  return counting;
}

/**
 * Changes a catalogue at random, with times that lie. After each batch, a public cover is rejected, and a run of the
 * recent changes must take it down; after some, a run of all blocks must publish what a full run would.
 * @returns how many runs of the recent changes needed no other fingerprints
 */
export async function compareRecentRuns(
  kind: Kind,
  { seed, batches, games }: { seed: number; batches: number; games: number },
): Promise<number> {
  const database = countingWhole(await makeTimed(kind, games));
  await addIndexes(database);
  const [dir, random] = [newSnapshots(), makeRandom(seed)];
  const { change } = makeChanges(random, true);
  await run(database, dir);
  let alone = 0;
  for (let batch = 1; batch <= batches; batch++) {
    await database.transaction(async (writer) => {
      await change(writer);
      // A transaction that commits after a run that could not see its changes.
      if (batch % 3 === 0) await run(database, dir, { isRecent: true });
    });
    const cover = random.pick(publicCovers(dir));
    await database.run(
      "UPDATE covers SET status = 'rejected', updated_at = CURRENT_TIMESTAMP WHERE id = ?",
      [cover],
    );
    database.whole = 0;
    await run(database, dir, { isRecent: true });
    if (database.whole === 0) alone++;
    expect(publicCovers(dir), `batch ${batch}`).not.toContain(cover);
    if (batch % 2 === 0) await expectEqualsFull(database, dir, `batch ${batch}`, true);
  }
  await expectEqualsFull(database, dir, 'at the end', true);
  return alone;
}
