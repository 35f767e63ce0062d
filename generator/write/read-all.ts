/**
 * Reads all tables in one consistent snapshot of the database, or what has changed in them since an
 * earlier run. At the same time, the worker orders the titles and writes the games and the search index.
 */
import path from 'node:path';
import type { Reader } from '../../database/database.ts';
import type { TimedTable } from '../../database/schema.ts';
import type { ManifestFile, Settings } from '../../format/manifest.ts';
import type { Progress } from '../../program/progress.ts';
import { type Games, LEFT_OUT } from '../columns/catalogue.ts';
import { makeSpillFile, type SpillFile } from '../columns/spill-file.ts';
import { numberRecords } from '../order/numbering.ts';
import { hashTitles, isNothingNew } from '../read/is-nothing-new.ts';
import { readCovers } from '../read/read-covers.ts';
import { COVERS_PER_BUCKET, type Files, findCoversToRead, readFiles } from '../read/read-files.ts';
import { noGameTitles, readGameTitles } from '../read/read-game-titles.ts';
import { readGames } from '../read/read-games.ts';
import { readPlatforms } from '../read/read-platforms.ts';
import { type Conditions, makeReadTable } from '../read/read-table.ts';
import type { Report, ReportContent } from '../report/report.ts';
import type { EarlierRun } from '../reuse/cached-rows.ts';
import { chooseShift, type Fingerprints, readFingerprints } from '../reuse/fingerprints.ts';
import { idOfRow, planRead, type ReadPlan } from '../reuse/plan-read.ts';
import { earlierNumber, type ReusedGames, relateGames } from '../reuse/reuse.ts';
import { rowTime } from '../reuse/row-times.ts';
import { makeTimed, type Timed } from '../reuse/row-tracks.ts';
import { both } from '../worker/worker.ts';
import type { RunWorker } from './jobs.ts';
import type { CoverSource } from './write-covers.ts';

