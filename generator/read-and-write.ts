/**
 * The stages of a run up to its files, in one consistent snapshot of the database: find the blocks that have
 * changed, read and check their rows, write the files. A full run is one in which every block has changed.
 */
import { createHash } from 'node:crypto';
import type { Database, Reader, Row, SnapshotReader } from '../lib/database/database.ts';
import { type Optional, TIMED_TABLES } from '../lib/database/schema.ts';
import type { Id } from '../lib/format/index/ids.ts';
import type { ManifestFile, Settings } from '../lib/format/manifest.ts';
import type { Progress } from '../lib/program/progress.ts';
import { findId, type Games, LEFT_OUT, readId } from './read/catalogue.ts';
import {
  checkIds,
  checkTitles,
  type OptionalRows,
  readOptionalTables,
} from './read/optional-tables.ts';
import {
  isKeptBlock,
  type Platforms,
  readCovers,
  readFiles,
  readGames,
  readPlatforms,
} from './read/read-catalogue.ts';
import { type Conditions, makeReadTable, type ReadTable } from './read/read-table.ts';
import type { Report } from './report/report.ts';
import { findFutureApprovals } from './report/warnings.ts';
import { type EarlierGeneration, openEarlier } from './reuse/earlier-generation.ts';
import type { EarlierRun, RowsOfRun } from './reuse/earlier-run.ts';
import {
  type AllFingerprints,
  type Changes,
  chooseShift,
  type Fingerprints,
  findChanges,
  GROUPS,
  type Group,
  readFingerprints,
  readLastCommits,
  rowsIn,
  type Shifts,
  timeOf,
} from './reuse/find-changes.ts';
import { keepUnchanged } from './reuse/keep-unchanged.ts';
import type { RunWorker } from './worker.ts';
import { findRecent, isKeptCover, type RecentCovers } from './write/lists.ts';
import { both, makeGenerationWriter, type Written } from './write/write-generation.ts';

export interface ReadOptions extends Optional {
  readonly settings: Settings;
  /** To read only a part of the catalogue; by default, all of it. */
  readonly conditions?: Conditions | undefined;
  /** Whether the next run can find out what has changed since this one. */
  readonly isTimed: boolean;
  /** Undefined if all rows are read. */
  readonly earlier: EarlierRun | undefined;
  readonly report: Report;
  readonly progress: Progress;
  /** The folder of the generation. */
  readonly dir: string;
  /** Reads a file of the earlier generation. @throws Error if it is damaged */
  readFile(dir: string, file: ManifestFile): Buffer;
  /** Starts the thread that shares the work of a large run. */
  startWorker(): RunWorker;
}

export interface ReadResult {
  /** Undefined if nothing has changed since the earlier run. */
  readonly written: Written | undefined;
  /** What the next run needs; undefined if it must read all rows. */
  readonly rows: RowsOfRun | undefined;
}

/** With fewer games, a thread takes longer to start than it saves. */
const FEWEST_FOR_WORKER = 20_000;

/** @throws PathTaken if another block must be read, too; any other Error if not all rows were read */
export async function readAndWrite(database: Database, options: ReadOptions): Promise<ReadResult> {
  const commits = await readLastCommits(database);
  return database.snapshot(async (reader) => {
    const { report, progress, earlier, optionalTables } = options;
    const readTable = makeReadTable(
      reader,
      report,
      (table, rows, share) => progress.advance(`reading ${table}`, rows, share),
      options.conditions,
    );
    const platforms = await readPlatforms(readTable);
    const optional = await readOptionalTables(readTable, optionalTables);
    const titles = hashOf(optional.game_titles);
    const externalIds = hashOf(optional.game_ids, optional.platform_ids);
    const areSame = {
      titles: titles === earlier?.titles,
      externalIds: externalIds === earlier?.externalIds,
    };
    const now = await readTime(reader);
    const changes = earlier && (await findChanges(reader, earlier, platforms.asText, now));
    if (earlier !== undefined && changes !== undefined) {
      setRows(report, changes.fingerprints);
      const hasNoRows = changes.games.size + changes.files.size === 0;
      if (hasNoRows && areSame.titles && areSame.externalIds) {
        reportUnchanged(earlier, report);
        return { written: undefined, rows: undefined };
      }
    }
    const input = { reader, readTable, platforms, optional, areSame, changes, now };
    const { written, ...read } = await readAndWriteRows(input, options);
    const { fingerprints } = read;
    const findings = report.blocks();
    if (fingerprints === undefined || findings === undefined) return { written, rows: undefined };
    const ofTables = { platforms: platforms.asText, titles, externalIds, findings, commits };
    return { written, rows: { ...read, ...ofTables, fingerprints } };
  });
}

interface Input {
  readonly reader: SnapshotReader;
  readonly readTable: ReadTable;
  readonly platforms: Platforms;
  readonly optional: OptionalRows;
  /** Whether the rows of the optional tables are those of the earlier run. */
  readonly areSame: { readonly titles: boolean; readonly externalIds: boolean };
  /** Undefined if all rows are read. */
  readonly changes: Changes | undefined;
  /** The time of the database, in seconds since 1970. */
  readonly now: number;
}

