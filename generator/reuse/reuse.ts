/**
 * What a run takes from the earlier one. It says which rows to read, finds those whose records are stored, and
 * makes one catalogue of what is kept and what was read. Without an earlier run, all rows are read, and nothing
 * is stored; the calls are the same.
 */
import { createHash } from 'node:crypto';
import { forEachFilter } from '../../find/search/value-filters.ts';
import { findUnchanged } from '../../find/write.ts';
import { NONE } from '../../lib/columns/numbers.ts';
import type { Reader, Row, SnapshotReader } from '../../lib/database/database.ts';
import { TIMED_TABLES } from '../../lib/database/schema.ts';
import { compareIds, findById, type Id, idAt, textOfId } from '../../lib/format/index/ids.ts';
import { findGame } from '../../lib/format/index/record-index.ts';
import {
  MATCH_INDEX,
  MINISEARCH,
  PATH_INDEX,
  TITLE_INDEX,
  WORD_INDEX,
} from '../../lib/format/layout.ts';
import type { Settings } from '../../lib/format/manifest.ts';
import type { FileChecks } from '../../lib/generations/verify.ts';
import type { OptionalRows } from '../read/optional-tables.ts';
import {
  countNotPublic,
  type PartOfCatalogue,
  type Platforms,
  type Scope,
} from '../read/read-catalogue.ts';
import type { Report } from '../report/report.ts';
import type { Covers, GameRows, Games, Platform, Rows } from '../rows/catalogue.ts';
import { findId } from '../rows/ids.ts';
import { RecordWriter } from '../rows/records.ts';
import { blockOf, chooseShifts, type Group, type Shifts } from './blocks.ts';
import type { EarlierRun, ForNextRun } from './earlier-run.ts';
import type { AllFingerprints, Changes, LastCommits } from './find-changes.ts';
import { countRows, findChanges, readFingerprints, selectBlocks, timeOf } from './find-changes.ts';
import { findStored } from './find-stored.ts';
import { joinItems, type NumberedCatalogue, valuesOf } from './items.ts';
import { StoredGeneration } from './stored-generation.ts';

export interface ReuseOptions {
  readonly settings: Settings;
  /** To read only a part of the catalogue; by default, all of it. */
  readonly part?: PartOfCatalogue | undefined;
  /** Undefined if all rows are read. */
  readonly earlier: EarlierRun | undefined;
  /** Whether the next run will read only what has changed since this one. */
  readonly savesForNextRun: boolean;
  readonly report: Report;
  /** The folder of the generation. */
  readonly dir: string;
  readonly readFile: FileChecks['read'];
}

/**
 * @param platforms and `optional`: what was read of the tables that are read whole
 * @param commits the last ones before the snapshot of the database
 * @returns undefined if nothing has changed that a run would read
 * @throws Error if all rows must be read
 */
export async function beginReuse(
  reader: SnapshotReader,
  options: ReuseOptions,
  platforms: Platforms,
  optional: OptionalRows,
  commits: LastCommits,
): Promise<Reuse | undefined> {
  const { earlier, report, part } = options;
  const [[time = null] = []] = await reader.rows('SELECT CURRENT_TIMESTAMP');
  const now = timeOf(time);
  const changes = earlier && (await findChanges(reader, earlier, platforms.asText, now));
  // To count the covers takes a scan of the table, so it is not done again if the table had no commit.
  const hasSameCovers = changes && changes.fingerprints.covers === earlier.fingerprints.covers;
  const notPublic = hasSameCovers
    ? earlier.notPublic
    : part === undefined
      ? await countNotPublic(reader)
      : [];
  report.setNotPublic(notPublic);
  const forNext = {
    notPublic,
    platforms: platforms.asText,
    titles: hashOf(optional.game_titles),
    externalIds: hashOf(optional.game_ids, optional.platform_ids),
    commits,
  };
  const state = { reader, options, platforms, now, forNext };
  if (earlier === undefined || changes === undefined) {
    const shifts = part === undefined ? await chooseShifts(reader) : { game: 0, cover: 0 };
    return new Reuse({ ...state, shifts, changes: undefined });
  }
  // The fingerprints tell how many rows each table has.
  for (const table of TIMED_TABLES) report.setRows(table, countRows(changes.fingerprints[table]));
  const isUnread =
    changes.games.size + changes.files.size === 0 &&
    forNext.titles === earlier.titles &&
    forNext.externalIds === earlier.externalIds;
  for (const [block, findings] of earlier.findings)
    if (isUnread || !isRead(block, changes)) report.keep(block, findings);
  return isUnread ? undefined : new Reuse({ ...state, shifts: earlier.shifts, changes });
}

interface State {
  readonly reader: Reader;
  readonly options: ReuseOptions;
  readonly platforms: Platforms;
  /** The time of the database, in seconds since 1970. */
  readonly now: number;
  readonly forNext: Pick<
    ForNextRun,
    'notPublic' | 'platforms' | 'titles' | 'externalIds' | 'commits'
  >;
  readonly shifts: Shifts;
  /** Undefined if all rows are read. */
  readonly changes: Changes | undefined;
}

/** All that is published. */
export interface PublishedCatalogue {
  readonly settings: Settings;
  readonly platforms: readonly Platform[];
  readonly games: Games;
  readonly covers: Covers;
  /** Makes the records that are not stored. */
  readonly records: RecordWriter;
  /** Undefined if nothing is stored. */
  readonly stored: StoredGeneration | undefined;
  /** The files, without packs, that would be written as they are stored. */
  readonly sameFiles: ReadonlySet<string>;
  /** Whether the alternative titles are those of the stored generation. */
  readonly hasSameTitles: boolean;
}

