/**
 * The rights that the user of a connection has on MySQL or MariaDB, as the server shows them to the user
 * itself: those that were granted to it, and on MariaDB also those of its current role.
 */
import type { Database } from './database.ts';

/** A right, such as "SELECT", and where it was granted. */
export interface Grant {
  readonly right: string;
  /** All databases, this database, or one table or view of it, in lower case. */
  readonly on: '*.*' | '*' | { readonly table: string };
  /** Whether the user may grant the right to others. */
  readonly isGrantable: boolean;
}

export interface Grants {
  /** As statements name it: "'covers'@'%'". */
  readonly user: string;
  /** The name of the database. */
  readonly schema: string;
  readonly all: readonly Grant[];
}

const OWN = `REPLACE(grantee, '''', '') IN
  (CURRENT_USER(), CURRENT_ROLE(), CONCAT(CURRENT_ROLE(), '@'), 'PUBLIC', 'PUBLIC@')`;
/** A user without any right has this one. */
const NONE = 'USAGE';

/** @param database on MySQL or MariaDB */
export async function readGrants(database: Database): Promise<Grants> {
  const [[name, schema] = []] = await database.rows('SELECT CURRENT_USER(), DATABASE()');
  const global = await database.rows(
    `SELECT privilege_type, is_grantable FROM information_schema.user_privileges WHERE ${OWN}`,
  );
  // The name of the database in a grant may be a pattern.
  const local = await database.rows(
    `SELECT privilege_type, is_grantable FROM information_schema.schema_privileges
      WHERE ${OWN} AND DATABASE() LIKE table_schema`,
  );
  const ofTables = await database.rows(
    `SELECT privilege_type, is_grantable, LOWER(table_name) FROM information_schema.table_privileges
      WHERE ${OWN} AND table_schema = DATABASE()
      UNION SELECT privilege_type, is_grantable, LOWER(table_name) FROM information_schema.column_privileges
      WHERE ${OWN} AND table_schema = DATABASE()`,
  );
  const grant = (on: Grant['on'], [right, grantable]: readonly unknown[]): Grant => ({
    right: String(right).toUpperCase(),
    on,
    isGrantable: grantable === 'YES',
  });
  const all = [
    ...global.map((row) => grant('*.*', row)),
    ...local.map((row) => grant('*', row)),
    ...ofTables.map((row) => grant({ table: String(row[2]) }, row)),
  ];
  const [, user = '', host = ''] = /^(.*)@([^@]*)$/.exec(String(name)) ?? [];
  return {
    user: `'${user}'@'${host}'`,
    schema: String(schema),
    all: all.filter(({ right, isGrantable }) => right !== NONE || isGrantable),
  };
}

/** The rights on one table, wherever they were granted. */
export function rightsOn(table: string, { all }: Grants): Set<string> {
  const concerned = all.filter(({ on }) => typeof on === 'string' || on.table === table);
  return new Set(concerned.map(({ right }) => right));
}
