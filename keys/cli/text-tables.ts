/**
 * Formats rows: as a table for a terminal, or as JSON for programs. Strangers typed much of this text,
 * so characters that control a terminal or change the direction of a line are escaped.
 */

const LONGEST_CELL = 60;
/** Control and formatting characters, line and paragraph separators, and unassigned code points. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;

/** A heading, and the cell of a row. */
export type Column<T> = readonly [string, (row: T) => string | number | null];

/** Rows in the form that the switches of a verb ask for: "json", or else a table. */
export function asText<T extends object>(
  switches: ReadonlySet<string>,
  columns: readonly Column<T>[],
  rows: readonly T[],
): string {
  return switches.has('json') ? asJson(rows) : asTable(columns, rows);
}

/** A line of headings, then one line for each row. */
function asTable<T>(columns: readonly Column<T>[], rows: readonly T[]): string {
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
  if (rows.length === 0) return '[]\n';
  return `[\n${rows.map((row) => JSON.stringify(row).replace(STEERING, toEscape)).join(',\n')}\n]\n`;
}

function toCell(text: string): string {
  if (text === '') return '-';
  const shown = [...text.slice(0, LONGEST_CELL * 2).replace(STEERING, toEscape)];
  if (shown.length <= LONGEST_CELL && text.length <= LONGEST_CELL * 2) return shown.join('');
  return `${shown.slice(0, LONGEST_CELL - 1).join('')}…`;
}

// In the syntax of JSON, so that programs read the same character back.
function toEscape(character: string): string {
  let escaped = '';
  for (let i = 0; i < character.length; i++) {
    escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  }
  return escaped;
}
