/**
 * Reads the catalogue from one consistent snapshot of the database, and writes every file of a
 * generation except its manifest.
 *
 * Two threads share the work. While the main thread reads covers, the worker puts the titles in order.
 * While the main thread reads alternative titles and files, the worker writes the games and the search
 * index. Then both threads write packs of covers, which need all tables.
 */
import type { Database } from '../../database/database.ts';
import { MINISEARCH_OPTIONS_HASH } from '../../format/index/minisearch-hash.ts';
import { COVER_INDEX, COVERS_RECENT, coversPack, STATS } from '../../format/layout.ts';
import {
  COLLATION_VERSIONS,
  type ManifestContent,
  type ManifestFile,
} from '../../format/manifest.ts';
import type { Platform } from '../columns/catalogue.ts';
import { findFutureApprovals, findGenreWarnings } from '../read/warnings.ts';
import type { ReportContent } from '../report/report.ts';
import { readLastCommits } from '../reuse/commits.ts';
import type { EarlierRecords } from '../reuse/earlier-records.ts';
import { freeMemory } from '../worker/free-memory.ts';
import { makeSharedQueue } from '../worker/shared-queue.ts';
import { both } from '../worker/worker.ts';
import { allSynced, writeWhole } from './file-writer.ts';
import { linkAll } from './link-pack.ts';
import { makeRecordColumns } from './packs.ts';
import {
  type Catalogue,
  makePending,
  type ReadRows,
  readCatalogue,
  type WriteOptions,
} from './read-catalogue.ts';
import { gatherStatistics } from './stats.ts';
import { writeCoverIndex } from './write-cover-index.ts';
import { type CoverSource, writeCoverPacks } from './write-covers.ts';
import { writePlatforms, writeRecentCovers } from './write-lists.ts';

/** What a run has written, and what the next run can use of it. */
export interface Written {
  readonly content: ManifestContent;
  readonly rows: ReadRows;
  /** What the run reports about the rows, without warnings that depend on the day. */
  readonly report: ReportContent;
}

/**
 * Once the promise resolves, every file is on disk.
 * @returns undefined if the earlier run has written the same generation
 */
export async function writeGeneration(
  database: Database,
  options: WriteOptions,
): Promise<Written | undefined> {
  const { settings, progress, report, worker, workDir, dir } = options;
  const pending = makePending(workDir);
  try {
    const commits = await readLastCommits(database);
    const catalogue = await database.snapshot((reader) =>
      readCatalogue(reader, commits, options, pending),
    );
    if (catalogue === undefined) return undefined;
    freeMemory();
    const { platforms, games, covers, numbering, files: coverFiles, forNextRun } = catalogue;
    report.addWarnings(findGenreWarnings(games));
    progress.step('writing packs');
    const statistics = gatherStatistics(platforms, covers, numbering, coverFiles.published);
    const files = [
      ...(await writeCovers(catalogue, options)),
      ...(await writePlatforms(dir, platforms, numbering, settings)),
      await writeWhole(dir, STATS, [statistics.body]),
      ...(await pending.written()),
    ];
    // Before the warnings that depend on the day, which each run finds for itself.
    const ofRows = report.content();
    report.addWarnings(findFutureApprovals(covers, Date.now() / 1000));
    await both(worker.run('allSynced'), allSynced());
    const content = {
      latest_cover_at: statistics.latestCoverAt,
      counts: { ...statistics.counts, left_out: report.total() },
      settings,
      minisearch_options: MINISEARCH_OPTIONS_HASH,
      ...COLLATION_VERSIONS,
      files,
    };
    // Nothing else of the catalogue is needed any more.
    return { content, rows: { games, covers, files: coverFiles, forNextRun }, report: ofRows };
  } finally {
    await pending.end();
  }
}

function linkCovers(
  dir: string,
  platforms: readonly Platform[],
  earlier: EarlierRecords,
): ManifestFile[] | undefined {
  const names = [COVER_INDEX, COVERS_RECENT, ...platforms.map(({ slug }) => coversPack(slug))];
  return linkAll(earlier.dir, earlier.files, dir, names);
}

/** Writes the covers on both threads, then their index and the list of recent ones. */
async function writeCovers(
  { platforms, games, covers, numbering, fileSpill, reused }: Catalogue,
  { worker, dir }: WriteOptions,
): Promise<ManifestFile[]> {
  const linked = reused?.covers.areSame
    ? linkCovers(dir, platforms, reused.games.earlier)
    : undefined;
  if (linked !== undefined) return linked;
  const source: CoverSource = { platforms, games, covers, numbering, fileSpill, reused };
  const columns = makeRecordColumns(numbering.rowOfCover.length);
  const queue = makeSharedQueue(platforms.length);
  const packs = await both(
    worker.run('writeCoverPacks', dir, source, columns, queue, 'back'),
    writeCoverPacks(dir, source, columns, queue, 'front'),
  );
  return [
    ...packs.flat(),
    await writeCoverIndex(dir, covers, numbering, columns),
    await writeRecentCovers(dir, platforms, games, covers, numbering, columns),
  ];
}
