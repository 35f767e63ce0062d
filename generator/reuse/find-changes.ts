/**
 * Finds the rows that have changed since the run before, by fingerprints of blocks of rows. The server
 * computes them over `id` and `updated_at`, in SQL that MySQL, MariaDB and SQLite understand.
 *
 * What a fingerprint shows: a row that is new or gone changes the number of rows, or the sum of their ids or that
 * of the checksums; a changed row has a later `updated_at`, which changes the sum of the checksums, except by a
 * chance of about one in 2^32. Of a row whose `updated_at` stays the same, only the status of a cover is seen.
 *
 * A run of the recent changes computes only the fingerprints of the blocks in which an index on `updated_at` shows
 * such changes, and keeps the others as they are stored. So what it has missed differs in the next run of all blocks.
 */
import {
  type Reader,
  type SnapshotReader,
  selectCount,
  type Value,
} from '../../lib/database/database.ts';
import { TIMED_TABLES, type TimedTable, UPDATED_AT } from '../../lib/database/schema.ts';
import { splitId } from '../../lib/format/index/ids.ts';
import { readSelected, type Selection } from '../read/read-table.ts';
import type { BlockFindings } from '../report/report.ts';
import { readId } from '../rows/ids.ts';
import { blockOf, GROUPED, GROUPS, type Group, rangesOf, type Shifts } from './blocks.ts';
import {
  MOST_RECENT,
  OVERLAP_SECONDS,
  type ReadUpTo,
  readRecentRows,
  timeOf,
} from './recent-rows.ts';

/** The fingerprint of each block that has rows, by the block's number in decimal digits. */
type Fingerprints = Readonly<Record<string, string>>;
export type AllFingerprints = Readonly<Record<Group, Fingerprints>>;

/** Ends the fingerprint of a block that may change again without a new time. */
const UNSETTLED = ' unsettled';

/**
 * CRC32 is linear: for some times, two rows that change from the same time to the same time leave the sum
 * of their CRC32 as it was. With a weight for each id, it differs.
 */
const checksumOf = (text: string) =>
  `(CRC32(${text}) * ((((id & 65535) * 40503) & 65535) | 32768)) >> 16`;

/**
 * The fingerprints of all blocks, or of those that conditions choose ({@link rangesOf}).
 * @param now the time of the database @throws Error if the result is incomplete
 */
export async function readFingerprints(
  reader: Reader,
  group: Group,
  shifts: Shifts,
  now: number,
  conditions: Iterable<string> = [''],
): Promise<Fingerprints> {
  const fingerprints: Record<string, string> = {};
  for (const condition of conditions)
    Object.assign(fingerprints, await readSome(reader, group, shifts, now, condition));
  return fingerprints;
}

async function readSome(
  reader: Reader,
  group: Group,
  shifts: Shifts,
  now: number,
  condition: string,
): Promise<Fingerprints> {
  const { table, column, by } = GROUPED[group];
  const from = condition === '' ? table : `${table} WHERE ${condition}`;
  // A status that changes without a new time is a takedown, too.
  const status = group === 'covers' ? " || ' ' || COALESCE(status, '')" : '';
  const sums =
    group === 'cover_ids'
      ? `SUM(${checksumOf("id || ''")})`
      : `SUM(${checksumOf(`id || ' ' || ${UPDATED_AT}${status}`)}), MAX(${UPDATED_AT}) || '', COUNT(${UPDATED_AT})`;
  // Grouped by position: MySQL would take a column of the table for an alias with the same name.
  const found = await reader.rows(
    `SELECT ${column} >> ${shifts[by]}, COUNT(*), SUM(id & 4294967295), ${sums} FROM ${from} GROUP BY 1`,
  );
  const fingerprints: Record<string, string> = {};
  let rows = 0;
  for (const [block = null, count, ids, checksums, latest = null, timed] of found) {
    rows += Number(count);
    const isSettled =
      group === 'cover_ids' || (count === timed && timeOf(latest) < now - OVERLAP_SECONDS);
    fingerprints[String(block)] = `${count} ${ids} ${checksums ?? 0}${isSettled ? '' : UNSETTLED}`;
  }
  // KILL QUERY can cut a result, which then looks complete.
  if ((await selectCount(reader, from)) !== rows)
    throw new Error(`the fingerprints of ${table} are incomplete`);
  return fingerprints;
}

