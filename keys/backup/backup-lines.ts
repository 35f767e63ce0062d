/**
 * The format of a backup: lines of JSON.
 *
 *     {"format":"cover-catalogue-keys","version":1,"tables":{"accounts":["id","email",…],…}}
 *     ["accounts",7,"seven@covers.example",…]      one line for each row, its values as in the first line
 *     {"end":true,"rows":{"accounts":1,…},"sha256":"…"}
 *
 * The last line has the number of rows, and the SHA-256 of all bytes before it: a backup that was cut or
 * changed is refused. The same rows give the same bytes, on every database.
 */
import { createHash } from 'node:crypto';
import { closeSync, readSync } from 'node:fs';
import type { Value } from '../../database/database.ts';
import { openRegularFile } from '../../program/files/bounded-file.ts';

const FORMAT = 'cover-catalogue-keys';
const VERSION = 1;
/** In bytes; the longest text of a row has 64 KiB, which JSON may escape. */
const LONGEST_LINE = 1024 * 1024;
const PIECE = 64 * 1024;
const NEWLINE = 0x0a;

/** For each table, the names of its columns. */
export type Columns = Readonly<Record<string, readonly string[]>>;
export type Counts = Readonly<Record<string, number>>;

export interface BackupRow {
  readonly table: string;
  readonly values: readonly Value[];
}

export function encodeHead(tables: Columns): string {
  return `${JSON.stringify({ format: FORMAT, version: VERSION, tables })}\n`;
}

export function encodeRow(table: string, values: readonly Value[]): string {
  return `${JSON.stringify([table, ...values])}\n`;
}

export function encodeEnd(rows: Counts, sha256: string): string {
  return `${JSON.stringify({ end: true, rows, sha256 })}\n`;
}

/**
 * Reads a backup, row by row. Whether it is complete is known only after the last row.
 * @param onColumns called once, before the first row; it may throw an error
 * @throws Error that says what is wrong with the file
 */
export function* readBackup(
  file: string,
  onColumns: (columns: Columns) => void,
): Generator<BackupRow, Counts> {
  const fail = (fault: string): never => {
    throw new Error(`${file} is not a complete backup: ${fault}.`);
  };
  const sum = createHash('sha256');
  const counts: Record<string, number> = {};
  let columns: Columns | undefined;
  let isEnded = false;
  for (const line of readLines(file, fail)) {
    if (isEnded) fail('something follows its last line');
    const found = parse(line) ?? fail('it has a line that is not JSON');
    if (columns === undefined) {
      columns = columnsOf(found, fail);
      for (const table of Object.keys(columns)) counts[table] = 0;
      onColumns(columns);
    } else if (Array.isArray(found)) {
      const row = rowOf(found, columns) ?? fail('it has a row that does not fit its first line');
      counts[row.table] = (counts[row.table] ?? 0) + 1;
      yield row;
    } else {
      const { rows, sha256 } = found as { rows?: unknown; sha256?: unknown };
      if (JSON.stringify(rows) !== JSON.stringify(counts)) fail('rows are missing');
      if (sha256 !== sum.copy().digest('hex')) fail('its content was changed');
      isEnded = true;
    }
    sum.update(line).update('\n');
  }
  if (!isEnded) fail('its last line is missing');
  return counts;
}

type Fail = (fault: string) => never;

function* readLines(file: string, fail: Fail): Generator<Buffer> {
  const descriptor = openRegularFile(file);
  try {
    const piece = Buffer.alloc(PIECE);
    let rest = Buffer.alloc(0);
    for (;;) {
      const length = readSync(descriptor, piece);
      if (length === 0) break;
      rest = Buffer.concat([rest, piece.subarray(0, length)]);
      let start = 0;
      for (;;) {
        const end = rest.indexOf(NEWLINE, start);
        if (end < 0) break;
        yield rest.subarray(start, end);
        start = end + 1;
      }
      rest = Buffer.from(rest.subarray(start));
      if (rest.length > LONGEST_LINE) fail('it has a line that is too long');
    }
    if (rest.length > 0) fail('its last line is cut');
  } finally {
    closeSync(descriptor);
  }
}

function parse(line: Buffer): object | undefined {
  try {
    const found: unknown = JSON.parse(line.toString('utf8'));
    return typeof found === 'object' && found !== null ? found : undefined;
  } catch {
    return undefined;
  }
}

function columnsOf(found: object, fail: Fail): Columns {
  const { format, version, tables } = found as Record<string, unknown>;
  if (format !== FORMAT) fail('its first line is not that of a backup');
  if (version !== VERSION) {
    fail(
      `it has the version ${JSON.stringify(version)}, and this program reads version ${VERSION}; use the program that wrote it`,
    );
  }
  const isText = (value: unknown) => typeof value === 'string';
  const isNamed =
    typeof tables === 'object' &&
    tables !== null &&
    Object.values(tables).every((names) => Array.isArray(names) && names.every(isText));
  return isNamed ? (tables as Columns) : fail('its first line does not name its tables');
}

function rowOf([table, ...values]: unknown[], columns: Columns): BackupRow | undefined {
  if (typeof table !== 'string' || !Object.hasOwn(columns, table)) return undefined;
  const isWhole = values.length === columns[table]?.length && values.every(isValue);
  return isWhole ? { table, values: values as Value[] } : undefined;
}

function isValue(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'number';
}
