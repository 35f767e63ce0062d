/**
 * Reads all tables in one consistent snapshot of the database, or what has changed in them since an
 * earlier run. At the same time, the worker orders the titles and writes the games and the search index.
 */
import path from 'node:path';
import type { SnapshotReader } from '../../database/database.ts';
import type { TimedTable } from '../../database/schema.ts';
import type { Id } from '../../format/index/ids.ts';
import { sharedZeros } from '../../format/index/shared-zeros.ts';
import type { ManifestFile, Settings } from '../../format/manifest.ts';
import type { Progress } from '../../program/progress.ts';
import { LEFT_OUT } from '../columns/catalogue.ts';
import type { Ids } from '../columns/ids.ts';
import { makeSpillFile, type SpillFile } from '../columns/spill-file.ts';
import { storedColumnsIn } from '../columns/stored-column.ts';
import { numberRecords } from '../order/numbering.ts';
import { findChanges, hashTitles } from '../read/find-changes.ts';
import {
  keepOrReadCovers,
  keepOrReadFiles,
  keepOrReadGames,
  type SinceEarlierRun,
} from '../read/keep-or-read.ts';
import { readCovers } from '../read/read-covers.ts';
import { COVERS_PER_BUCKET, type Files, readFiles } from '../read/read-files.ts';
import { noGameTitles, readGameTitles } from '../read/read-game-titles.ts';
import { readGames } from '../read/read-games.ts';
import { readPlatforms } from '../read/read-platforms.ts';
import { type Conditions, makeReadTable } from '../read/read-table.ts';
import type { Report } from '../report/report.ts';
import type { LastCommits } from '../reuse/commits.ts';
import type { EarlierRun } from '../reuse/earlier-run.ts';
import { type ForNextRun, findSameTables, prepareNextRun } from '../reuse/next-run.ts';
import { idOfRow } from '../reuse/plan-read.ts';
import { type RelatedGames, type ReusedGames, relateGames } from '../reuse/reuse.ts';
import { type ChangeTracking, rowOfCached } from '../reuse/row-tracks.ts';
import { freeMemory } from '../worker/free-memory.ts';
import { both } from '../worker/worker.ts';
import type { RunWorker } from './jobs.ts';
import type { CoverSource } from './write-covers.ts';
import type { EarlierSearch } from './write-search.ts';