/** How many rows some blocks have; by default, all. */
export function countRows(
  fingerprints: Fingerprints,
  blocks: Iterable<string> = Object.keys(fingerprints),
): number {
  let rows = 0;
  for (const block of blocks) rows += Number(fingerprints[block]?.split(' ', 1)[0] ?? 0);
  return rows;
}

/** The rows of some blocks. */
export function selectBlocks(
  group: Group,
  blocks: Iterable<string>,
  shifts: Shifts,
  fingerprints: AllFingerprints,
): Selection {
  const rows = countRows(fingerprints[group], blocks);
  return { conditions: rangesOf(group, blocks, shifts), rows };
}

/** The blocks that differ, are new, or are gone, and those that may have changed unseen. */
export function differingBlocks(before: Fingerprints, after: Fingerprints): string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    // A fingerprint that was not settled equals none without the ending.
    (block) => before[block] !== after[block]?.replace(UNSETTLED, ''),
  );
}

/**
 * A commit is recorded a moment before or after its changes can be read. A snapshot that began this many
 * seconds after the last recorded commit has all changes up to it.
 */
const COMPLETE_SECONDS = 5;

/** When each table was last changed. A table has no entry if the database does not know. */
export type LastCommits = Readonly<
  Partial<Record<TimedTable, { readonly time: string; readonly isComplete: boolean }>>
>;

/**
 * A run calls it before its snapshot begins and within the snapshot, so that what is committed between them
 * counts as a change in the next run.
 */
export async function readLastCommits(database: SnapshotReader): Promise<LastCommits> {
  const commits = await database.lastCommits(TIMED_TABLES);
  return Object.fromEntries(
    Array.from(commits, ([table, { time, secondsAgo }]) => [
      table,
      { time, isComplete: secondsAgo >= COMPLETE_SECONDS },
    ]),
  );
}

/**
 * Whether the table of a group is certain to have had no commit between the snapshots of two runs.
 * @param before as read just before the earlier snapshot began @param now as read in this snapshot
 */
export function hadNoCommit(group: Group, before: LastCommits, now: LastCommits): boolean {
  const { table } = GROUPED[group];
  return before[table]?.isComplete === true && before[table].time === now[table]?.time;
}

/** What a run knows of blocks, by which the next one finds what has changed. */
export interface KnownBlocks {
  readonly shifts: Shifts;
  readonly fingerprints: AllFingerprints;
  /** The last commits before the snapshot in which the fingerprints of all blocks were read. */
  readonly commits: LastCommits;
  readonly readUpTo: ReadUpTo;
  /** All platforms, as a text to compare. */
  readonly platforms: string;
  readonly findings: readonly (readonly [block: string, BlockFindings])[];
}

/** The blocks that a run must read, and all fingerprints now. */
export interface Changes {
  readonly games: ReadonlySet<string>;
  /** The blocks of files in which a file, or a cover with files, may be new or gone. */
  readonly files: ReadonlySet<string>;
  readonly fingerprints: AllFingerprints;
}

/** To read more than this share of the games would take longer than to read all rows; fewer than this many never does. */
const LARGEST_SHARE_READ = 0.35;
const FEWEST_GAMES_READ = 2_000;

/** The fingerprints now, and the blocks that differ. */
interface FoundChanges {
  readonly all: AllFingerprints;
  readonly changed: Readonly<Record<Group, readonly string[]>>;
}

/**
 * @param platforms all platforms, as a text to compare
 * @param now the time of the database, in seconds since 1970
 * @param isRecent whether to look only for what an index on `updated_at` shows
 * @throws Error if so much has changed that all rows must be read; if `isRecent`, all fingerprints
 */
