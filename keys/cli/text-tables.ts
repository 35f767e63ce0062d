/** Formats rows: as a table for a terminal, or as JSON for programs. */
import { printable, printableJson } from '../../lib/program/printable.ts';

const LONGEST_CELL = 60;
/** A heading, and the cell of a row. */
export type TextColumn<T> = readonly [string, (row: T) => string | number | null];

/** Rows in the form that the switches of a verb ask for: "json", or else a table. */
export function asText<T extends object>(
  switches: ReadonlySet<string>,
  columns: readonly TextColumn<T>[],
  rows: readonly T[],
): string {
  return switches.has('json') ? asJson(rows) : asTable(columns, rows);
}

/** A line of headings, then one line for each row. */
function asTable<T>(columns: readonly TextColumn<T>[], rows: readonly T[]): string {
  const cells = rows.map((row) => columns.map(([, cellOf]) => toCell(String(cellOf(row) ?? ''))));
  const table = [columns.map(([heading]) => heading), ...cells];
  const widths = columns.map((_, column) =>
    table.reduce((widest, row) => Math.max(widest, row[column].length), 0),
  );
  return table
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column])).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** A JSON array with one row on each line. */
function asJson(rows: readonly object[]): string {
  return rows.length === 0 ? '[]\n' : `[\n${rows.map(printableJson).join(',\n')}\n]\n`;
}

function toCell(text: string): string {
  if (text === '') return '-';
  const shown = [...printable(text.slice(0, LONGEST_CELL * 2))];
  if (shown.length <= LONGEST_CELL && text.length <= LONGEST_CELL * 2) return shown.join('');
  return `${shown.slice(0, LONGEST_CELL - 1).join('')}…`;
}
