/**
 * What a run takes from the earlier one. It says which rows to read, makes one catalogue of these and of what is
 * kept, and knows which of its records are stored. Without an earlier run, all rows are read, and nothing is
 * stored; the calls are the same.
 */
import { createHash } from 'node:crypto';
import type { Reader, Row, SnapshotReader } from '../../lib/database/database.ts';
import { TIMED_TABLES } from '../../lib/database/schema.ts';
import { compareIds, type Id, idAt } from '../../lib/format/index/ids.ts';
import { findGame } from '../../lib/format/index/record-index.ts';
import type { Settings } from '../../lib/format/manifest.ts';
import type { OptionalRows } from '../read/optional-tables.ts';
import type { Platforms, Scope } from '../read/read-catalogue.ts';
import type { Selection } from '../read/read-table.ts';
import type { Report } from '../report/report.ts';
import type { DatedCover } from '../report/warnings.ts';
import type { Catalogue, CoverRows, Covers, FileRows, GameRows, Games } from '../rows/catalogue.ts';
import { blockOf, chooseShifts, GROUPS, type Group, rangesOf, type Shifts } from './blocks.ts';
import { EarlierGeneration, type ReadFile } from './earlier-generation.ts';
import type { EarlierRun, RowsOfRun } from './earlier-run.ts';
import {
  type AllFingerprints,
  type Changes,
  type Fingerprints,
  findChanges,
  type LastCommits,
  readFingerprints,
  rowsIn,
  timeOf,
} from './find-changes.ts';
import { detailsOf, joinCovers, joinGames, NO_DETAILS, type Numbered } from './items.ts';
import { type AreSame, StoredItems } from './stored.ts';

/** Thrown if a game that was read takes the path of one that is not: that one must be read, too. */
export class PathTaken extends Error {
  readonly block: string;
  constructor(block: string) {
    super(`block ${block} has a game whose path is taken`);
    this.block = block;
  }
}

export interface ReuseOptions {
  readonly settings: Settings;
  /** Undefined if all rows are read. */
  readonly earlier: EarlierRun | undefined;
  /** Whether the next run can find out what has changed since this one. */
  readonly isTimed: boolean;
  readonly report: Report;
  /** The folder of the generation. */
  readonly dir: string;
  readonly readFile: ReadFile;
}

/** The rows of the tables that are read whole, and the last commits before the snapshot of the database. */
interface Read {
  readonly platforms: Platforms;
  readonly optional: OptionalRows;
  readonly commits: LastCommits;
}

/** @throws Error if all rows must be read */
export async function beginReuse(
  reader: SnapshotReader,
  options: ReuseOptions,
  { platforms, optional, commits }: Read,
): Promise<Reuse> {
  const { earlier, report } = options;
  const now = await readTime(reader);
  const known = {
    platforms: platforms.asText,
    titles: hashOf(optional.game_titles),
    externalIds: hashOf(optional.game_ids, optional.platform_ids),
    commits,
  };
  const state = { reader, options, platforms, now, known };
  if (earlier === undefined) {
    const { shifts, games } = await chooseShifts(reader);
    return new Reuse({ ...state, shifts, allGames: games, changes: undefined });
  }
  const changes = await findChanges(reader, earlier, platforms.asText, now);
  // The fingerprints tell how many rows each table has.
  for (const table of TIMED_TABLES) {
    const fingerprints = changes.fingerprints[table];
    report.setRows(table, sumOfRows(fingerprints, Object.keys(fingerprints)));
  }
  const reuse = new Reuse({ ...state, shifts: earlier.shifts, allGames: undefined, changes });
  for (const [block, findings] of earlier.findings)
    if (reuse.isUnread() || !isRead(block, changes)) report.keep(block, findings);
  return reuse;
}

interface State {
  readonly reader: Reader;
  readonly options: ReuseOptions;
  readonly platforms: Platforms;
  /** The time of the database, in seconds since 1970. */
  readonly now: number;
  readonly known: Pick<RowsOfRun, 'platforms' | 'titles' | 'externalIds' | 'commits'>;
  readonly shifts: Shifts;
  readonly allGames: number | undefined;
  /** Undefined if all rows are read. */
  readonly changes: Changes | undefined;
}

export class Reuse {
  readonly scope: Scope;
  /** Undefined until the games are read, and if nothing is stored. */
  stored: StoredItems | undefined;
  private readonly state: State;
  private readonly areSame: AreSame;
  private generation: EarlierGeneration | undefined;

  constructor(state: State) {
    const { changes, options, known } = state;
    const { earlier, readFile } = options;
    this.state = state;
    this.areSame = {
      titles: known.titles === earlier?.titles,
      externalIds: known.externalIds === earlier?.externalIds,
    };
    if (earlier !== undefined && changes !== undefined && !this.isUnread())
      this.generation = new EarlierGeneration(
        earlier,
        (block) => changes.games.has(block),
        readFile,
      );
    this.scope = makeScope(state, this.generation);
  }

