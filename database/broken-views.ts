/**
 * Finds views that exist but cannot be read, because their definer or a table that they select from
 * was dropped. The server's own error is misleading: to a user that may only read, MariaDB reports a
 * wrong password.
 */
import type { Database } from './database.ts';

const ER_ACCESS_DENIED_ERROR = 1045;
const ER_VIEW_INVALID = 1356;
const ER_NO_SUCH_USER = 1449;

export interface BrokenViews {
  readonly names: ReadonlySet<string>;
  /** Sentences that say what is wrong and how to fix it, one for all views with the same fault. */
  readonly faults: readonly string[];
}

/** Looks for broken views among the tables that a program is about to read. */
export async function findBrokenViews(
  database: Database,
  tables: readonly string[],
): Promise<BrokenViews> {
  const byFault = new Map<string, string[]>();
  for (const table of tables) {
    const fault = await faultOf(database, table);
    if (fault !== undefined) byFault.set(fault, [...(byFault.get(fault) ?? []), table]);
  }
  return {
    names: new Set([...byFault.values()].flat()),
    faults: [...byFault].map(
      ([fault, names]) =>
        `The view${names.length > 1 ? 's' : ''} ${names.join(', ')} cannot be read: ${fault}`,
    ),
  };
}

/** A hint to append to the error of a statement if a broken view may be the cause; '' otherwise. */
export function viewHint(error: unknown): string {
  const { errno } = Object(error) as { errno?: number };
  return errno === ER_ACCESS_DENIED_ERROR || errno === ER_NO_SUCH_USER
    ? ' (the definer of a view that it reads does not exist: create this user again, or recreate the view)'
    : '';
}

/** What is wrong with a view and how to fix it; undefined if the table is not a broken view. */
async function faultOf(database: Database, table: string): Promise<string | undefined> {
  const error = await database.rows(`SELECT 1 FROM ${table} LIMIT 0`).then(
    () => undefined,
    (thrown: Error) => Object(thrown.cause) as { errno?: number; message?: string },
  );
  if (error === undefined) return undefined;
  if (database.kind === 'sqlite') {
    const isView = "SELECT 1 FROM sqlite_schema WHERE type = 'view' AND LOWER(name) = ?";
    if ((await database.rows(isView, [table])).length === 0) return undefined;
    return `${error.message}. Restore the tables that it selects from, or recreate the view.`;
  }
  switch (error.errno) {
    case ER_ACCESS_DENIED_ERROR:
    case ER_NO_SUCH_USER:
      return `the definer${await definerOf(database, table)} does not exist. Create this user again, or recreate its views (CREATE OR REPLACE VIEW …) as a user that stays.`;
    case ER_VIEW_INVALID:
      return `a table or column that is selected from is gone, or the definer${await definerOf(database, table)} may not read it. Restore it, GRANT SELECT on it to the definer, or recreate the views (CREATE OR REPLACE VIEW …).`;
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
