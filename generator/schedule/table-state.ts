/**
 * What a poll reads of the tables to find out whether anything that is published has changed, and whether
 * a part of it was taken down: numbers of rows, sums over what makes them public, and latest times.
 */
import { type Database, type Row, selectCount, type Value } from '../../lib/database/database.ts';
import { TIMED_TABLES, type TimedTable, UPDATED_AT } from '../../lib/database/schema.ts';

/** The tables that {@link readTableState} reads. */
export const POLLED_TABLES: readonly string[] = ['platforms', ...TIMED_TABLES];

/** Which rows of a table are public unless they break the contract. A database may find "Approved" equal to "approved". */
const PUBLIC = {
  games: "title <> '' AND slug <> ''",
  covers: "status = 'approved'",
} as const;
type PublicTable = keyof typeof PUBLIC;
// Of 246,000 covers, MySQL would look up most by the index of `status`, in four times the time of a scan.
const publicRowsOf = (table: PublicTable) =>
  `${table} WHERE ${PUBLIC[table].replace('status =', "status || '' =")}`;

const latestOf = (table: string) => `(SELECT MAX(${UPDATED_AT}) FROM ${table})`;
const sumOf = (text: string) => `SUM(CRC32(${text}))`;
/** The columns that {@link readPublicRows} takes, in one reading of the rows. */
const publicRows = (table: PublicTable, text: string) => `
  (SELECT SUM(CASE WHEN ${PUBLIC[table]} THEN 1 ELSE 0 END) AS ${table}_count,
    ${sumOf(`CASE WHEN ${PUBLIC[table]} THEN ${text} END`)} AS ${table}_sum,
    COUNT(*) AS ${table}_rows, MAX(id) AS ${table}_last FROM ${table}) AS public_${table},
  (SELECT ${latestOf(table)} || '' AS ${table}_latest,
    (SELECT COUNT(*) FROM ${publicRowsOf(table)} AND ${UPDATED_AT} = ${latestOf(table)}) AS ${table}_with_latest
  ) AS latest_${table}`;
const STATE = `SELECT * FROM
  ${publicRows('games', "id || ' ' || platform_id || ' ' || slug")},
  ${publicRows('covers', "id || ' ' || game_id || ' ' || status")},
  (SELECT COUNT(*) AS files, MAX(id) AS files_last, ${latestOf('cover_files')} || '' AS latest_file FROM cover_files) AS f,
  (SELECT ${sumOf("id || ' ' || slug || ' ' || name")} AS platforms FROM platforms) AS p`;

export interface TableState {
  readonly games: PublicRows;
  readonly covers: PublicRows;
  /** How many rows each table has, and the highest id. */
  readonly rows: Readonly<Record<TimedTable, { readonly count: number; readonly lastId: Value }>>;
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
  const [files, lastFile = null, , platforms] = row.slice(12);
  const rowsOf = ([, , count, lastId = null]: Row) => ({ count: Number(count), lastId });
  return {
    games: readPublicRows(row),
    covers: readPublicRows(row.slice(6)),
    rows: {
      games: rowsOf(row),
      covers: rowsOf(row.slice(6)),
      cover_files: { count: Number(files), lastId: lastFile },
    },
    platforms: String(platforms),
    all: JSON.stringify(row),
  };
}

function readPublicRows([count, sum, , , latest = null, withLatest]: Row): PublicRows {
  return { count: Number(count), sum: String(sum), latest, withLatest: Number(withLatest) };
}

/** Whether rows are gone that were there before, whatever else has changed. */
export async function areRowsGone(database: Database, before: TableState): Promise<boolean> {
  for (const table of TIMED_TABLES) {
    const { count, lastId } = before.rows[table];
    if (count > (await selectCount(database, `${table} WHERE id <= ?`, [lastId]))) return true;
  }
  return false;
}

/** Whether something that is published may have disappeared, so that the next run must not wait. */
export async function isTakedown(
  database: Database,
  before: TableState,
  after: TableState,
): Promise<boolean> {
  return (
    before.platforms !== after.platforms ||
    after.rows.cover_files.count < before.rows.cover_files.count ||
    (await isRemoval(database, publicRowsOf('games'), before.games, after.games)) ||
    (await isRemoval(database, publicRowsOf('covers'), before.covers, after.covers))
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
