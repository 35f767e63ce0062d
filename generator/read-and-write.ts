/**
 * The stages of a run up to its files, in one consistent snapshot of the database: find the blocks that have
 * changed, read and check their rows, write the files. A full run is one in which every block has changed.
 */
import { createHash } from 'node:crypto';
import type { Database, Reader, SnapshotReader } from '../database/database.ts';
import { type Optional, TIMED_TABLES } from '../database/schema.ts';
import { type Id, textOfId } from '../format/index/ids.ts';
import { findGame } from '../format/index/record-index.ts';
import type { Settings } from '../format/manifest.ts';
import type { Progress } from '../program/progress.ts';
import { type EarlierGeneration, openEarlier } from './changes/earlier-generation.ts';
import type { EarlierRun, RowsOfRun } from './changes/earlier-run.ts';
import { type ChangedBlocks, findChanges, hashUnsettled } from './changes/find-changes.ts';
import {
  type AllFingerprints,
  chooseShift,
  type Fingerprints,
  GROUPS,
  type Group,
  type LastCommits,
  readFingerprints,
  readLastCommits,
  rowsIn,
  type Shifts,
  timeOf,
} from './changes/fingerprints.ts';
import { type Games, LEFT_OUT } from './read/catalogue.ts';
import { findId, readId } from './read/ids.ts';
import {
  batches,
  checkTitles,
  isKeptBlock,
  type Part,
  type Platforms,
  readCatalogue,
  readPlatforms,
  readTitleRows,
  type TitleRow,
} from './read/read-catalogue.ts';
import { type Conditions, makeReadTable, type ReadTable } from './read/read-table.ts';
import type { Report } from './report/report.ts';
import { findFutureApprovals } from './report/warnings.ts';
import type { RunWorker } from './write/jobs.ts';
import { findRecent, isKeptCover, type RecentCovers } from './write/lists.ts';
import { makeGenerationWriter, type Written } from './write/write-generation.ts';

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
    const { report, progress, earlier, conditions } = options;
    const readTable = makeReadTable(
      reader,
      report,
      (table, rows, share) => progress.advance(`reading ${table}`, rows, share),
      conditions,
    );
    const platforms = await readPlatforms(readTable);
    const titleRows = options.hasGameTitles ? await readTitleRows(readTable) : undefined;
    const now = await readTime(reader);
    const input: Input = {
      reader,
      readTable,
      platforms,
      titleRows,
      titles: hashOf(titleRows),
      commits,
      now,
    };
    if (earlier === undefined) return readAll(input, options);
    if (earlier.platforms !== platforms.asText) throw new Error('the platforms have changed');
    const changes = await findChanges(reader, earlier, await readLastCommits(reader), now);
    if (changes.blocks === undefined) throw new Error('too many rows have changed');
    const { games, files } = changes.blocks;
    if (games.size + files.size === 0 && input.titles === earlier.titles) {
      reportUnchanged(earlier, report);
      return { written: undefined, rows: undefined };
    }
    return readBlocks(input, options, earlier, changes.blocks, changes.fingerprints);
  });
}

interface Input {
  readonly reader: SnapshotReader;
  readonly readTable: ReadTable;
  readonly platforms: Platforms;
  /** Undefined if the database has no alternative titles. */
  readonly titleRows: readonly TitleRow[] | undefined;
  /** The hash of these rows. */
  readonly titles: string;
  /** The last ones before the snapshot began. */
  readonly commits: LastCommits;
  /** The time of the database, in seconds since 1970. */
  readonly now: number;
}

async function readTime(reader: Reader): Promise<number> {
  const [[time = null] = []] = await reader.rows('SELECT CURRENT_TIMESTAMP');
  return timeOf(time);
}

function hashOf(rows: readonly TitleRow[] | undefined): string {
  const sha256 = createHash('sha256');
  for (const row of rows ?? []) sha256.update(JSON.stringify(row));
  return sha256.digest('hex');
}

/** The report of a run that has nothing to write is that of the earlier run, with the warnings of today. */
function reportUnchanged(earlier: EarlierRun, report: Report): void {
  for (const [block, findings] of earlier.findings) report.keep(block, findings);
  setRows(report, earlier.fingerprints);
  report.addWarnings(earlier.warnings);
  report.addWarnings(findFutureApprovals(earlier.recent.covers, Date.now() / 1000));
}

/** From the fingerprints, which tell how many rows each table has. */
function setRows(report: Report, fingerprints: AllFingerprints): void {
  for (const table of TIMED_TABLES) {
    const rows = Object.values(fingerprints[table]).reduce((sum, text) => sum + rowsIn(text), 0);
    report.setRows(table, rows);
  }
}

async function readAll(input: Input, options: ReadOptions): Promise<ReadResult> {
  const { reader, readTable, platforms, now } = input;
  const { report, settings, isTimed } = options;
  const { shifts, games: count } = await chooseShifts(reader);
  const worker = count < FEWEST_FOR_WORKER ? undefined : options.startWorker();
  const writer = makeGenerationWriter({
    ...options,
    platforms: platforms.platforms,
    earlier: undefined,
    worker,
  });
  const catalogue = await readCatalogue(
    reader,
    readTable,
    report,
    shifts,
    platforms,
    settings,
    undefined,
    {
      gamesRead: writer.gamesRead,
      coversRead(games, covers) {
        const isPublished = publishedIn(games, () => undefined);
        const titles = input.titleRows && checkTitles(input.titleRows, report, isPublished);
        return writer.coversRead(games, covers, { of: titles ?? new Map(), areSame: false });
      },
    },
  );
  options.progress.step('writing packs');
  const time = Date.now() / 1000;
  const recent = findRecent(catalogue.covers, time);
  // The server computes the fingerprints while this program writes.
  const [written, fingerprints] = await Promise.all([
    writer.finish(catalogue, recent.covers),
    isTimed ? readAllFingerprints(reader, shifts, now) : undefined,
  ]);
  report.addWarnings(written.warnings);
  report.addWarnings(findFutureApprovals(recent.covers, time));
  const findings = report.blocks();
  if (fingerprints === undefined || findings === undefined) return { written, rows: undefined };
  const rows = await rowsFor(input, shifts, fingerprints, recent, findings, written);
  return { written, rows };
}

