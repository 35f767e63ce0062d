/**
 * Finds tables that exist but cannot be read: the user lacks the privilege, or they are views whose
 * definer or a table that they select from was dropped. The server's own error about such a view is
 * misleading: to a user that may only read, MariaDB reports a wrong password.
 */
import type { Database } from './database.ts';

const ER_ACCESS_DENIED_ERROR = 1045;
const ER_TABLEACCESS_DENIED_ERROR = 1142;
const ER_VIEW_INVALID = 1356;
const ER_NO_SUCH_USER = 1449;

export interface UnreadableTables {
  readonly names: ReadonlySet<string>;
  /** Sentences that say what is wrong and how to fix it, one for all tables with the same fault. */
  readonly faults: readonly string[];
}

/** What is wrong with a table and how to fix it. */
interface Fault {
  readonly noun: 'table' | 'view';
  readonly text: string;
}

/** @param tables existing tables that a program is about to read */
export async function findUnreadableTables(
  database: Database,
  tables: readonly string[],
): Promise<UnreadableTables> {
  const found: (Fault & { readonly table: string })[] = [];
  for (const table of tables) {
    const fault = await faultOf(database, table);
    if (fault !== undefined) found.push({ table, ...fault });
  }
  const faults = [...Map.groupBy(found, ({ text }) => text)].map(([text, same]) => {
    const names = same.map(({ table }) => table).join(', ');
    return `The ${same[0].noun}${same.length > 1 ? 's' : ''} ${names} cannot be read: ${text}`;
  });
  return { names: new Set(found.map(({ table }) => table)), faults };
}

/** A hint to append to the error of a statement if a broken view may be the cause; '' otherwise. */
export function viewHint(error: unknown): string {
  const { errno } = Object(error) as { errno?: number };
  return errno === ER_ACCESS_DENIED_ERROR || errno === ER_NO_SUCH_USER
    ? ' (the definer of a view that it reads does not exist: create this user again, or recreate the view)'
    : '';
}

/** @returns undefined if the table can be read, or if another error than those above prevents it */
async function faultOf(database: Database, table: string): Promise<Fault | undefined> {
  const error = await database.rows(`SELECT 1 FROM ${table} LIMIT 0`).then(
    () => undefined,
    (thrown: Error) => Object(thrown.cause) as { errno?: number; message?: string },
  );
  if (error === undefined) return undefined;
  const ofView = (text: string): Fault => ({ noun: 'view', text });
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
