/**
 * What a poll reads of the tables to find out whether anything that is published has changed, and whether
 * a part of it was taken down: numbers of rows, sums over what makes them public, and latest times.
 */
import { type Database, type Row, selectCount, type Value } from '../../lib/database/database.ts';
import { TIMED_TABLES, UPDATED_AT } from '../../lib/database/schema.ts';

/** The tables that {@link readTableState} reads. */
export const POLLED_TABLES: readonly string[] = ['platforms', ...TIMED_TABLES];

/** The rows of a table that are public unless they break the contract. */
const PUBLIC_GAMES = "games WHERE title <> '' AND slug <> ''";
// Of 246,000 covers, MySQL would look up most by the index of `status`, in four times the time of a scan.
const PUBLIC_COVERS = "covers WHERE status || '' = 'approved'";

const latestOf = (table: string) => `(SELECT MAX(${UPDATED_AT}) FROM ${table})`;
const sumOf = (text: string) => `SUM(CRC32(${text}))`;
/** The columns that {@link publicRowsOf} takes, in one reading of the rows. */
const publicRows = (table: string, rows: string, text: string) => `
  (SELECT COUNT(*) AS ${table}_count, ${sumOf(text)} AS ${table}_sum FROM ${rows}) AS public_${table},
  (SELECT ${latestOf(table)} || '' AS ${table}_latest,
    (SELECT COUNT(*) FROM ${rows} AND ${UPDATED_AT} = ${latestOf(table)}) AS ${table}_with_latest
  ) AS latest_${table}`;
const STATE = `SELECT * FROM
  ${publicRows('games', PUBLIC_GAMES, "id || ' ' || platform_id || ' ' || slug")},
  ${
    // A database may find "Approved" equal to "approved"; the generator does not.
    publicRows('covers', PUBLIC_COVERS, "id || ' ' || game_id || ' ' || status")
  },
  (SELECT COUNT(*) AS files, ${latestOf('cover_files')} || '' AS latest_file FROM cover_files) AS f,
  (SELECT ${sumOf("id || ' ' || slug || ' ' || name")} AS platforms FROM platforms) AS p`;

export interface TableState {
  readonly games: PublicRows;
  readonly covers: PublicRows;
  readonly coverFiles: number;
  /** Changes whenever a platform changes. */
  readonly platforms: string;
  /** Everything that was read, as a text to compare. */
  readonly all: string;
}

interface PublicRows {
  readonly count: number;
  /** Changes if a row joins, leaves or moves. */
  readonly sum: string;
  /** The latest time of the table, or null, and how many of the rows have it. */
  readonly latest: Value;
  readonly withLatest: number;
}

export async function readTableState({ rows }: Database): Promise<TableState> {
  const [row = []] = await rows(STATE);
  const [coverFiles, , platforms] = row.slice(8);
  return {
    games: publicRowsOf(row.slice(0, 4)),
    covers: publicRowsOf(row.slice(4, 8)),
    coverFiles: Number(coverFiles),
    platforms: String(platforms),
    all: JSON.stringify(row),
  };
}

function publicRowsOf([count, sum, latest = null, withLatest]: Row): PublicRows {
  return { count: Number(count), sum: String(sum), latest, withLatest: Number(withLatest) };
}

/** Whether something that is published may have disappeared, so that the next run must not wait. */
export async function isTakedown(
  database: Database,
  before: TableState,
  after: TableState,
): Promise<boolean> {
  return (
    before.platforms !== after.platforms ||
    after.coverFiles < before.coverFiles ||
    (await isRemoval(database, PUBLIC_GAMES, before.games, after.games)) ||
    (await isRemoval(database, PUBLIC_COVERS, before.covers, after.covers))
  );
}

/**
 * Whether rows may have been removed, hidden or moved. They were not if as many rows have a new time as
 * there are more rows. So a takedown is found even if other rows were added in the same transaction.
 */
async function isRemoval(
  database: Database,
  publicRows: string,
  before: PublicRows,
  after: PublicRows,
): Promise<boolean> {
  const growth = after.count - before.count;
  if (growth === 0 && after.sum === before.sum) return false;
  if (growth <= 0) return true;
  if (before.latest === null) return before.count > 0;
  const { latest, withLatest } = before;
  const countAt = (operator: '=' | '>') =>
    selectCount(database, `${publicRows} AND ${UPDATED_AT} ${operator} ?`, [latest]);
  // Times are in seconds, so a new row may have the latest known time.
  const [sameTime, later] = [await countAt('='), await countAt('>')];
  return sameTime < withLatest || sameTime - withLatest + later !== growth;
}