export class Reuse {
  readonly scope: Scope;
  /** Undefined if nothing is stored. */
  private readonly stored: StoredGeneration | undefined;
  private readonly state: State;

  constructor(state: State) {
    const { changes, options } = state;
    const { earlier, readFile, dir } = options;
    this.state = state;
    if (earlier !== undefined && changes !== undefined) {
      const isRead = (block: string) => changes.games.has(block);
      this.stored = new StoredGeneration(earlier, isRead, readFile, dir);
    }
    this.scope = makeScope(state, this.stored);
  }

  /** @returns a function that tells whether a game is published */
  isPublished({ ids, platform, count }: GameRows): (id: Id) => boolean {
    return (id) => {
      const row = findId(ids, count, id);
      if (row !== undefined) return platform[row] !== NONE;
      const { index, isKept } = this.stored ?? {};
      const game = index && findById(index.games, id);
      return game !== undefined && isKept?.[game] === 1;
    };
  }

  /**
   * Makes one catalogue of what is kept and what was read.
   * @returns undefined if the run would write the files of the earlier generation again
   * @throws Error if all rows must be read
   */
  join(rows: Rows): PublishedCatalogue | undefined {
    const { stored } = this;
    const { platforms } = this.state.platforms;
    const { forNext, options } = this.state;
    const { earlier, report, settings } = options;
    if (stored !== undefined && report.blocks() === undefined)
      throw new Error('the fault of a row depends on all rows');
    const hasSameTitles = forNext.titles === earlier?.titles;
    const hasSameTables = hasSameTitles && forNext.externalIds === earlier?.externalIds;
    const records = new RecordWriter(settings, platforms, rows);
    const found = findStored(stored, rows, records);
    if (found.areAll && hasSameTables && report.total() === earlier?.manifest.counts.left_out)
      return undefined;
    const items = joinItems(stored, rows, found);
    const { byId, inOrder, firstRow } = items.games;
    const haveSameNames = inOrder.length === byId.length && inOrder.length === firstRow;
    // These files depend only on the ids, paths and titles of games, and on the optional tables.
    const sameFiles = new Set(haveSameNames ? [PATH_INDEX] : []);
    const titles = haveSameNames && hasSameTitles;
    if (titles) sameFiles.add(TITLE_INDEX);
    const unchanged = findUnchanged({ titles, otherIds: hasSameTables });
    if (unchanged.words) for (const name of [WORD_INDEX, MINISEARCH]) sameFiles.add(name);
    if (unchanged.match) sameFiles.add(MATCH_INDEX);
    return { settings, platforms, ...items, records, stored, sameFiles, hasSameTitles };
  }

  /**
   * What the next run needs; undefined if nothing is to be saved.
   * @param written undefined if the files of the earlier generation stay
   */
  async forNextRun(written: NumberedCatalogue | undefined): Promise<ForNextRun | undefined> {
    const { options, forNext, shifts, changes } = this.state;
    const findings = options.report.blocks();
    const kept = written === undefined ? options.earlier : valuesOf(written);
    if (findings === undefined || kept === undefined || !options.savesForNextRun) return undefined;
    const fingerprints = changes?.fingerprints ?? (await this.readFingerprints());
    const { values, columns } = kept;
    return { ...forNext, shifts, fingerprints, findings, values, columns };
  }

  readonly close = (): void => this.stored?.close();

  private async readFingerprints(): Promise<AllFingerprints> {
    const { reader, shifts, now } = this.state;
    const read = (group: Group) => readFingerprints(reader, group, shifts, now);
    return {
      games: await read('games'),
      covers: await read('covers'),
      cover_files: await read('cover_files'),
      cover_ids: await read('cover_ids'),
    };
  }
}

function makeScope(
  { shifts, changes, options }: State,
  stored: StoredGeneration | undefined,
): Scope {
  const common = {
    values: options.earlier?.values ?? forEachFilter(() => [null]),
    blockOfGame: (id: Id) => `games ${blockOf(id, shifts.game)}`,
    blockOfFile: (cover: Id) => `files ${blockOf(cover, shifts.cover)}`,
  };
  if (changes === undefined || stored === undefined) {
    const select = (condition: string | undefined) =>
      condition === undefined ? undefined : { conditions: [condition], rows: undefined };
    const { games, covers } = options.part ?? {};
    return { ...common, games: select(games), covers: select(covers), isTaken: () => false };
  }
  const { games, files, fingerprints } = changes;
  const select = (group: Group, chosen: ReadonlySet<string>) =>
    selectBlocks(group, chosen, shifts, fingerprints);
  const { index, isKept } = stored;
  return {
    ...common,
    games: select('games', games),
    covers: select('covers', games),
    loose: { files: select('cover_files', files), covers: select('cover_ids', files) },
    isTaken(platform, slug, id) {
      const game = findGame(index, platform, slug);
      if (game === undefined || isKept[game] === 0) return false;
      const owner = idAt(index.games, index.games.numberOfId.indexOf(game));
      if (compareIds(owner, id) < 0) return true;
      throw new Error(`game ${textOfId(id)} has the path of game ${textOfId(owner)}`);
    },
  };
}

/** Whether the rows of a block of findings are read again. */
function isRead(block: string, { games, files }: Changes): boolean {
  const [kind, number = ''] = block.split(' ');
  return kind === 'games' ? games.has(number) : kind !== 'files' || files.has(number);
}

function hashOf(...tables: readonly (readonly Row[] | undefined)[]): string {
  const sha256 = createHash('sha256');
  for (const rows of tables) {
    sha256.update('\n');
    for (const row of rows ?? []) sha256.update(JSON.stringify(row));
  }
  return sha256.digest('hex');
}
