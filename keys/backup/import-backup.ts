/**
 * Restores a backup into a database, in one transaction: all of it or nothing. It never changes or
 * removes a row. By default the tables must be empty; otherwise rows that are there already must be
 * equal to those of the backup.
 */
import type { Database, Reader, Value, Writer } from '../../database/database.ts';
import { createTables } from '../../database/tables.ts';
import { viewsOf } from '../tables/accounts.ts';
import { ACCOUNTS_TABLE } from '../tables/schema.ts';
import { BACKED_UP, type BackedUpTable } from './backed-up-tables.ts';
import { type Columns, type Counts, readBackup } from './backup-lines.ts';

/** A row can have two texts of 64 KiB, and a statement at most 16 MB. */
const ROWS_PER_INSERT = 50;

export interface Restored {
  /** The rows of the backup in each table. */
  readonly rows: Counts;
  /** How many of them were added; the others were there already, or are in a view. */
  readonly added: number;
  /** Whether the accounts were left out, because they are a view of the site's. */
  readonly hasAccountsView: boolean;
}

/**
 * @param isAddition whether the tables may have rows
 * @throws Error that says what is wrong; the database is unchanged then, except for an empty table of accounts
 */
export async function importBackup(
  database: Database,
  file: string,
  isAddition: boolean,
): Promise<Restored> {
  const columns = checkFile(file);
  const hasAccountsView = (await viewsOf(database)).has('accounts');
  if ('accounts' in columns && !(await database.columns()).has('accounts')) {
    await createTables(database, ACCOUNTS_TABLE);
  }
  const tables = BACKED_UP.filter(
    ({ name }) => name in columns && !(hasAccountsView && name === 'accounts'),
  );
  return database.transaction(async (writer) => {
    if (!isAddition) await requireEmpty(writer, tables);
    const add = makeAdder(writer, tables, columns, isAddition);
    const rows = await readInto(file, add.row);
    await add.finish();
    return { rows, added: add.count(), hasAccountsView };
  });
}

/** Reads the whole file before anything is changed. @returns its columns */
function checkFile(file: string): Columns {
  let found: Columns = {};
  const rows = readBackup(file, (columns) => {
    checkColumns(file, columns);
    found = columns;
  });
  while (!rows.next().done);
  return found;
}

/** A backup of a newer version may have columns that this program would lose. */
function checkColumns(file: string, columns: Columns): void {
  for (const [name, names] of Object.entries(columns)) {
    const table = BACKED_UP.find((known) => known.name === name);
    const unknown = table && names.filter((column) => !table.columns.includes(column));
    if (table === undefined || unknown?.length) {
      const what = table === undefined ? `the table ${name}` : `the column ${name}.${unknown?.[0]}`;
      throw new Error(
        `${file} has ${what}, which this version does not know. Import it with the version that wrote it.`,
      );
    }
    const missing = table.key.filter((column) => !names.includes(column));
    if (missing.length > 0) throw new Error(`${file} lacks the column ${name}.${missing[0]}.`);
  }
}

async function requireEmpty(reader: Reader, tables: readonly BackedUpTable[]): Promise<void> {
  for (const { name } of tables) {
    const rows = await reader.rows(`SELECT 1 FROM ${name} LIMIT 1`);
    if (rows.length === 0) continue;
    throw new Error(
      `The table ${name} has rows already, so nothing was imported. Import into an empty database, or use --add, which adds only rows that are missing.`,
    );
  }
}

async function readInto(
  file: string,
  onRow: (table: string, values: readonly Value[]) => Promise<void>,
): Promise<Counts> {
  const backup = readBackup(file, () => {});
  for (;;) {
    const next = backup.next();
    if (next.done) return next.value;
    await onRow(next.value.table, next.value.values);
  }
}

/** Inserts rows, many of one table at once. */
function makeAdder(
  writer: Writer,
  tables: readonly BackedUpTable[],
  columns: Columns,
  isAddition: boolean,
) {
  let waiting: { table: string; rows: (readonly Value[])[] } = { table: '', rows: [] };
  let count = 0;

  async function flush(): Promise<void> {
    const { table, rows } = waiting;
    if (rows.length === 0) return;
    const names = columns[table] ?? [];
    const one = `(${names.map(() => '?').join(', ')})`;
    const all = rows.map(() => one).join(', ');
    await writer.run(`INSERT INTO ${table} (${names.join(', ')}) VALUES ${all}`, rows.flat());
    count += rows.length;
    waiting = { table, rows: [] };
  }

  return {
    count: () => count,
    finish: flush,
    async row(name: string, values: readonly Value[]): Promise<void> {
      const table = tables.find((known) => known.name === name);
      if (table === undefined) return;
      if (isAddition && (await isThere(writer, table, columns[name] ?? [], values))) return;
      if (waiting.table !== name || waiting.rows.length === ROWS_PER_INSERT) await flush();
      waiting = { table: name, rows: [...waiting.rows, values] };
    },
  };
}

/** @throws Error if a row with the same key has other values */
async function isThere(
  reader: Reader,
  { name, key, mayDiffer }: BackedUpTable,
  columns: readonly string[],
  values: readonly Value[],
): Promise<boolean> {
  const keyValues = key.map((column) => values[columns.indexOf(column)] ?? null);
  const condition = key.map((column) => `${column} = ?`).join(' AND ');
  const [found] = await reader.rows(
    `SELECT ${columns.join(', ')} FROM ${name} WHERE ${condition}`,
    keyValues,
  );
  if (found === undefined) return false;
  const other = columns.find((_, index) => String(found[index]) !== String(values[index]));
  if (other === undefined || mayDiffer) return true;
  const which = key.map((column, index) => `${column} ${keyValues[index]}`).join(', ');
  throw new Error(
    `The row of ${name} with ${which} has another ${other} than the backup, so nothing was imported. Import into an empty database instead.`,
  );
}
