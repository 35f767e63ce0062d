/**
 * Checks that a database has the tables of a definition and lets the program read them, and creates tables.
 * One definition serves MySQL, MariaDB and SQLite.
 *
 * A table that exists may be unreadable: the user lacks the right, or it is a view whose definer or a table
 * that it selects from was dropped. The server's own error about such a view is misleading: to a user that may
 * only read, MariaDB reports a wrong password.
 */
import type { Database } from './database.ts';

const ER_ACCESS_DENIED_ERROR = 1045;
const ER_TABLEACCESS_DENIED_ERROR = 1142;
const ER_VIEW_INVALID = 1356;
const ER_NO_SUCH_USER = 1449;

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
  const unreadable: (TableFault & { readonly table: string })[] = [];
  const missing: Record<'table' | 'column', string[]> = { table: [], column: [] };
  for (const [table, definition] of Object.entries(tables)) {
    const columns = found.get(table);
    const fault = columns && (await faultOf(database, table));
    if (columns === undefined) {
      missing.table.push(table);
    } else if (fault !== undefined) {
      unreadable.push({ table, ...fault });
    } else {
      const names = columnNames(definition).filter((column) => !columns.has(column));
      missing.column.push(...names.map((column) => `${table}.${column}`));
    }
  }
  // One sentence for all tables with the same fault.
  const faults = [...Map.groupBy(unreadable, ({ text }) => text)].map(([text, same]) => {
    const names = same.map(({ table }) => table);
    return `The ${listed(same[0].noun, names)} cannot be read: ${text}`;
  });
  const lacks = Object.entries(missing).filter(([, names]) => names.length > 0);
  if (lacks.length > 0) {
    const what = lacks.map(([noun, names]) => `the ${listed(noun, names)}`).join(' and ');
    faults.push(
      `The database lacks ${what}, or its user may not read them. Offer them as tables or views; README.md shows how.`,
    );
  }
  if (faults.length > 0) throw new Error(faults.join(' '));
}

/** What is wrong with a table and how to fix it. */
interface TableFault {
  readonly noun: 'table' | 'view';
  readonly text: string;
}

/** A hint to append to the error of a statement if a broken view may be the cause; '' otherwise. */
export function viewHint(error: unknown): string {
  const { errno } = Object(error) as { errno?: number };
  return errno === ER_ACCESS_DENIED_ERROR || errno === ER_NO_SUCH_USER
    ? ' (the definer of a view that it reads does not exist: create this user again, or recreate the view)'
    : '';
}

/** @returns undefined if the table can be read, or if another error than those above prevents it */
async function faultOf(database: Database, table: string): Promise<TableFault | undefined> {
  const error = await database.rows(`SELECT 1 FROM ${table} LIMIT 0`).then(
    () => undefined,
    (thrown: Error) => Object(thrown.cause) as { errno?: number; message?: string },
  );
  if (error === undefined) return undefined;
  const ofView = (text: string): TableFault => ({ noun: 'view', text });
  if (database.kind === 'sqlite') {
    const isView = "SELECT 1 FROM sqlite_schema WHERE type = 'view' AND LOWER(name) = ?";
    if ((await database.rows(isView, [table])).length === 0) return undefined;
    return ofView(
      `${error.message}. Restore the tables that it selects from, or recreate the view.`,
    );
  }
  switch (error.errno) {
    case ER_TABLEACCESS_DENIED_ERROR: {
      const [[user] = []] = await database.rows('SELECT CURRENT_USER()');
      const text = `the user ${user} does not have the right. GRANT SELECT on it to this user.`;
      return { noun: 'table', text };
    }
    case ER_ACCESS_DENIED_ERROR:
    case ER_NO_SUCH_USER:
      return ofView(
        `the definer${await definerOf(database, table)} does not exist. Create this user again, or recreate its views (CREATE OR REPLACE VIEW …) as a user that stays.`,
      );
    case ER_VIEW_INVALID:
      return ofView(
        `a table or column that is selected from is gone, or the definer${await definerOf(database, table)} may not read it. Restore it, GRANT SELECT on it to the definer, or recreate the views (CREATE OR REPLACE VIEW …).`,
      );
    default:
      return undefined;
  }
}

/** The definer with a space before it; '' if the server does not show it to this user. */
async function definerOf(database: Database, view: string): Promise<string> {
  const sql =
    'SELECT definer FROM information_schema.views WHERE table_schema = DATABASE() AND table_name = ?';
  const [row] = await database.rows(sql, [view]);
  return row?.[0] ? ` ${row[0]}` : '';
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