  /** How many games there are, if all are read; otherwise undefined. */
  get allGames(): number | undefined {
    return this.state.allGames;
  }

  /** Whether nothing has changed that a run would read. */
  isUnread(): boolean {
    const { changes } = this.state;
    const isUnread = changes !== undefined && changes.games.size + changes.files.size === 0;
    return isUnread && this.areSame.titles && this.areSame.externalIds;
  }

  /** Makes items of games. It is called first. */
  addGames(rows: GameRows): Games {
    const { dir } = this.state.options;
    const games = joinGames(this.generation, rows);
    if (this.generation !== undefined)
      this.stored = new StoredItems(this.generation, dir, games, this.areSame);
    return games;
  }

  /** Makes items of the covers of these games. */
  addCovers(rows: CoverRows, games: Games): Covers {
    const { options, platforms } = this.state;
    const covers = joinCovers(this.generation, rows, games.firstRow);
    this.stored?.findGames(options.settings, platforms.platforms, covers);
    return covers;
  }

  /** @throws Error if all rows must be read */
  addFiles(files: FileRows): void {
    const { options, platforms } = this.state;
    if (this.stored === undefined) return;
    if (options.report.blocks() === undefined)
      throw new Error('the fault of a row depends on all rows');
    this.stored.findCovers(options.settings, platforms.platforms, files);
  }

  /** Whether the run would write the files of the earlier generation again. It is called last. */
  isUnchanged(): boolean {
    const { earlier, report } = this.state.options;
    return this.stored?.isSame() === true && report.total() === earlier?.manifest.counts.left_out;
  }

  /** The fingerprints of all blocks; undefined if the next run must read all rows. */
  async readFingerprints(): Promise<AllFingerprints | undefined> {
    const { changes, options, reader, shifts, now } = this.state;
    if (changes !== undefined || !options.isTimed) return changes?.fingerprints;
    const found: Partial<Record<Group, Fingerprints>> = {};
    for (const group of GROUPS) found[group] = await readFingerprints(reader, group, shifts, now);
    return found as AllFingerprints;
  }

  /**
   * What the run leaves; undefined if the next one must read all rows.
   * @param future the covers that were approved in the future
   * @param written undefined if the files of the earlier generation stay
   */
  leave(
    fingerprints: AllFingerprints | undefined,
    future: readonly DatedCover[],
    written: (Pick<Catalogue, 'games' | 'covers'> & { readonly numbering: Numbered }) | undefined,
  ): RowsOfRun | undefined {
    const { options, known, shifts } = this.state;
    const findings = options.report.blocks();
    if (fingerprints === undefined || findings === undefined) return undefined;
    const details = written === undefined ? options.earlier?.details : detailsOf(written);
    return details && { ...known, shifts, fingerprints, findings, future, details };
  }

  readonly close = (): void => this.generation?.close();
}

function makeScope(
  { shifts, changes, options }: State,
  generation: EarlierGeneration | undefined,
): Scope {
  const known = {
    values: (options.earlier?.details ?? NO_DETAILS).values,
    blockOfGame: (id: Id) => `games ${blockOf(id, shifts.game)}`,
    blockOfFile: (cover: Id) => `files ${blockOf(cover, shifts.cover)}`,
  };
  if (changes === undefined || generation === undefined)
    return { ...known, games: undefined, covers: undefined, isTaken: () => false };
  const { games, files, fingerprints } = changes;
  const select = (group: Exclude<Group, 'cover_ids'>, chosen: ReadonlySet<string>): Selection => ({
    conditions: rangesOf(group, chosen, shifts),
    rows: sumOfRows(fingerprints[group], chosen),
  });
  const { index, isKept } = generation;
  return {
    ...known,
    games: select('games', games),
    covers: select('covers', games),
    loose: {
      files: select('cover_files', files),
      covers: rangesOf('cover_ids', files, shifts),
    },
    isTaken(platform, slug, id) {
      const game = findGame(index, platform, slug);
      if (game === undefined || isKept[game] === 0) return false;
      const owner = idAt(index.games, index.games.numberOfId.indexOf(game));
      if (compareIds(owner, id) < 0) return true;
      throw new PathTaken(blockOf(owner, shifts.game));
    },
  };
}

/** Whether the rows of a block of findings are read again. */
function isRead(block: string, { games, files }: Changes): boolean {
  const [kind, number = ''] = block.split(' ');
  return kind === 'games' ? games.has(number) : kind !== 'files' || files.has(number);
}

/** How many rows some blocks have. */
function sumOfRows(fingerprints: Fingerprints, blocks: Iterable<string>): number {
  let sum = 0;
  for (const block of blocks) sum += rowsIn(fingerprints[block]);
  return sum;
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