async function readAndWriteRows(
  { reader, readTable, platforms, optional, areSame, changes, now }: Input,
  options: ReadOptions,
) {
  const { report, settings, earlier, isTimed } = options;
  const { shifts, games: count } = earlier ? { ...earlier, games: 0 } : await chooseShifts(reader);
  const generation =
    earlier &&
    changes &&
    openEarlier(earlier, (block) => changes.games.has(block), options.readFile);
  try {
    for (const [block, findings] of earlier?.findings ?? [])
      if (changes && isKeptBlock(block, changes)) report.keep(block, findings);
    const isLarge = generation === undefined && count >= FEWEST_FOR_WORKER;
    const writer = makeGenerationWriter(
      { dir: options.dir, settings, platforms: platforms.platforms, earlier: generation },
      isLarge ? options.startWorker() : undefined,
    );
    const part = changes && generation && { ...changes, keptWithPath: generation.keptWithPath };
    const source = { reader, readTable, report, shifts, platforms, settings, part };
    const games = await readGames(source);
    if (generation === undefined) writer.gamesRead(games);
    const covers = await readCovers(source, games);
    const isPublished = makeIsPublished(games, generation);
    const titles = { of: checkTitles(optional, report, isPublished), areSame: areSame.titles };
    const ids = {
      ...checkIds(optional, report, platforms, isPublished),
      areSame: areSame.externalIds,
    };
    if (generation === undefined) await writer.coversRead(games, covers, titles, ids);
    const files = await readFiles(source, games, covers);
    const time = Date.now() / 1000;
    if (generation !== undefined) {
      if (report.blocks() === undefined) throw new Error('the fault of a row depends on all rows');
      keepUnchanged(generation, { platforms: platforms.platforms, games, covers, files, settings });
    }
    const recent = findRecent(covers, time, generation && keptRecent(generation, earlier));
    const future = findFutureApprovals(recent.covers, time);
    const isSame = titles.areSame && ids.areSame;
    if (earlier && changes && generation && isSame && isAllKept(generation, games, report)) {
      report.addWarnings(future);
      return { written: undefined, shifts, fingerprints: changes.fingerprints, recent };
    }
    options.progress.step('writing packs');
    if (generation !== undefined) {
      writer.gamesRead(games);
      await writer.coversRead(games, covers, titles, ids);
    }
    // The server computes the fingerprints while this program writes.
    const [fingerprints = changes?.fingerprints, written] = await both(
      changes === undefined && isTimed ? readAllFingerprints(reader, shifts, now) : undefined,
      writer.finish(files, recent.covers),
    );
    report.addWarnings(future);
    return { written, shifts, fingerprints, recent };
  } finally {
    generation?.close();
  }
}

/** Whether a full run would write the same generation, if the optional tables are the same. */
function isAllKept({ isKept, manifest }: EarlierGeneration, games: Games, report: Report): boolean {
  const isSame = report.total() === manifest.counts.left_out;
  return isSame && !isKept.includes(0) && games.platform.every((number) => number === LEFT_OUT);
}

async function readTime(reader: Reader): Promise<number> {
  const [[time = null] = []] = await reader.rows('SELECT CURRENT_TIMESTAMP');
  return timeOf(time);
}

function hashOf(...tables: readonly (readonly Row[] | undefined)[]): string {
  const sha256 = createHash('sha256');
  for (const rows of tables) {
    sha256.update('\n');
    for (const row of rows ?? []) sha256.update(JSON.stringify(row));
  }
  return sha256.digest('hex');
}

/** The report of a run that has nothing to write is that of the earlier run, with the warnings of today. */
function reportUnchanged(earlier: EarlierRun, report: Report): void {
  for (const [block, findings] of earlier.findings) report.keep(block, findings);
  report.addWarnings(findFutureApprovals(earlier.recent.covers, Date.now() / 1000));
}

/** From the fingerprints, which tell how many rows each table has. */
function setRows(report: Report, fingerprints: AllFingerprints): void {
  for (const table of TIMED_TABLES) {
    const rows = Object.values(fingerprints[table]).reduce((sum, text) => sum + rowsIn(text), 0);
    report.setRows(table, rows);
  }
}

/** The shifts of the blocks of this run and the next ones, and how many games there are. */
async function chooseShifts(reader: Reader) {
  const read = async (table: string) => {
    const [[count = 0] = []] = await reader.rows(`SELECT COUNT(*) FROM ${table}`);
    const rows = Number(count);
    const idAt = async (share: number): Promise<Id> => {
      const [[id = null] = []] = await reader.rows(
        `SELECT id FROM ${table} ORDER BY id LIMIT 1 OFFSET ${Math.floor(rows * share)}`,
      );
      return readId(id) ?? [0, 0];
    };
    return { rows, shift: chooseShift(rows, await idAt(0.25), await idAt(0.75)) };
  };
  const [games, covers] = [await read('games'), await read('covers')];
  return { shifts: { game: games.shift, cover: covers.shift }, games: games.rows };
}

async function readAllFingerprints(
  reader: Reader,
  shifts: Shifts,
  now: number,
): Promise<AllFingerprints> {
  const found: Partial<Record<Group, Fingerprints>> = {};
  for (const group of GROUPS) found[group] = await readFingerprints(reader, group, shifts, now);
  return found as AllFingerprints;
}

/** @returns a function that tells whether a game is published. @param generation has those that were not read */
function makeIsPublished(games: Games, generation: EarlierGeneration | undefined) {
  let last = 0;
  return (id: Id): boolean => {
    const row = findId(games.ids, games.rows, id, last);
    if (row < 0) return generation?.keptGame(id) !== undefined;
    last = row;
    return games.platform[row] !== LEFT_OUT;
  };
}

/** The recent covers of the earlier run that are still published as they were. */
function keptRecent(generation: EarlierGeneration, earlier: EarlierRun | undefined): RecentCovers {
  const { covers = [], end } = earlier?.recent ?? {};
  return { covers: covers.filter(([, id]) => isKeptCover(generation, id)), end };
}
