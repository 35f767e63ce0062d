/**
 * Reads a table row by row. A row that breaks the contract is left out and reported. Of rows with the same
 * id, the lowest by path, then by its columns, is kept: a server may return them in any order. A read that
 * ends early is an error: it must not look like a smaller table.
 */
import { type Reader, type Row, selectCount, type Value } from '../../lib/database/database.ts';
import { compareIds, type Id } from '../../lib/format/index/ids.ts';
import type { Progress } from '../../lib/program/progress.ts';
import { compareValues, type Report, RowFault, type TableName } from '../report/report.ts';
import { readId } from '../rows/ids.ts';
import { checkId, type Note } from './row-checks.ts';

/** The rows to read of a table, if not all. */
export interface Selection {
  /** Conditions in SQL, each for one query. Together, they choose each row once. */
  readonly conditions: Iterable<string>;
  /** How many rows there are; undefined if the server must count them. */
  readonly rows: number | undefined;
}

interface TableOptions {
  /** Separated by commas. The first is `id` or, if the rows have no ids, the id of the row that they belong to. */
  readonly columns: string;
  readonly selection?: Selection | undefined;
  /** Called before the first row. @param rows how many rows will be read */
  begin?(rows: number): void;
  /** The block of a row, for its faults and warnings; undefined if it cannot be told. */
  blockOf(row: Row): string | undefined;
  /** The path by which rows with the same id are ordered first; by default, they all have the same. */
  pathOf?(row: Row): string;
  /** Called for each row, in the order of ids if the table has them. Its RowFault leaves the row out, what it notes is a warning. */
  take(row: Row, note: Note): void;
}

export type ReadTable = (table: TableName, options: TableOptions) => Promise<void>;

const ROWS_PER_REPORT = 4096;

export function makeReadTable(reader: Reader, report: Report, progress: Progress): ReadTable {
  return async (table, options) => {
    const { columns, selection, begin } = options;
    const { add, end } = makeRowCheck(table, report, options);
    let rows = 0;
    const advance = (share: number) => progress.advance(`reading ${table}`, rows, share);
    if (selection === undefined) {
      const expected = await selectCount(reader, table);
      begin?.(expected);
      const order = columns.startsWith('id') ? 'id' : columns;
      await reader.each(`SELECT ${columns} FROM ${table} ORDER BY ${order}`, (row) => {
        add(row);
        if (++rows % ROWS_PER_REPORT === 0) advance(Math.min(rows / expected, 0.999));
      });
      checkCount(table, rows, expected);
      report.setRows(table, rows);
    } else {
      const found = await readInOrder(reader, table, columns, selection);
      rows = found.length;
      begin?.(rows);
      for (const row of found) add(row);
    }
    end();
    advance(1);
  };
}

/** @returns the rows in any order @throws Error if some are missing */
export async function readSelected(
  reader: Reader,
  table: TableName,
  columns: string,
  { conditions, rows }: Selection,
): Promise<Row[]> {
  const found: Row[] = [];
  for (const condition of conditions) {
    const from = `${table} WHERE ${condition}`;
    const part = await reader.rows(`SELECT ${columns} FROM ${from}`);
    if (rows === undefined) checkCount(table, part.length, await selectCount(reader, from));
    for (const row of part) found.push(row);
  }
  if (rows !== undefined) checkCount(table, found.length, rows);
  return found;
}

/** @returns the rows in the order of their ids */
async function readInOrder(
  reader: Reader,
  table: TableName,
  columns: string,
  selection: Selection,
): Promise<Row[]> {
  const found = await readSelected(reader, table, columns, selection);
  // Games with the same id are in the same block.
  if (selection.rows !== undefined && table !== 'games') await checkUnique(reader, table, found);
  return found.sort((a, b) => compareIds(readId(a[0]) ?? [0, 0], readId(b[0]) ?? [0, 0]));
}

const IDS_PER_QUERY = 1_000;

/** Of two rows with the same id, a run of the changes may read only one, and could not tell which to keep. */
async function checkUnique(reader: Reader, table: TableName, rows: readonly Row[]): Promise<void> {
  const ids = rows.map(([id = null]) => id).filter((id) => readId(id) !== undefined);
  for (let from = 0; from < ids.length; from += IDS_PER_QUERY) {
    const some = ids.slice(from, from + IDS_PER_QUERY);
    const count = await selectCount(reader, `${table} WHERE id IN (${some.join(', ')})`);
    if (count !== some.length) throw new Error(`an id of ${table} appears twice`);
  }
}

/** If KILL QUERY cuts a result, it ends as if it were complete. */
function checkCount(table: TableName, found: number, expected: number): void {
  if (found === expected) return;
  throw new Error(`The table ${table} has ${expected} rows to read, but ${found} arrived.`);
}

/** @returns `add`, called with each row; `end`, called after the last */
function makeRowCheck(table: TableName, report: Report, options: TableOptions) {
  const { columns, blockOf, pathOf, take } = options;
  const hasIds = columns.startsWith('id');
  const notes: [reason: string, value: Value][] = [];
  const note: Note = (reason, value) => notes.push([reason, value]);
  /** The lowest of the rows with the id that was read last. */
  let lowest: Row | undefined;

  function end(): void {
    if (lowest === undefined) return;
    const row = lowest;
    lowest = undefined;
    try {
      take(row, note);
      for (const [reason, value] of notes) report.warn(table, blockOf(row), row[0], reason, value);
    } catch (error) {
      if (!(error instanceof RowFault)) throw error;
      report.leaveOut(table, blockOf(row), row[0], error);
    }
    if (notes.length > 0) notes.length = 0;
  }

  function add(row: Row): void {
    const isSameId = hasIds && row[0] === lowest?.[0] && readId(row[0]) !== undefined;
    if (lowest === undefined || !isSameId) {
      end();
      lowest = row;
      return;
    }
    const isLower = compareRows(row, lowest, pathOf) < 0;
    const other = isLower ? lowest : row;
    if (isLower) lowest = row;
    // Every run reads all platforms.
    const dependsOn = table === 'platforms' ? 'its block' : 'all rows';
    const fault = new RowFault('the id appears twice', other[0], { dependsOn });
    report.leaveOut(table, blockOf(other), other[0], fault);
  }
  return { add, end };
}

function compareRows(a: Row, b: Row, pathOf: TableOptions['pathOf']): number {
  const byPath = pathOf ? compareValues(pathOf(a), pathOf(b)) : 0;
  const column = a.findIndex((value, at) => value !== b[at]);
  return byPath || (column < 0 ? 0 : compareValues(a[column], b[column]));
}

/** @returns a function that reads an id of a table, and checks that ids ascend */
export function makeIdCheck(): (value: Value) => Id {
  let last: Id | undefined;
  return (value) => {
    const id = checkId(value);
    const order = last === undefined ? 1 : compareIds(id, last);
    if (order > 0) {
      last = id;
      return id;
    }
    // A database orders an id column of texts by characters, so that 10 comes before 2.
    const reason = order === 0 ? 'the id appears twice' : 'the column id must have a numeric type';
    throw new RowFault(reason, value, { dependsOn: 'all rows' });
  };
}
