/**
 * Reads tables row by row. A row that breaks the contract is left out and reported. A read that ends
 * early is an error: it must not look like a smaller table. Of a table that an earlier run has cached, only
 * changed rows are read; the caller then sees all rows in the same order, and reports the same faults.
 */
import type { Reader, Row, Value } from '../../database/database.ts';
import { TIMED_TABLES, type TimedTable } from '../../database/schema.ts';
import { firstIndex } from '../../format/index/first-index.ts';
import { compareIds } from '../../format/index/ids.ts';
import { LEFT_OUT } from '../columns/catalogue.ts';
import { isUsualForm, readId, valueOfId } from '../columns/ids.ts';
import type { Report, Table } from '../report/report.ts';
import { type Note, RowFault } from '../report/row-fault.ts';
import { idOfRow, type ReadPlan, readRows } from '../reuse/plan-read.ts';
import { rowTime } from '../reuse/row-times.ts';
import { type ChangeTracking, TIME_COLUMN } from '../reuse/row-tracks.ts';

/** Returned for a row that the next run must read again, even if its `updated_at` stays the same. */
export const READ_AGAIN = 'read again';
type Outcome = typeof READ_AGAIN | undefined;

/**
 * Reads a table in the order of its first column.
 * @param columns the columns of each row, separated by commas. The first is `id`, or `game_id` if the
 * rows have no ids.
 * @param onRow called for each row. If it throws a RowFault, the row is left out and reported.
 * Otherwise, what it notes becomes warnings.
 * @param known takes the rows that an earlier run has cached
 * @returns the number of rows in the table
 */
export type ReadTable = (
  table: Table,
  columns: string,
  onRow: (row: Row, id: Value, note: Note) => Outcome,
  known?: KnownRows,
) => Promise<number>;

/** Does with the known rows of a table what `onRow` would do with the same rows. */
export interface KnownRows {
  /**
   * For each cached row: 1 if it may have a fault now, because of changes in other rows. `onRow` may set
   * it for rows that come later.
   */
  readonly isAffected: Uint8Array;
  /** Takes the cached rows from `from` (inclusive) to `to` (exclusive), of which none is affected. */
  takeAll(from: number, to: number): void;
  /** Takes an affected row. */
  takeAffected(cachedRow: number): Outcome;
}

/**
 * Called every few thousand rows and at the end.
 * @param share about which share of the table was read: 0 to 1, and 1 only at the end
 */
export type OnRows = (table: Table, rows: number, share: number) => void;

const ROWS_PER_REPORT = 4096;

/**
 * For each table, a condition in SQL that chooses the rows to read. A table without one is read whole.
 */
export type Conditions = Readonly<Partial<Record<Table, string>>>;

/** @param tracking undefined if the database cannot show which rows have changed */
export function makeReadTable(
  reader: Reader,
  report: Report,
  onRows: OnRows,
  conditions: Conditions = {},
  tracking?: ChangeTracking,
): ReadTable {
  return async (table, columns, onRow, known) => {
    const timedTable = tracking === undefined ? undefined : timedTableOf(table);
    const track = timedTable && tracking?.tracks[timedTable];
    const plan = timedTable && tracking?.plans?.[timedTable];
    const selected = track === undefined ? columns : `${columns}, ${TIME_COLUMN}`;
    const idOf = (row: Row) => row[0];
    const check = makeRowCheck(table, report, idOf, (row, note) => onRow(row, row[0], note));
    const take = (row: Row, cachedRow = LEFT_OUT) => {
      const isReusable = check(row);
      const time = isReusable && hasUsualId(row[0]) ? rowTime(row.at(-1) ?? null) : Number.NaN;
      track?.add(time, cachedRow, row);
    };
    let rows: number;
    if (timedTable === undefined || plan === undefined || known === undefined) {
      rows = await readWholeTable(reader, table, selected, conditions[table], onRows, take);
    } else {
      const { ids, updated } = plan.cached();
      const idOfCached = (cachedRow: number) => valueOfId(idOfRow(ids, cachedRow));
      const checkAffected = makeRowCheck(table, report, idOfCached, known.takeAffected);
      const takeAffected = (cachedRow: number) => {
        const time = checkAffected(cachedRow) ? updated[cachedRow] : Number.NaN;
        track?.add(time, cachedRow, undefined);
      };
      const takeAll = (from: number, to: number) => {
        known.takeAll(from, to);
        track?.addKnown(updated, from, to);
      };
      const { isAffected } = known;
      const fresh = readRows(reader, timedTable, selected, plan.fresh);
      rows = await mergeRows(plan, fresh, take, { isAffected, takeAll, takeAffected });
      if (rows !== plan.rows) {
        throw new Error(`${table} has ${plan.rows} rows, and ${rows} were found`);
      }
    }
    report.setRows(table, rows);
    onRows(table, rows, 1);
    return rows;
  };
}

