/**
 * The stages of a run up to its files, in one consistent snapshot of the database: read and check rows, make one
 * catalogue of these and of what is kept of the earlier run, order and number it, write it. A full run is one in
 * which nothing is kept.
 */

import type { Database } from '../lib/database/database.ts';
import type { Optional } from '../lib/database/schema.ts';
import { sharedZeros } from '../lib/format/index/arrays.ts';
import { textOfId } from '../lib/format/index/ids.ts';
import type { ManifestFile } from '../lib/format/manifest.ts';
import type { Progress } from '../lib/program/progress.ts';
import { both, type Jobs, startJobs } from './jobs.ts';
import { numberRecords } from './order/numbering.ts';
import {
  checkIds,
  checkTitles,
  type OptionalRows,
  readOptionalTables,
} from './read/optional-tables.ts';
import {
  readCovers,
  readFiles,
  readGames,
  readPlatforms,
  type Source,
} from './read/read-catalogue.ts';
import { type Conditions, makeReadTable } from './read/read-table.ts';
import { type DatedCover, findFutureApprovals, isInFuture } from './report/warnings.ts';
import type { RowsOfRun } from './reuse/earlier-run.ts';
import { readLastCommits } from './reuse/find-changes.ts';
import { beginReuse, type Reuse, type ReuseOptions } from './reuse/reuse.ts';
import type { Covers } from './rows/catalogue.ts';
import { idOf } from './rows/ids.ts';
import { makeIsPublished } from './rows/names.ts';
import { Output } from './write/file-writer.ts';
import { type CoverSource, makePositions } from './write/packs.ts';
import { type Written, writeLists } from './write/write-generation.ts';

export interface ReadOptions extends Optional, ReuseOptions {
  /** To read only a part of the catalogue; by default, all of it. */
  readonly conditions?: Conditions | undefined;
  readonly progress: Progress;
}

export interface ReadResult {
  /** Undefined if nothing has changed since the earlier run. */
  readonly written: Written | undefined;
  /** What the next run needs; undefined if it must read all rows, or if that is there already. */
  readonly rows: RowsOfRun | undefined;
}

/** With fewer games, a thread takes longer to start than it saves. */
const FEWEST_FOR_THREAD = 20_000;

/** @throws PathTaken if another block must be read, too; any other Error if not all rows were read */
export async function readAndWrite(database: Database, options: ReadOptions): Promise<ReadResult> {
  const commits = await readLastCommits(database);
  return database.snapshot(async (reader) => {
    const { report, progress, optionalTables } = options;
    const readTable = makeReadTable(
      reader,
      report,
      (table, rows, share) => progress.advance(`reading ${table}`, rows, share),
      options.conditions,
    );
    const platforms = await readPlatforms(readTable);
    const optional = await readOptionalTables(readTable, optionalTables);
    const reuse = await beginReuse(reader, options, { platforms, optional, commits });
    if (reuse.isUnread()) {
      report.addWarnings(findFutureApprovals(options.earlier?.future ?? [], Date.now() / 1000));
      return { written: undefined, rows: undefined };
    }
    const filesUrl = options.settings.files_url;
    const source = { reader, readTable, report, platforms, filesUrl, scope: reuse.scope };
    return readRows(source, optional, reuse, options).finally(reuse.close);
  });
}

async function readRows(
  source: Source,
  optional: OptionalRows,
  reuse: Reuse,
  { settings, dir, report, progress }: ReadOptions,
): Promise<ReadResult> {
  const { platforms } = source.platforms;
  const output = new Output(dir);
  const jobs = startJobs(dir, output, (reuse.allGames ?? 0) >= FEWEST_FOR_THREAD);
  try {
    const gameRows = await readGames(source);
    const games = reuse.addGames(gameRows);
    const { stored } = reuse;
    const order = await jobs.start('orderGames', async () => [platforms, games, stored]);
    const coverRows = await readCovers(source, gameRows);
    const covers = reuse.addCovers(coverRows, games);
    const isPublished = makeIsPublished(games);
    const titles = checkTitles(optional, report, isPublished);
    const externalIds = checkIds(optional, report, source.platforms, isPublished);
    const prepared = await jobs.prepare(async () => {
      const numbering = numberRecords(platforms, games, covers, await order());
      const catalogue = { settings, platforms, games, covers, stored };
      return { ...catalogue, numbering, titles, externalIds, positions: makePositions(numbering) };
    });
    const gameFiles = await jobs.start('writeGames', async () => [await prepared()]);
    const files = await readFiles(source, gameRows, coverRows);
    reuse.addFiles(files);
    const now = Date.now() / 1000;
    const future = approvedAfter(covers, now);
    report.addWarnings(findFutureApprovals(future, now));
    if (reuse.isUnchanged()) {
      const fingerprints = await reuse.readFingerprints();
      return { written: undefined, rows: reuse.leave(fingerprints, future, undefined) };
    }
    progress.step('writing packs');
    // The server computes the fingerprints while this program writes.
    const [fingerprints, written] = await both(
      reuse.readFingerprints(),
      prepared().then((ready) => write(jobs, output, { ...ready, files }, gameFiles)),
    );
    return { written, rows: reuse.leave(fingerprints, future, await prepared()) };
  } finally {
    // Publishing reads all files again: without the other thread's memory, it needs 40 MB less.
    await jobs.end();
  }
}

/** Writes what needs all rows. @returns what was written; all files are on disk */
async function write(
  jobs: Jobs,
  output: Output,
  source: CoverSource,
  gameFiles: () => Promise<ManifestFile[]>,
): Promise<Written> {
  const packs = await jobs.share('writeCoverPacks', source, sharedZeros(Int32Array, 1));
  const written = await writeLists(output, source, [...packs.flat(), ...(await gameFiles())]);
  await jobs.share('allSynced');
  return written;
}

function approvedAfter({ byId, approvedAt, ids }: Covers, now: number): DatedCover[] {
  const found: DatedCover[] = [];
  for (const cover of byId)
    if (isInFuture(approvedAt[cover], now))
      found.push([approvedAt[cover], textOfId(idOf(ids, cover))]);
  return found;
}
