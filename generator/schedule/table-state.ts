/**
 * What a poll reads of the tables to find out whether anything that is published has changed: numbers of
 * rows and latest times. With an index on `updated_at`, the times cost the database little, but to count
 * rows, it reads an index of each table.
 */
import type { Database, Value } from '../../database/database.ts';
import { TIMED_TABLES, UPDATED_AT } from '../../database/schema.ts';

export interface TableState {
  readonly games: number;
  readonly approvedCovers: number;
  /** The latest `updated_at` of a cover. */
  readonly latestCover: Value;
  /** Everything that was read, as a text to compare. */
  readonly all: string;
}

/** The tables that {@link readTableState} reads. */
export const POLLED_TABLES: readonly string[] = ['platforms', ...TIMED_TABLES];

const latestOf = (table: string) => `(SELECT MAX(${UPDATED_AT}) FROM ${table}) || ''`;
const countOf = (table: string) => `(SELECT COUNT(*) FROM ${table})`;
const STATE = `SELECT ${[
  countOf('games'),
  countOf("covers WHERE status = 'approved'"),
  latestOf('covers'),
  latestOf('games'),
  latestOf('cover_files'),
  countOf('cover_files'),
  "(SELECT SUM(CRC32(id || ' ' || slug || ' ' || name)) FROM platforms)",
].join(', ')}`;

export async function readTableState({ rows }: Database): Promise<TableState> {
  const [row = []] = await rows(STATE);
  const [games, approvedCovers, latestCover = null] = row;
  return {
    games: Number(games),
    approvedCovers: Number(approvedCovers),
    latestCover,
    all: JSON.stringify(row),
  };
}

/** Whether something that is published may have disappeared, so that the next run must not wait. */
export async function isTakedown(
  { rows }: Database,
  before: TableState,
  after: TableState,
): Promise<boolean> {
  if (after.games < before.games || after.approvedCovers < before.approvedCovers) return true;
  if (before.latestCover === null || after.latestCover === before.latestCover) return false;
  const sql = `SELECT COUNT(*) FROM covers WHERE ${UPDATED_AT} >= ? AND status = 'rejected'`;
  const [[rejected = 0] = []] = await rows(sql, [before.latestCover]);
  return Number(rejected) > 0;
}