export interface WriteOptions {
  /** Whether the database has the table `game_titles`. */
  readonly hasGameTitles: boolean;
  /** Whether every table shows when its rows were changed. */
  readonly isTimed: boolean;
  /** Undefined if all rows are to be read. */
  readonly earlier: EarlierRun | undefined;
  /** The report of the generation that it has written; undefined if that must be written again. */
  readonly reportBefore: ReportContent | undefined;
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

/** What the next run needs to find out what has changed. */
export interface ForNextRun {
  readonly times: Readonly<Record<TimedTable, Float64Array>>;
  readonly fingerprints: Readonly<Record<TimedTable, Fingerprints>>;
  /** The hashes of the rows that are always read again; see `EarlierRun.unsettled`. */
  readonly unsettled: Readonly<Partial<Record<TimedTable, string>>>;
  readonly platforms: string;
  readonly alternativeTitles: string;
}

export interface Catalogue extends CoverSource {
  readonly files: Files;
  /** Undefined if the next run must read all rows. */
  readonly forNextRun: ForNextRun | undefined;
}

/** Spill files and jobs, which must be ended even if the run fails. */
export interface Pending {
  readonly spills: SpillFile[];
  /** The files that the worker writes while the main thread still reads. */
  readonly written: Promise<ManifestFile[]>[];
}

/** @returns undefined if the earlier run has written the same generation */
export async function readAll(
  reader: Reader,
  options: WriteOptions,
  pending: Pending,
): Promise<Catalogue | undefined> {
  const { hasGameTitles, isTimed, earlier, settings, report, worker, workDir, dir } = options;
  const spillTo = (name: string, buckets: number, isTagged: boolean) => {
    const spill = makeSpillFile(path.join(workDir, name), buckets, isTagged);
    pending.spills.push(spill);
    return spill;
  };
  const keep = (written: Promise<ManifestFile[]>) => {
    pending.written.push(written);
    // The promise is awaited later. A rejection before that must not count as unhandled.
    written.catch(() => {});
  };
  const timed = isTimed ? await startTimed(reader, earlier) : undefined;
  const plans = timed?.plans;
  if (earlier && plans && options.reportBefore !== undefined) {
    const { reportBefore } = options;
    if (await isNothingNew(reader, plans, earlier, hasGameTitles, reportBefore)) return undefined;
  }
  const readTable = makeReadTable(
    reader,
    report,
    (table, rows, share) => options.progress.advance(`reading ${table}`, rows, share),
    options.conditions,
    timed,
  );
  const { platforms, numberOf, known, content } = await readPlatforms(readTable);
  if (earlier !== undefined && earlier.platforms !== content) {
    throw new Error('the platforms have changed');
  }

  const heads = spillTo('game-heads', platforms.length, false);
  const games = await readGames(readTable, numberOf, known, heads, earlier?.rows.games);
  const ofGames = timed?.tracks.games.relation;
  const reusedGames =
    earlier && ofGames && relateGames(games, earlier.rows.games, earlier.records, ofGames);
  const sorted = reusedGames && rowsInOrder(reusedGames);
  const [rowOfRank, covers] = await both(
    worker.run('orderGames', platforms, games, sorted),
    readCovers(
      readTable,
      report,
      games,
      earlier &&
        ofGames && {
          covers: earlier.rows.covers,
          games: earlier.rows.games,
          rowOfGame: ofGames.rowOfCached,
        },
    ),
  );
  const numbering = numberRecords(platforms, games, covers, rowOfRank);
  const { rowOfCover, numberOfCover } = numbering;
  const headContent = heads.finish();
  keep(
    worker.run('writeGames', dir, platforms, games, headContent, numbering, settings, reusedGames),
  );
  const alternatives = hasGameTitles
    ? await readGameTitles(readTable, report, games)
    : noGameTitles();
  const alternativeTitles = isTimed ? hashTitles(games, alternatives) : '';
  const areSameWords =
    earlier !== undefined &&
    sorted?.length === rowOfRank.length &&
    rowOfRank.length === earlier.records.rowOfRank.length &&
    earlier.alternativeTitles === alternativeTitles;
  const words = areSameWords ? earlier.records : undefined;
  const { dir: earlierDir = '', files: earlierFiles = [] } = words ?? {};
  keep(
    worker.run(
      ...(['writeSearch', dir, platforms, games, alternatives, covers, numbering] as const),
      words && { dir: earlierDir, files: earlierFiles },
    ),
  );

  const ofCovers = timed?.tracks.covers.relation;
  const cachedFiles = earlier &&
    plans &&
    ofCovers && {
      plan: plans.cover_files,
      cover: earlier.rows.coverOfFile,
      coverIds: earlier.rows.covers.ids,
      rowOfCover: ofCovers.rowOfCached,
    };
  const mustRead =
    cachedFiles &&
    (await findCoversToRead(
      reader,
      covers,
      numberOfCover,
      (row) => earlierNumber(earlier.records.covers.numberOf, ofCovers, row) === LEFT_OUT,
      cachedFiles,
    ));
  const spill = spillTo('cover-files', Math.ceil(rowOfCover.length / COVERS_PER_BUCKET), true);
  const files = await readFiles(
    readTable,
    covers,
    numberOfCover,
    settings,
    spill,
    mustRead && { ...cachedFiles, mustRead },
  );
  const reused = reusedGames &&
    mustRead && { games: reusedGames, covers: { relation: ofCovers, mustRead } };
  const forNextRun =
    timed && (await prepareNextRun(reader, timed, { games, covers, cover_files: files }));
  return {
    ...{ platforms, games, covers, numbering, files, reused },
    fileSpill: spill.finish(),
    forNextRun: forNextRun && { ...forNextRun, platforms: content, alternativeTitles },
  };
}

/** Finds out what has changed since an earlier run. */
async function startTimed(reader: Reader, earlier: EarlierRun | undefined): Promise<Timed> {
  const [[now = null] = []] = await reader.rows('SELECT CURRENT_TIMESTAMP');
  const plan = (table: TimedTable, { rows }: EarlierRun): Promise<ReadPlan> =>
    planRead(reader, table, rows.tables[table]);
  const plans = earlier && {
    games: await plan('games', earlier),
    covers: await plan('covers', earlier),
    cover_files: await plan('cover_files', earlier),
  };
  return makeTimed(rowTime(now), plans);
}

/** The rows of the games whose order is known from the earlier run. */
function rowsInOrder({ earlier, relation, isSamePath }: ReusedGames): Uint32Array {
  return earlier.rowOfRank
    .map((cachedRow) => relation.rowOfCached[cachedRow])
    .filter((row) => row !== LEFT_OUT && isSamePath[row] === 1);
}

type ReadTables = Readonly<
  Record<TimedTable, { readonly rows: number; readonly ids: Games['ids'] }>
>;

/** @returns undefined if a row has no usable id, so that the next run must read all rows */
async function prepareNextRun(
  reader: Reader,
  { plans, tracks }: Timed,
  tables: ReadTables,
): Promise<Pick<ForNextRun, 'times' | 'fingerprints' | 'unsettled'> | undefined> {
  const times = {
    games: tracks.games.times(),
    covers: tracks.covers.times(),
    cover_files: tracks.cover_files.times(),
  };
  const names = ['games', 'covers', 'cover_files'] as const;
  if (names.some((table) => times[table].length !== tables[table].rows)) return undefined;
  const fingerprint = (table: TimedTable): Promise<Fingerprints> | Fingerprints => {
    const { rows, ids } = tables[table];
    const last = rows === 0 ? ([0, 0] as const) : idOfRow(ids, rows - 1);
    return plans?.[table].fingerprints ?? readFingerprints(reader, table, chooseShift(rows, last));
  };
  const fingerprints = {
    games: await fingerprint('games'),
    covers: await fingerprint('covers'),
    cover_files: await fingerprint('cover_files'),
  };
  const unsettled = Object.fromEntries(
    names.map((table) => [table, tracks[table].hashOfUnsettled()]),
  );
  return { times, fingerprints, unsettled };
}
