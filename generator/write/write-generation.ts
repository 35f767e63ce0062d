/**
 * Reads the catalogue in one consistent read and writes every file of a generation but its manifest.
 *
 * Two threads share the work. While the main one reads covers, the worker puts the titles in order;
 * while the main one reads files, the worker writes the games and the search index; the packs of
 * covers, which need everything, are halved between them.
 */
import path from 'node:path';
import type { Database } from '../../database/database.ts';
import { MINISEARCH_OPTIONS_HASH } from '../../format/index/words.ts';
import { REPORT, STATS } from '../../format/layout.ts';
import {
  COLLATION_VERSIONS,
  type ManifestContent,
  type ManifestFile,
  type Settings,
} from '../../format/manifest.ts';
import type { Progress } from '../cli/progress.ts';
import { makeSpool, type Spool } from '../columns/spill-file.ts';
import { numberRecords } from '../order/numbering.ts';
import {
  COVERS_PER_BUCKET,
  readCovers,
  readFiles,
  readGames,
  readPlatforms,
} from '../read/read-catalogue.ts';
import { makeReadTable } from '../read/read-table.ts';
import { encodeReport, type Report } from '../read/report.ts';
import { findFutureApprovals, findGenreWarnings } from '../read/warnings.ts';
import { makeSharedQueue } from '../worker/shared-queue.ts';
import { both } from '../worker/worker.ts';
import { allSynced, writeWhole } from './file-writer.ts';
import type { RunWorker } from './jobs.ts';
import { makeRecordColumns } from './packs.ts';
import { gatherStatistics } from './stats.ts';
import { type CoverSource, writeCoverIndex, writeCoverPacks } from './write-covers.ts';
import { writePlatforms, writeRecentCovers } from './write-lists.ts';

interface Catalogue extends CoverSource {
  readonly fileCount: number;
}

/**
 * @param workDir takes the spools, @param dir the files of the generation
 * @returns what the manifest will say; every file is on disk
 */
export async function writeGeneration(
  database: Database,
  settings: Settings,
  progress: Progress,
  report: Report,
  worker: RunWorker,
  workDir: string,
  dir: string,
): Promise<ManifestContent> {
  const spools: Spool[] = [];
  const openSpool = (name: string, buckets: number, isTagged: boolean) => {
    const spool = makeSpool(path.join(workDir, name), buckets, isTagged);
    spools.push(spool);
    return spool;
  };
  const files: ManifestFile[] = [];
  // What the worker writes while this thread still reads.
  const underWay: Promise<ManifestFile[]>[] = [];

  async function read(): Promise<Catalogue> {
    return database.snapshot(async (reader) => {
      const readTable = makeReadTable(reader, report, (table, rows, share) =>
        progress.advance(`reading ${table}`, rows, share),
      );
      const { platforms, numberOf, known } = await readPlatforms(readTable);
      const heads = openSpool('game-heads', platforms.length, false);
      const games = await readGames(readTable, numberOf, known, heads);
      const [placeOfRank, covers] = await both(
        worker.run('orderGames', platforms, games),
        readCovers(readTable, report, games),
      );
      const numbering = numberRecords(platforms, games, covers, placeOfRank);
      const buckets = Math.ceil(numbering.placeOfCover.length / COVERS_PER_BUCKET);
      const coverFiles = openSpool('cover-files', buckets, true);
      underWay.push(
        worker.run('writeGames', dir, platforms, games, heads.finish(), numbering, settings),
        worker.run('writeSearch', dir, platforms, games, covers, numbering),
      );
      // They are waited for later; a failure until then is no unhandled one.
      for (const promise of underWay) promise.catch(() => {});
      const fileCount = await readFiles(
        readTable,
        covers,
        numbering.numberOfCover,
        settings,
        coverFiles,
      );
      const fileSpool = coverFiles.finish();
      return { platforms, games, covers, numbering, fileCount, fileSpool };
    });
  }

  async function writeCovers(catalogue: Catalogue): Promise<void> {
    const { platforms, games, covers, numbering, fileSpool } = catalogue;
    const source: CoverSource = { platforms, games, covers, numbering, fileSpool };
    const columns = makeRecordColumns(numbering.placeOfCover.length);
    const queue = makeSharedQueue(platforms.length);
    const packs = await both(
      worker.run('writeCoverPacks', dir, source, columns, queue, 'back'),
      writeCoverPacks(dir, source, columns, queue, 'front'),
    );
    files.push(
      ...packs.flat(),
      await writeCoverIndex(dir, covers, numbering, columns),
      await writeRecentCovers(dir, platforms, games, covers, numbering, columns),
    );
  }

  try {
    const catalogue = await read();
    const { platforms, games, covers, numbering, fileCount } = catalogue;
    report.addWarnings(findGenreWarnings(games));
    progress.step('writing packs');
    await writeCovers(catalogue);
    const { counts, latestCoverAt, body } = gatherStatistics(
      platforms,
      covers,
      numbering,
      fileCount,
    );
    files.push(
      ...(await writePlatforms(dir, platforms, numbering, settings)),
      await writeWhole(dir, STATS, [body]),
      await writeWhole(dir, REPORT, [encodeReport(report.content())]),
    );
    // After the generation's report is written: the same rows must give the same bytes tomorrow.
    report.addWarnings(findFutureApprovals(covers, Date.now() / 1000));
    files.push(...(await Promise.all(underWay)).flat());
    await both(worker.run('allSynced'), allSynced());
    return {
      latest_cover_at: latestCoverAt,
      counts: { ...counts, left_out: report.total() },
      settings,
      minisearch_options: MINISEARCH_OPTIONS_HASH,
      ...COLLATION_VERSIONS,
      files,
    };
  } finally {
    // The worker may be reading a spool.
    await Promise.allSettled(underWay);
    for (const spool of spools) spool.discard();
  }
}
