/**
 * Finds the rows that have changed since the run before, by fingerprints of blocks of rows. The server
 * computes them over `id` and `updated_at`, in SQL that MySQL, MariaDB and SQLite understand.
 *
 * What a fingerprint shows: a row that is new or gone changes the number of rows, or the sum of their ids or that
 * of the checksums; a changed row has a later `updated_at`, which changes the sum of the checksums, except by a
 * chance of about one in 2^32. A row whose `updated_at` stays the same is not seen.
 */
import { type SnapshotReader, selectCount, type Value } from '../../lib/database/database.ts';
import { TIMED_TABLES, type TimedTable, UPDATED_AT } from '../../lib/database/schema.ts';
import { splitId } from '../../lib/format/index/ids.ts';
import { readSelected, type Selection } from '../read/read-table.ts';
import type { BlockFindings } from '../report/report.ts';
import { readTime } from '../rows/values.ts';
import { blockOf, GROUPED, GROUPS, type Group, rangesOf, type Shifts } from './blocks.ts';

/** The fingerprint of each block that has rows, by the block's number in decimal digits. */
type Fingerprints = Readonly<Record<string, string>>;
export type AllFingerprints = Readonly<Record<Group, Fingerprints>>;

/** Rows that changed less than this long before they were read may change again without a new time. */
const UNSETTLED_SECONDS = 120;
/**
 * Ends the fingerprint of a block that is not settled: one second can have several changes, and a statement
 * that waits for a lock (50 seconds by default) has the time of its start.
 */
const UNSETTLED = ' unsettled';

/** @param now the time of the database @throws Error if the result is incomplete */
export async function readFingerprints(
  reader: SnapshotReader,
  group: Group,
  shifts: Shifts,
  now: number,
): Promise<Fingerprints> {
  const { table, column, by } = GROUPED[group];
  const sums =
    group === 'cover_ids'
      ? reader.checksumOf("id || ''")
      : `${reader.checksumOf(`id || ' ' || ${UPDATED_AT}`)}, MAX(${UPDATED_AT}) || '', COUNT(${UPDATED_AT})`;
  // Grouped by position: MySQL would take a column of the table for an alias with the same name.
  const found = await reader.rows(
    `SELECT ${column} >> ${shifts[by]}, COUNT(*), SUM(id & 4294967295), ${sums} FROM ${table} GROUP BY 1`,
  );
  const fingerprints: Record<string, string> = {};
  let rows = 0;
  for (const [block = null, count, ids, checksums, latest = null, timed] of found) {
    rows += Number(count);
    const isSettled =
      group === 'cover_ids' || (count === timed && timeOf(latest) < now - UNSETTLED_SECONDS);
    fingerprints[String(block)] = `${count} ${ids} ${checksums ?? 0}${isSettled ? '' : UNSETTLED}`;
  }
  // KILL QUERY can cut a result, which then looks complete.
  if ((await selectCount(reader, table)) !== rows)
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

const NUMBER = /^\d{1,16}(?:\.\d{1,6})?$/;
/** Larger numbers are milliseconds since 1970, not seconds. */
const LARGEST_SECONDS = 1e11;

/** A value of `updated_at` in seconds since 1970; NaN for NULL and unknown forms. */
export function timeOf(updatedAt: Value): number {
  const text = String(updatedAt);
  if (!NUMBER.test(text)) return readTime(text);
  const number = Number(text);
  return number < LARGEST_SECONDS ? number : number / 1000;
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
  /** The last commits before its snapshot of the database. */
  readonly commits: LastCommits;
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

/**
 * @param platforms all platforms, as a text to compare
 * @param now the time of the database, in seconds since 1970
 * @throws Error if so much has changed that all rows must be read
 */
export async function findChanges(
  reader: SnapshotReader,
  earlier: KnownBlocks,
  platforms: string,
  now: number,
): Promise<Changes> {
  if (platforms !== earlier.platforms) throw new Error('the platforms have changed');
  const { shifts } = earlier;
  const commits = await readLastCommits(reader);
  const all = { ...earlier.fingerprints };
  const changed: Record<Group, readonly string[]> = {
    games: [],
    covers: [],
    cover_files: [],
    cover_ids: [],
  };
  for (const group of GROUPS) {
    if (hadNoCommit(group, earlier.commits, commits)) continue;
    if (group === 'cover_ids' && changed.covers.length === 0) continue;
    all[group] = await readFingerprints(reader, group, shifts, now);
    changed[group] = differingBlocks(earlier.fingerprints[group], all[group]);
  }
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
  return { games: blocks, files, fingerprints: all };
}