async function readBlocks(
  input: Input,
  options: ReadOptions,
  earlier: EarlierRun,
  blocks: ChangedBlocks,
  fingerprints: AllFingerprints,
): Promise<ReadResult> {
  const { reader, readTable, platforms } = input;
  const { report, settings } = options;
  const { shifts } = earlier;
  const generation = openEarlier(
    earlier.dir,
    earlier.manifest,
    (block) => blocks.games.has(block),
    shifts.game,
  );
  try {
    for (const [block, findings] of earlier.findings)
      if (isKeptBlock(block, blocks)) report.keep(block, findings);
    const writer = makeGenerationWriter({
      ...options,
      platforms: platforms.platforms,
      earlier: generation,
      worker: undefined,
    });
    const part: Part = {
      blocks,
      fingerprints,
      keptWithPath(platform, slug) {
        const game = findGame(generation.index, platform, slug);
        if (game === undefined || generation.isKept[game] === 0) return undefined;
        const { high, low } = generation.ids();
        return [high[game], low[game]];
      },
    };
    const catalogue = await readCatalogue(
      reader,
      readTable,
      report,
      shifts,
      platforms,
      settings,
      part,
      {
        gamesRead: writer.gamesRead,
        async coversRead(games, covers) {
          const isPublished = await publishedAmong(
            reader,
            games,
            generation,
            input.titleRows ?? [],
          );
          const titles = input.titleRows && checkTitles(input.titleRows, report, isPublished);
          await writer.coversRead(games, covers, {
            of: titles ?? new Map(),
            areSame: input.titles === earlier.titles,
          });
        },
      },
    );
    setRows(report, fingerprints);
    const kept = earlier.recent.covers.filter(([, id]) => isKeptCover(generation, id));
    const time = Date.now() / 1000;
    const recent = findRecent(catalogue.covers, time, { covers: kept, end: earlier.recent.end });
    const findings = report.blocks();
    if (findings === undefined) throw new Error('the fault of a row depends on all rows');
    options.progress.step('writing packs');
    const written = await writer.finish(catalogue, recent.covers);
    report.addWarnings(written.warnings);
    report.addWarnings(findFutureApprovals(recent.covers, time));
    return { written, rows: await rowsFor(input, shifts, fingerprints, recent, findings, written) };
  } finally {
    generation.close();
  }
}

/** What the next run needs to know of this one. */
async function rowsFor(
  { reader, commits, platforms, titles }: Input,
  shifts: Shifts,
  fingerprints: AllFingerprints,
  recent: RecentCovers,
  findings: RowsOfRun['findings'],
  { warnings }: Written,
): Promise<RowsOfRun> {
  const unsettled = await hashUnsettled(reader, fingerprints, shifts);
  return {
    shifts,
    fingerprints,
    unsettled,
    commits,
    platforms: platforms.asText,
    titles,
    recent,
    findings,
    warnings,
  };
}

/** The shifts of the blocks of this run and the next ones, and how many games there are. */
async function chooseShifts(reader: Reader) {
  const read = async (table: string) => {
    const [[rows = 0, last = null] = []] = await reader.rows(
      `SELECT COUNT(*), MAX(id) FROM ${table}`,
    );
    return { rows: Number(rows), shift: chooseShift(Number(rows), readId(last) ?? [0, 0]) };
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

/** @returns a function that tells whether a game is published; undefined if it does not exist */
function publishedIn(games: Games, ofOthers: (id: Id) => boolean | undefined) {
  let last = 0;
  return (id: Id): boolean | undefined => {
    const row = findId(games.ids, games.rows, id, last);
    if (row < 0) return ofOthers(id);
    last = row;
    return games.platform[row] !== LEFT_OUT;
  };
}

const IDS_PER_QUERY = 1_000;

/** As {@link publishedIn}, if only a part of the games was read. A game that was left out earlier is in no index. */
async function publishedAmong(
  reader: Reader,
  games: Games,
  { keptGame }: EarlierGeneration,
  titleRows: readonly TitleRow[],
) {
  const isPublished = publishedIn(games, (id) => keptGame(id) !== undefined || undefined);
  const unknown = new Set<string>();
  for (const [game] of titleRows) {
    const id = readId(game);
    if (id !== undefined && isPublished(id) === undefined) unknown.add(textOfId(id));
  }
  const leftOut = new Set<string>();
  for (const ids of batches([...unknown], IDS_PER_QUERY)) {
    const found = await reader.rows(`SELECT id FROM games WHERE id IN (${ids.join(',')})`);
    for (const [id] of found) leftOut.add(String(id));
  }
  return publishedIn(games, (id) => {
    if (keptGame(id) !== undefined) return true;
    return leftOut.has(textOfId(id)) ? false : undefined;
  });
}
