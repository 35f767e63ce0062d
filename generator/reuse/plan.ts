/**
 * Plans a run: compares the database with what the earlier run has left, and says which rows are read and which
 * records of the earlier generation are kept. Without an earlier run, all rows are read and nothing is kept; the
 * stages after it are the same.
 */
import { createHash } from 'node:crypto';
import { forEachFilter } from '../../find/search/value-filters.ts';
import type { Row, SnapshotReader } from '../../lib/database/database.ts';
import { TIMED_TABLES } from '../../lib/database/schema.ts';
import { compareIds, findById, type Id, idAt, textOfId } from '../../lib/format/index/ids.ts';
import { findGame } from '../../lib/format/index/record-index.ts';
import type { Settings } from '../../lib/format/manifest.ts';
import type { FileChecks } from '../../lib/generations/verify.ts';
import type { OptionalTables } from '../read/optional-tables.ts';
import {
  countNotPublic,
  type PartOfCatalogue,
  type Platforms,
  type Scope,
} from '../read/read-catalogue.ts';
import type { Report } from '../report/report.ts';
import { blockOf, chooseShifts, GROUPS, type Group, type Shifts } from './blocks.ts';
import type { EarlierRun, ForNextRun, KeptValues } from './earlier-run.ts';
import type { AllFingerprints, Changes, LastCommits } from './find-changes.ts';
import { countRows, findChanges, readFingerprints, selectBlocks } from './find-changes.ts';
import { findReadUpTo, readNow } from './recent-rows.ts';
import { StoredGeneration } from './stored-generation.ts';

export interface PlanOptions {
  readonly settings: Settings;
  /** To read only a part of the catalogue; by default, all of it. */
  readonly part?: PartOfCatalogue | undefined;
  /** Undefined if all rows are read. */
  readonly earlier: EarlierRun | undefined;
  /** Whether to read only what an index on `updated_at` shows to have changed. */
  readonly isRecent?: boolean | undefined;
  /** Whether the next run will read only what has changed since this one. */
  readonly savesForNextRun: boolean;
  readonly report: Report;
  /** The folder of the generation. */
  readonly dir: string;
  readonly readFile: FileChecks['read'];
}

/** What a run has read before it is planned. */
export interface ReadFirst {
  readonly platforms: Platforms;
  readonly optional: OptionalTables;
  /** The last ones before the snapshot of the database. */
  readonly commits: LastCommits;
}

/** The time of the database, in seconds since 1970, and what the next run will compare. */
interface Seen {
  readonly now: number;
  readonly forNext: Pick<
    ForNextRun,
    'notPublic' | 'platforms' | 'titles' | 'externalIds' | 'commits'
  >;
}

export interface Plan extends Seen {
  /** The rows that are read. */
  readonly scope: Scope;
  /** The generation from which records are kept; undefined if all rows are read. The run closes it. */
  readonly stored: StoredGeneration | undefined;
  readonly shifts: Shifts;
  /** Undefined if all rows are read. */
  readonly fingerprints: AllFingerprints | undefined;
}

/**
 * @returns undefined if nothing has changed that a run would read
 * @throws Error if all rows must be read
 */
export async function planRun(
  reader: SnapshotReader,
  options: PlanOptions,
  first: ReadFirst,
): Promise<Plan | undefined> {
  const { earlier, isRecent = false, report, part } = options;
  const { platforms, optional, commits } = first;
  const now = await readNow(reader);
  const changes = earlier && (await findChanges(reader, earlier, platforms.asText, now, isRecent));
  // To count the covers takes a scan of the table. The next run of all blocks does it after a run of recent changes.
  const keepsCount =
    changes && (isRecent || changes.fingerprints.covers === earlier.fingerprints.covers);
  const notPublic = keepsCount
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
    commits: isRecent && earlier !== undefined ? earlier.commits : commits,
  };
  if (earlier === undefined || changes === undefined) {
    const shifts = part === undefined ? await chooseShifts(reader) : { game: 0, cover: 0 };
    const scope = scopeOfAll(shifts, part);
    return { now, forNext, scope, stored: undefined, shifts, fingerprints: undefined };
  }
  // The fingerprints tell how many rows each table has.
  for (const table of TIMED_TABLES) report.setRows(table, countRows(changes.fingerprints[table]));
  const isUnread =
    changes.games.size + changes.files.size === 0 &&
    forNext.titles === earlier.titles &&
    forNext.externalIds === earlier.externalIds;
  for (const [block, findings] of earlier.findings)
    if (isUnread || !isRead(block, changes)) report.keep(block, findings);
  if (isUnread) return undefined;
  const hasChanged = (block: string) => changes.games.has(block);
  const stored = new StoredGeneration(earlier, hasChanged, options.readFile, options.dir);
  const { shifts } = earlier;
  const scope = scopeOfChanges(earlier, changes, stored);
  return { now, forNext, scope, stored, shifts, fingerprints: changes.fingerprints };
}

/**
 * What the next run needs; undefined if nothing is to be saved.
 * @param kept of the generation that is current then; undefined if there is none
 */
export async function collectForNextRun(
  reader: SnapshotReader,
  { report, savesForNextRun }: PlanOptions,
  { forNext, shifts, fingerprints, now }: Plan,
  kept: (KeptValues & Pick<ForNextRun, 'warnings'>) | undefined,
): Promise<ForNextRun | undefined> {
  const findings = report.blocks();
  if (findings === undefined || kept === undefined || !savesForNextRun) return undefined;
  const { values, columns, warnings } = kept;
  const found: Partial<Record<Group, AllFingerprints[Group]>> = {};
  if (fingerprints === undefined)
    for (const group of GROUPS) found[group] = await readFingerprints(reader, group, shifts, now);
  const all = fingerprints ?? (found as AllFingerprints);
  const readUpTo = await findReadUpTo(reader, now);
  return { ...forNext, shifts, fingerprints: all, readUpTo, findings, values, columns, warnings };
}

function blocksOf(shifts: Shifts): Pick<Scope, 'blockOfGame' | 'blockOfFile'> {
  return {
    blockOfGame: (id) => `games ${blockOf(id, shifts.game)}`,
    blockOfFile: (cover) => `files ${blockOf(cover, shifts.cover)}`,
  };
}

function scopeOfAll(shifts: Shifts, part: PartOfCatalogue | undefined): Scope {
  const select = (condition: string | undefined) =>
    condition === undefined ? undefined : { conditions: [condition], rows: undefined };
  return {
    ...blocksOf(shifts),
    values: forEachFilter(() => [null]),
    games: select(part?.games),
    covers: select(part?.covers),
    isTaken: () => false,
    isKept: () => false,
  };
}

function scopeOfChanges(
  { shifts, values }: EarlierRun,
  { games, files, fingerprints }: Changes,
  { index, isKept }: StoredGeneration,
): Scope {
  const select = (group: Group, chosen: ReadonlySet<string>) =>
    selectBlocks(group, chosen, shifts, fingerprints);
  return {
    ...blocksOf(shifts),
    values,
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
    isKept(id: Id) {
      const game = findById(index.games, id);
      return game !== undefined && isKept[game] === 1;
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
