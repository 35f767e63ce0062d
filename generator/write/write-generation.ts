/**
 * Reads the catalogue from one consistent snapshot of the database, and writes every file of a
 * generation except its manifest.
 *
 * Two threads share the work. While the main thread reads covers, the worker puts the titles in order.
 * While the main thread reads alternative titles and files, the worker writes the games and the search
 * index. Then both threads write packs of covers, which need all tables.
 */
import path from 'node:path';
import type { Database, Reader } from '../../database/database.ts';
import { MINISEARCH_OPTIONS_HASH } from '../../format/index/minisearch-hash.ts';
import { REPORT, STATS } from '../../format/layout.ts';
import {
  COLLATION_VERSIONS,
  type ManifestContent,
  type ManifestFile,
  type Settings,
} from '../../format/manifest.ts';
import type { Progress } from '../../program/progress.ts';
import { makeSpillFile, type SpillFile } from '../columns/spill-file.ts';
import { numberRecords } from '../order/numbering.ts';
import {
  COVERS_PER_BUCKET,
  readCovers,
  readFiles,
  readGames,
  readPlatforms,
} from '../read/read-catalogue.ts';
import { noGameTitles, readGameTitles } from '../read/read-game-titles.ts';
import { type Conditions, makeReadTable } from '../read/read-table.ts';
import { findFutureApprovals, findGenreWarnings } from '../read/warnings.ts';
import { encodeReport, type Report } from '../report/report.ts';
import { makeSharedQueue } from '../worker/shared-queue.ts';
import { both } from '../worker/worker.ts';
import { allSynced, writeWhole } from './file-writer.ts';
import type { RunWorker } from './jobs.ts';
import { makeRecordColumns } from './packs.ts';
import { gatherStatistics } from './stats.ts';
import { type CoverSource, writeCoverIndex, writeCoverPacks } from './write-covers.ts';
import { writePlatforms, writeRecentCovers } from './write-lists.ts';

export interface WriteOptions {
  /** Whether the database has the table `game_titles`. */
  readonly hasGameTitles: boolean;
  readonly settings: Settings;
  readonly progress: Progress;
  readonly report: Report;
  readonly worker: RunWorker;
  /** The folder for spill files. */
  readonly workDir: string;
  /** The folder of the generation. */
  readonly dir: string;
  /** To write only a part of the catalogue; by default, all of it. */
  readonly conditions?: Conditions;
}

interface Catalogue extends CoverSource {
  readonly fileCount: number;
}

/** Spill files and jobs, which must be ended even if the run fails. */
interface Pending {
  readonly spills: SpillFile[];
  /** The files that the worker writes while the main thread still reads. */
  readonly written: Promise<ManifestFile[]>[];
}

/** @returns the content of the manifest, once every file is on disk */
export async function writeGeneration(
  database: Database,
  options: WriteOptions,
): Promise<ManifestContent> {
  const { settings, progress, report, worker, dir } = options;
  const pending: Pending = { spills: [], written: [] };
  try {
    const catalogue = await database.snapshot((reader) => readAll(reader, options, pending));
    const { platforms, games, covers, numbering, fileCount } = catalogue;
    report.addWarnings(findGenreWarnings(games));
    progress.step('writing packs');
    const statistics = gatherStatistics(platforms, covers, numbering, fileCount);
    const files = [
      ...(await writeCovers(catalogue, options)),
      ...(await writePlatforms(dir, platforms, numbering, settings)),
      await writeWhole(dir, STATS, [statistics.body]),
      await writeWhole(dir, REPORT, [encodeReport(report.content())]),
      ...(await Promise.all(pending.written)).flat(),
    ];
    // Added after the report of the generation is written. These warnings depend on the day, and the same
    // rows must always give the same generation.
    report.addWarnings(findFutureApprovals(covers, Date.now() / 1000));
    await both(worker.run('allSynced'), allSynced());
    return {
      latest_cover_at: statistics.latestCoverAt,
      counts: { ...statistics.counts, left_out: report.total() },
      settings,
      minisearch_options: MINISEARCH_OPTIONS_HASH,
      ...COLLATION_VERSIONS,
      files,
    };
  } finally {
    // The worker may still be reading a spill file, so it must end first.
    await Promise.allSettled(pending.written);
    for (const spill of pending.spills) spill.discard();
  }
}

/** Reads all tables. At the same time, the worker orders the titles and writes the games and the search index. */
async function readAll(
  reader: Reader,
  { hasGameTitles, settings, progress, report, worker, workDir, dir, conditions }: WriteOptions,
  pending: Pending,
): Promise<Catalogue> {
  const spillTo = (name: string, buckets: number, isTagged: boolean) => {
    const spill = makeSpillFile(path.join(workDir, name), buckets, isTagged);
    pending.spills.push(spill);
    return spill;
  };
  const readTable = makeReadTable(
    reader,
    report,
    (table, rows, share) => progress.advance(`reading ${table}`, rows, share),
    conditions,
  );
  const { platforms, numberOf, known } = await readPlatforms(readTable);
  const heads = spillTo('game-heads', platforms.length, false);
  const games = await readGames(readTable, numberOf, known, heads);
  const [rowOfRank, covers] = await both(
    worker.run('orderGames', platforms, games),
    readCovers(readTable, report, games),
  );
  const numbering = numberRecords(platforms, games, covers, rowOfRank);
  const keep = (written: Promise<ManifestFile[]>) => {
    pending.written.push(written);
    // The promise is awaited later. A rejection before that must not count as unhandled.
    written.catch(() => {});
  };
  keep(worker.run('writeGames', dir, platforms, games, heads.finish(), numbering, settings));
  const alternativeTitles = hasGameTitles
    ? await readGameTitles(readTable, report, games)
    : noGameTitles();
  keep(worker.run('writeSearch', dir, platforms, games, alternativeTitles, covers, numbering));
  const { rowOfCover, numberOfCover } = numbering;
  const files = spillTo('cover-files', Math.ceil(rowOfCover.length / COVERS_PER_BUCKET), true);
  const fileCount = await readFiles(readTable, covers, numberOfCover, settings, files);
  const fileSpill = files.finish();
  return { platforms, games, covers, numbering, fileCount, fileSpill };
}

/** Writes the covers on both threads, then their index and the list of recent ones. */
async function writeCovers(
  { platforms, games, covers, numbering, fileSpill }: Catalogue,
  { worker, dir }: WriteOptions,
): Promise<ManifestFile[]> {
  const source: CoverSource = { platforms, games, covers, numbering, fileSpill };
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