export interface WriteOptions {
  /** Whether the database has the table `game_titles`. */
  readonly hasGameTitles: boolean;
  /** Whether every table shows when its rows were changed. */
  readonly isTimed: boolean;
  /** Undefined if all rows are to be read. */
  readonly earlier: EarlierRun | undefined;
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

/** The rows that a run has read. */
export interface ReadRows extends Pick<CoverSource, 'games' | 'covers'> {
  readonly files: Files;
  /** Undefined if the next run must read all rows. */
  readonly forNextRun: ForNextRun | undefined;
}

export interface Catalogue extends CoverSource, ReadRows {}

/** Spill files and jobs of the worker, which must be ended even if the run fails. */
export interface Pending {
  makeSpill(name: string, buckets: number, isTagged: boolean): SpillFile;
  /** Adds a job that writes files while the main thread still reads. */
  addJob(job: Promise<ManifestFile[]>): void;
  /** @returns the files that the jobs have written @throws the error of a job that failed */
  written(): Promise<ManifestFile[]>;
  end(): Promise<void>;
}

/** @param workDir the folder for spill files */
export function makePending(workDir: string): Pending {
  const spills: SpillFile[] = [];
  const jobs: Promise<ManifestFile[]>[] = [];
  return {
    makeSpill(name, buckets, isTagged) {
      const spill = makeSpillFile(path.join(workDir, name), buckets, isTagged);
      spills.push(spill);
      return spill;
    },
    addJob(job) {
      jobs.push(job);
      // The job is awaited later. A rejection before that must not count as unhandled.
      job.catch(() => {});
    },
    written: async () => (await Promise.all(jobs)).flat(),
    async end() {
      // The worker may still be reading a spill file, so it must end first.
      await Promise.allSettled(jobs);
      for (const spill of spills) spill.discard();
    },
  };
}

/**
 * @param commits the last ones before the snapshot began
 * @returns undefined if the earlier run has written the same generation
 */
export async function readCatalogue(
  reader: SnapshotReader,
  commits: LastCommits,
  options: WriteOptions,
  pending: Pending,
): Promise<Catalogue | undefined> {
  const { hasGameTitles, isTimed, earlier, settings, report, worker, workDir, dir } = options;
  const storeColumn = storedColumnsIn(workDir);
  const tracking = isTimed
    ? await findChanges(reader, earlier, hasGameTitles, storeColumn)
    : undefined;
  if (tracking === 'nothing new') return undefined;
  // Comparing times has left garbage that V8 would free late.
  if (earlier !== undefined) freeMemory();
  const sinceEarlier = tracking && earlier && relateTo(earlier, tracking, options);
  const readTable = makeReadTable(
    reader,
    report,
    (table, rows, share) => options.progress.advance(`reading ${table}`, rows, share),
    options.conditions,
    tracking,
  );
  const { platforms, numberOf, known, asText } = await readPlatforms(readTable);
  if (earlier !== undefined && earlier.platformsText !== asText) {
    throw new Error('the platforms have changed');
  }

  const heads = pending.makeSpill('game-heads', platforms.length, false);
  const games = await keepOrReadGames(sinceEarlier, (cached) =>
    readGames(readTable, numberOf, known, heads, cached),
  );
  const related =
    sinceEarlier &&
    relateGames(
      games,
      sinceEarlier.earlier.rows().games,
      sinceEarlier.earlier.records(),
      sinceEarlier.relations.games(),
    );
  const sorted = related && rowsInOrder(related);
  freeMemory();
  const [rowOfRank, covers] = await both(
    worker.run('orderGames', platforms, games, sorted),
    keepOrReadCovers(sinceEarlier, games, (cached) => readCovers(readTable, report, games, cached)),
  );
  if (earlier !== undefined) {
    // Frees the cached rows, so that numbering does not add to the peak.
    earlier.forgetRows();
    freeMemory();
  }
  const haveSameNumbers =
    sorted?.length === rowOfRank.length && rowOfRank.length === related?.earlier.rowOfRank.length;
  const reusedGames = related && { ...related, haveSameNumbers };
  const numbering = numberRecords(platforms, games, covers, rowOfRank);
  const { rowOfCover, numberOfCover } = numbering;
  const gameSource = { platforms, games, heads: heads.finish(), numbering, settings };
  pending.addJob(worker.run('writeGames', dir, { ...gameSource, reused: reusedGames }));
  const alternatives = hasGameTitles
    ? await readGameTitles(readTable, report, games)
    : noGameTitles();
  const alternativeTitlesHash = isTimed ? hashTitles(games, alternatives) : '';
  const earlierSearch =
    sinceEarlier && reuseSearch(sinceEarlier, reusedGames, alternativeTitlesHash);
  pending.addJob(
    worker.run(
      'writeSearch',
      dir,
      platforms,
      games,
      alternatives,
      covers,
      numbering,
      earlierSearch,
    ),
  );

  freeMemory();
  const buckets = Math.ceil(rowOfCover.length / COVERS_PER_BUCKET);
  const spill = pending.makeSpill('cover-files', buckets, true);
  const { files, mustRead } = await keepOrReadFiles(
    sinceEarlier,
    reader,
    covers,
    numberOfCover,
    (cached) => readFiles(readTable, covers, numberOfCover, settings, spill, storeColumn, cached),
  );
  const forNextRun =
    tracking &&
    (await prepareNextRun(reader, tracking, {
      games: { rows: games.rows, lastId: lastId(games) },
      covers: { rows: covers.rows, lastId: lastId(covers) },
      cover_files: files,
    }));
  earlier?.forgetRows();
  earlier?.forgetFiles();
  return {
    platforms,
    games,
    covers,
    numbering,
    files,
    reused: sinceEarlier && reuseCovers(sinceEarlier, reusedGames, mustRead),
    fileSpill: spill.finish(),
    forNextRun: forNextRun && {
      ...forNextRun,
      commits,
      platformsText: asText,
      alternativeTitlesHash,
    },
  };
}

/** @param alternativeTitlesHash that of this run */
function reuseSearch(
  { earlier, tracking }: SinceEarlierRun,
  games: ReusedGames | undefined,
  alternativeTitlesHash: string,
): EarlierSearch | undefined {
  if (games === undefined || earlier.alternativeTitlesHash !== alternativeTitlesHash)
    return undefined;
  return { games, haveSameFilters: games.haveSameYearsAndGenres && hasSame(tracking, 'covers') };
}

function reuseCovers(
  { tracking, relations }: SinceEarlierRun,
  games: ReusedGames | undefined,
  mustRead: Uint8Array | undefined,
): CoverSource['reused'] {
  if (games === undefined || mustRead === undefined) return undefined;
  const areSame =
    games.haveSameNumbers && hasSame(tracking, 'covers') && hasSame(tracking, 'cover_files');
  return { games, covers: { areSame, relation: relations.covers(), mustRead } };
}

function lastId({ ids, rows }: { readonly ids: Ids; readonly rows: number }): Id {
  return rows === 0 ? [0, 0] : idOfRow(ids, rows - 1);
}

function hasSame({ tracks }: ChangeTracking, table: TimedTable): boolean {
  return findSameTables(tracks).has(table);
}

function relateTo(
  earlier: EarlierRun,
  tracking: ChangeTracking,
  { report, progress }: WriteOptions,
): SinceEarlierRun | undefined {
  const { plans, tracks } = tracking;
  const [games, covers] = [tracks.games.relation, tracks.covers.relation];
  if (plans === undefined || games === undefined || covers === undefined) return undefined;
  return {
    earlier,
    tracking,
    plans,
    relations: { games, covers },
    keep(table, rows) {
      tracks[table].keepAll();
      report.setRows(table, rows);
      progress.advance(`reading ${table}`, rows, 1);
    },
  };
}

/** The rows of the games whose order is known from the earlier run. */
function rowsInOrder({ earlier, relation, hasSamePathAndTitle }: RelatedGames): Uint32Array {
  const rows = sharedZeros(Uint32Array, earlier.rowOfRank.length);
  let count = 0;
  for (const cachedRow of earlier.rowOfRank) {
    const row = rowOfCached(relation, cachedRow);
    if (row !== LEFT_OUT && hasSamePathAndTitle[row] === 1) rows[count++] = row;
  }
  return rows.subarray(0, count);
}