/** Otherwise, the report of the next run, which knows only the number of the id, would show another value. */
function hasUsualId(value: Value): boolean {
  if (typeof value === 'number') return true;
  const id = readId(value);
  return id !== undefined && isUsualForm(value, id);
}

function timedTableOf(table: Table): TimedTable | undefined {
  return TIMED_TABLES.find((name) => name === table);
}

/**
 * @param idOf returns the id of a row. It is only called for a row with a fault or a warning: for a million
 * known rows, computing their ids takes long.
 * @returns a function that takes a row, reports its fault or warnings, and tells whether the next run may
 * reuse the row: no fault, no warning, and not READ_AGAIN
 */
function makeRowCheck<T>(
  table: Table,
  report: Report,
  idOf: (row: T) => Value,
  take: (row: T, note: Note) => Outcome,
): (row: T) => boolean {
  const notes: [reason: string, value: Value][] = [];
  const note: Note = (reason, value) => notes.push([reason, value]);
  return (row) => {
    let isReusable = false;
    try {
      isReusable = take(row, note) !== READ_AGAIN && notes.length === 0;
      for (const [reason, value] of notes) report.warn(table, idOf(row), reason, value);
    } catch (error) {
      if (!(error instanceof RowFault)) throw error;
      report.leaveOut(table, idOf(row), error);
    }
    if (notes.length > 0) notes.length = 0;
    return isReusable;
  };
}

async function readWholeTable(
  reader: Reader,
  table: Table,
  columns: string,
  condition: string | undefined,
  onRows: OnRows,
  take: (row: Row) => void,
): Promise<number> {
  const [key] = columns.split(',', 1);
  const from = condition === undefined ? table : `${table} WHERE ${condition}`;
  // If KILL QUERY cuts a stream, it ends as if it were complete. The last id shows whether it was.
  // Counting the rows would take the server nearly as long as the read itself, but it is the only way
  // for rows without ids.
  const isCounted = key !== 'id';
  const lastSql = isCounted ? 'COUNT(*)' : 'MAX(id)';
  const [[last = null] = []] = await reader.rows(`SELECT ${lastSql} FROM ${from}`);
  let id: Value = null;
  let rows = 0;
  const reached = () => (isCounted ? rows : id);
  await reader.each(`SELECT ${columns} FROM ${from} ORDER BY ${key}`, (row) => {
    id = row[0];
    take(row);
    if (++rows % ROWS_PER_REPORT === 0) onRows(table, rows, shareOf(reached(), last));
  });
  if (String(reached()) !== String(last)) {
    const expected = isCounted ? `there are ${last} rows` : `the last id is ${last}`;
    throw new Error(
      `The table ${table} was read to ${key} ${id} in row ${rows}, then the read ended: ${expected}.`,
    );
  }
  return rows;
}

/** Estimates the progress of a read from the current and the last id or row; below 1, as rows may follow. */
function shareOf(current: Value, last: Value): number {
  return Math.min(Number(current) / Number(last), 0.999) || 0;
}

/**
 * Takes the rows of a plan in the order of their ids.
 * @param fresh the rows that are read
 * @returns the number of rows
 */
async function mergeRows(
  plan: ReadPlan,
  fresh: AsyncIterable<Row>,
  take: (row: Row, cachedRow?: number) => void,
  known: Pick<KnownRows, 'isAffected' | 'takeAll'> & { takeAffected(cachedRow: number): void },
): Promise<number> {
  const { isKnown } = plan;
  const cached = plan.cached();
  let next = 0;
  let rows = 0;
  /** Takes the known rows before the cached row `end`. */
  const takeUpTo = (end: number) => {
    while (next < end) {
      if (isKnown[next] === 0) {
        next++;
        continue;
      }
      const knownEnd = indexIn(isKnown, 0, next, end);
      const from = next;
      next = indexIn(known.isAffected, 1, from, knownEnd);
      if (next > from) known.takeAll(from, next);
      else known.takeAffected(next++);
      rows += next - from;
    }
  };
  for await (const row of fresh) {
    const id = readId(row[0]);
    if (id === undefined) throw new Error(`a row has the id ${row[0]}`);
    const compareAt = (at: number) => compareIds(idOfRow(cached.ids, at), id);
    takeUpTo(firstIndex(next, cached.rows, (at) => compareAt(at) >= 0));
    const isCached = next < cached.rows && compareAt(next) === 0;
    take(row, isCached ? next++ : undefined);
    rows++;
  }
  takeUpTo(cached.rows);
  return rows;
}

/** The first index of a value from `from` (inclusive) to `to` (exclusive), or `to`. */
function indexIn(list: Uint8Array, value: number, from: number, to: number): number {
  const at = list.subarray(from, to).indexOf(value);
  return at < 0 ? to : from + at;
}
