/**
 * Reads tables row by row: rows that break the contract are left out and reported. A read that ended
 * early is an error, not a smaller table.
 */
import type { Reader, Value } from '../../database/database.ts';
import { type RowView, valueAt } from '../../database/row-view.ts';
import type { Report, Table } from './report.ts';
import { type Note, RowFault } from './row-checks.ts';

/**
 * Reads a table to its end, without the rows that break the contract, which are reported.
 * @param columns the first is `id`, by which the rows are ordered
 * @param onRow what it notes becomes a warning, unless the row is left out
 * @returns how many rows there were
 */
export type ReadTable = (
  table: Table,
  columns: string,
  onRow: (row: RowView, id: Value, note: Note) => void,
) => Promise<number>;

/**
 * Called every few thousand rows and in the end.
 * @param share about how much of the table was read, 1 in the end
 */
export type OnRows = (table: Table, rows: number, share: number) => void;

const ROWS_PER_REPORT = 4096;

export function makeReadTable(reader: Reader, report: Report, onRows: OnRows): ReadTable {
  return async (table, columns, onRow) => {
    const [[last = null] = []] = await reader.rows(`SELECT MAX(id) FROM ${table}`);
    let id: Value = null;
    let rows = 0;
    const notes: [reason: string, value: Value][] = [];
    const note: Note = (reason, value) => notes.push([reason, value]);
    const warn: Note = (reason, value) => report.warn(table, id, reason, value);
    await reader.each(`SELECT ${columns} FROM ${table} ORDER BY id`, (row) => {
      id = valueAt(row, 0);
      try {
        onRow(row, id, note);
        if (notes.length > 0) for (const [reason, value] of notes) warn(reason, value);
      } catch (error) {
        if (!(error instanceof RowFault)) throw error;
        report.leaveOut(table, id, error);
      }
      if (notes.length > 0) notes.length = 0;
      if (++rows % ROWS_PER_REPORT === 0) onRows(table, rows, shareOf(id, last));
    });
    // A stream that was cut by KILL QUERY ends as if it were whole. To count the rows would tell,
    // too, and takes the server as long as a good part of the read.
    if (String(id) !== String(last)) {
      throw new Error(
        `The table ${table} was read to id ${id} in row ${rows}, then the read ended: the last id is ${last}.`,
      );
    }
    report.setRows(table, rows);
    onRows(table, rows, 1);
    return rows;
  };
}

/** How far an id is on the way to the last; below 1, as others of the last id may follow. */
function shareOf(id: Value, last: Value): number {
  return Math.min(Number(id) / Number(last), 0.999) || 0;
}