export async function findChanges(
  reader: SnapshotReader,
  earlier: KnownBlocks,
  platforms: string,
  now: number,
  isRecent: boolean,
): Promise<Changes> {
  if (platforms !== earlier.platforms) throw new Error('the platforms have changed');
  const { shifts } = earlier;
  const compare = isRecent ? compareRecentBlocks : compareAllBlocks;
  const { all, changed } = await compare(reader, earlier, now);
  const { games, covers, cover_files, cover_ids } = changed;
  const blocks = new Set([...games, ...covers]);
  const files = new Set([...cover_files, ...cover_ids]);
  const owners = selectBlocks('cover_ids', cover_files, shifts, all);
  for (const [game] of await readSelected(reader, 'covers', 'game_id', owners)) {
    const id = splitId(String(game));
    if (id !== undefined) blocks.add(blockOf(id, shifts.game));
  }
  if (blocks.size + files.size > 0)
    for (const [block, { dependsOnOthers }] of earlier.findings)
      if (dependsOnOthers) blocks.add(block.replace('games ', ''));
  const most = Math.max(FEWEST_GAMES_READ, countRows(all.games) * LARGEST_SHARE_READ);
  if (countRows(all.games, blocks) > most) throw new Error('too many rows have changed');
  return { games: blocks, files, fingerprints: isRecent ? unsettle(all, blocks) : all };
}

async function compareAllBlocks(
  reader: SnapshotReader,
  earlier: KnownBlocks,
  now: number,
): Promise<FoundChanges> {
  const commits = await readLastCommits(reader);
  const all = { ...earlier.fingerprints };
  const changed = noBlocks();
  for (const group of GROUPS) {
    if (hadNoCommit(group, earlier.commits, commits)) continue;
    if (group === 'cover_ids' && changed.covers.length === 0) continue;
    all[group] = await readFingerprints(reader, group, earlier.shifts, now);
    changed[group] = differingBlocks(earlier.fingerprints[group], all[group]);
  }
  return { all, changed };
}

/** @throws Error if too many rows have changed, or if rows of these blocks have moved or are gone */
async function compareRecentBlocks(
  reader: SnapshotReader,
  { shifts, fingerprints, readUpTo }: KnownBlocks,
  now: number,
): Promise<FoundChanges> {
  const blocks = { game: new Set<string>(), cover: new Set<string>() };
  const addBlock = (value: Value | undefined, by: keyof Shifts) => {
    const id = readId(value ?? null);
    if (id === undefined) throw new Error(`${value} is not the id of a ${by}`);
    blocks[by].add(blockOf(id, shifts[by]));
  };
  for (const table of TIMED_TABLES) {
    const rows = await readRecentRows(reader, table, readUpTo[table].since);
    if (rows.length > MOST_RECENT) throw new Error(`many rows of ${table} have changed`);
    for (const [id, , parent] of rows) {
      addBlock(parent, GROUPED[table].by);
      if (table === 'covers') addBlock(id, 'cover');
    }
  }
  const all = { ...fingerprints };
  const changed = noBlocks();
  for (const group of GROUPS) {
    const { table, by } = GROUPED[group];
    const before: Record<string, string> = {};
    for (const block of blocks[by])
      if (all[group][block] !== undefined) before[block] = all[group][block];
    const ranges = [...rangesOf(group, blocks[by], shifts)];
    const after = await readFingerprints(reader, group, shifts, now, ranges);
    const { lastId } = readUpTo[table];
    if (lastId !== null && readId(lastId) === undefined)
      throw new Error(`${lastId} is not the id of a row of ${table}`);
    const ofKnown = ranges.map((range) => `${range} AND id <= ${lastId}`);
    const known = await readFingerprints(reader, group, shifts, now, ofKnown);
    // A row that came from another block would stay there, too, and one that is gone may have come to another.
    for (const block of blocks[by])
      if (rowsOf(before[block]) !== rowsOf(known[block]))
        throw new Error(`rows of ${table} have moved or are gone`);
    all[group] = { ...all[group], ...after };
    changed[group] = differingBlocks(before, after);
  }
  return { all, changed };
}

const noBlocks = (): Record<Group, readonly string[]> => {
  return { games: [], covers: [], cover_files: [], cover_ids: [] };
};

/** The number of rows and the sum of their ids, of a fingerprint. */
function rowsOf(fingerprint = ''): string {
  return fingerprint.split(' ', 2).join(' ');
}

/** Makes the next run of all blocks read these again: rows of theirs are read whose fingerprints are older. */
function unsettle(all: AllFingerprints, blocks: ReadonlySet<string>): AllFingerprints {
  const [games, covers] = [{ ...all.games }, { ...all.covers }];
  for (const fingerprints of [games, covers])
    for (const block of blocks)
      if (fingerprints[block]?.endsWith(UNSETTLED) === false) fingerprints[block] += UNSETTLED;
  return { ...all, games, covers };
}
