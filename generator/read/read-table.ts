/**
 * Reads tables row by row. Rows that break the contract are left out and reported. A read that ends
 * early is an error, not a smaller table.
 */
import type { Reader, Row, Value } from '../../database/database.ts';
import type { Report, Table } from '../report/report.ts';
import { type Note, RowFault } from '../report/row-fault.ts';

/**
 * Reads a table to its end, without the rows that break the contract, which are reported.
 * @param columns the first is `id`, by which the rows are ordered
 * @param onRow what it notes becomes a warning, unless the row is left out
 * @returns how many rows there were
 */
export type ReadTable = (
  table: Table,
  columns: string,
  onRow: (row: Row, id: Value, note: Note) => void,
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
      id = row[0];
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
    // A stream that KILL QUERY cut ends as if it were complete. Counting the rows would detect that,
    // too, but takes the server a good part of the time of the read.
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

/** The progress of a read, from its current and the last id; below 1, as rows may follow. */
function shareOf(id: Value, last: Value): number {
  return Math.min(Number(id) / Number(last), 0.999) || 0;
}
