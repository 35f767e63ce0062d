/**
 * Which tables had a commit between two runs. If a table had none, it is still the same, and the server need
 * not compute its fingerprints.
 */
import type { SnapshotReader } from '../../database/database.ts';
import { TIMED_TABLES, type TimedTable } from '../../database/schema.ts';

/**
 * A commit is recorded a moment before or after its changes can be read. A snapshot that began this many
 * seconds after the last recorded commit has all changes up to it.
 */
const COMPLETE_SECONDS = 5;

interface KnownCommit {
  readonly time: string;
  /** Whether a snapshot that begins now has all changes up to this time. */
  readonly isComplete: boolean;
}

/** A table has no entry if the database does not know its last commit. */
export type LastCommits = Readonly<Partial<Record<TimedTable, KnownCommit>>>;

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
 * Whether a table had a commit between the snapshots of two runs.
 * @param before the last commit as recorded just before the earlier snapshot began
 * @param now the last commit as recorded once this snapshot had begun
 */
export function hadCommit(
  before: KnownCommit | undefined,
  now: KnownCommit | undefined,
): boolean | 'unknown' {
  if (before === undefined || now === undefined) return 'unknown';
  if (before.time !== now.time) return true;
  return before.isComplete ? false : 'unknown';
}
