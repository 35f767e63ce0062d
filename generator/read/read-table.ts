/**
 * Reads tables row by row. A row that breaks the contract is left out and reported. A read that ends
 * early is an error: it must not look like a smaller table.
 */
import type { Reader, Row, Value } from '../../database/database.ts';
import type { Report, Table } from '../report/report.ts';
import { type Note, RowFault } from '../report/row-fault.ts';

/**
 * Reads a table in the order of its first column.
 * @param columns the columns of each row, separated by commas. The first is `id`, or `game_id` if the
 * rows have no ids.
 * @param onRow called for each row. If it throws a RowFault, the row is left out and reported.
 * Otherwise, what it notes becomes warnings.
 * @returns the number of rows in the table
 */
export type ReadTable = (
  table: Table,
  columns: string,
  onRow: (row: Row, id: Value, note: Note) => void,
) => Promise<number>;

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

export function makeReadTable(
  reader: Reader,
  report: Report,
  onRows: OnRows,
  conditions: Conditions = {},
): ReadTable {
  return async (table, columns, onRow) => {
    const [key] = columns.split(',', 1);
    const condition = conditions[table];
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
    const notes: [reason: string, value: Value][] = [];
    const note: Note = (reason, value) => notes.push([reason, value]);
    const warn: Note = (reason, value) => report.warn(table, id, reason, value);
    await reader.each(`SELECT ${columns} FROM ${from} ORDER BY ${key}`, (row) => {
      id = row[0];
      try {
        onRow(row, id, note);
        if (notes.length > 0) for (const [reason, value] of notes) warn(reason, value);
      } catch (error) {
        if (!(error instanceof RowFault)) throw error;
        report.leaveOut(table, id, error);
      }
      if (notes.length > 0) notes.length = 0;
      if (++rows % ROWS_PER_REPORT === 0) onRows(table, rows, shareOf(reached(), last));
    });
    if (String(reached()) !== String(last)) {
      const expected = isCounted ? `there are ${last} rows` : `the last id is ${last}`;
      throw new Error(
        `The table ${table} was read to ${key} ${id} in row ${rows}, then the read ended: ${expected}.`,
      );
    }
    report.setRows(table, rows);
    onRows(table, rows, 1);
    return rows;
  };
}

/** Estimates the progress of a read from the current and the last id or row; below 1, as rows may follow. */
function shareOf(current: Value, last: Value): number {
  return Math.min(Number(current) / Number(last), 0.999) || 0;
}
