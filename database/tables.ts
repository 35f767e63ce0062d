/**
 * Checks that a database has the tables of a definition, and creates tables from it. One definition
 * serves MySQL, MariaDB and SQLite.
 */
import type { Database } from './database.ts';
import { findUnreadableTables } from './unreadable-tables.ts';

export interface Table {
  /** For each column, in order, its definition in MySQL's SQL; SQLite's is derived from it. */
  readonly columns: Readonly<Record<string, string>>;
  /** Each entry lists the columns of a unique index. */
  readonly unique?: readonly string[];
  /** Each entry lists the columns of an index. */
  readonly keys?: readonly string[];
}

/** Tables by name. */
export type Tables = Readonly<Record<string, Table>>;

/** The columns of a table, in order. */
export function columnNames(table: Table): string[] {
  return Object.keys(table.columns);
}

/**
 * Checks that a database has the tables that a program is about to use.
 * @throws Error with one line that names every missing table, missing column and unreadable table
 */
export async function checkTables(database: Database, tables: Tables): Promise<void> {
  const found = await database.columns();
  const existing = Object.keys(tables).filter((name) => found.has(name));
  const unreadable = await findUnreadableTables(database, existing);
  const missingTables: string[] = [];
  const missingColumns: string[] = [];
  for (const [name, table] of Object.entries(tables)) {
    if (unreadable.names.has(name)) continue;
    const columns = found.get(name);
    if (columns === undefined) {
      missingTables.push(name);
      continue;
    }
    const missing = columnNames(table).filter((column) => !columns.has(column));
    missingColumns.push(...missing.map((column) => `${name}.${column}`));
  }
  const missing: string[] = [];
  if (missingTables.length > 0) missing.push(listed('the table', missingTables));
  if (missingColumns.length > 0) missing.push(listed('the column', missingColumns));
  const faults = [...unreadable.faults];
  if (missing.length > 0) {
    faults.push(
      `The database lacks ${missing.join(' and ')}, or its user may not read them. Offer them as tables or views; README.md shows how.`,
    );
  }
  if (faults.length > 0) throw new Error(faults.join(' '));
}

/** Creates the tables that do not exist; existing tables stay as they are. */
export async function createTables(database: Database, tables: Tables): Promise<void> {
  const isMysql = database.kind === 'mysql';
  // utf8mb4_bin compares by code point, as SQLite does.
  const options = isMysql ? 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin' : '';
  for (const [name, { columns, unique = [], keys = [] }] of Object.entries(tables)) {
    const lines = [
      ...Object.entries(columns).map(
        ([column, definition]) => `${column} ${isMysql ? definition : sqliteColumn(definition)}`,
      ),
      ...unique.map((list) => `UNIQUE (${list})`),
      ...(isMysql ? keys.map((list) => `KEY (${list})`) : []),
    ];
    await database.run(`CREATE TABLE IF NOT EXISTS ${name} (${lines.join(', ')}) ${options}`);
    for (const list of isMysql ? [] : keys) {
      const index = `${name}_${list.replace(', ', '_')}`;
      await database.run(`CREATE INDEX IF NOT EXISTS ${index} ON ${name} (${list})`);
    }
  }
}

// SQLite stores rows by the primary key only if the column's type is exactly INTEGER.
function sqliteColumn(definition: string): string {
  return definition
    .replace(/^(?:BIG)?INT UNSIGNED PRIMARY KEY/, 'INTEGER PRIMARY KEY')
    .replace('AUTO_INCREMENT', 'AUTOINCREMENT');
}

function listed(noun: string, names: readonly string[]): string {
  return `${noun}${names.length > 1 ? 's' : ''} ${names.join(', ')}`;
}
