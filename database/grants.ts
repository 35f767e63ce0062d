/**
 * The rights that the user of a connection has on MySQL or MariaDB, as the server shows them to the user
 * itself. MariaDB includes those of the current role.
 */
import type { Database } from './database.ts';

/** A right, such as "SELECT", and where it was granted. */
export interface Grant {
  /** {@link ALL} stands for all of them. */
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

export const ALL = 'ALL PRIVILEGES';
/** A user without any right has this one. */
const NONE = 'USAGE';
/** A line of SHOW GRANTS. Names are in backquotes, or with ANSI_QUOTES in double quotes. */
const LINE =
  /^GRANT (?<rights>.+?) ON (?:(?<everything>\*\.\*)|(?<quote>[`"])(?<schema>.+?)\k<quote>\.(?:\*|\k<quote>(?<table>.+?)\k<quote>)) TO (?<rest>.*)$/;

/** @param database on MySQL or MariaDB */
export async function readGrants(database: Database): Promise<Grants> {
  const [[name, schema] = []] = await database.rows('SELECT CURRENT_USER(), DATABASE()');
  const lines = await database.rows('SHOW GRANTS');
  const all = lines.flatMap(([line]) => parseGrants(String(line), String(schema)));
  const [, user = '', host = ''] = /^(.*)@([^@]*)$/.exec(String(name)) ?? [];
  return { user: `'${user}'@'${host}'`, schema: String(schema), all };
}

/** Whether the user has a right on one table, wherever it was granted. */
export function hasRight(table: string, wanted: string, { all }: Grants): boolean {
  return all.some(
    ({ right, on }) =>
      (right === wanted || right === ALL) && (typeof on === 'string' || on.table === table),
  );
}

/**
 * The rights in one line of SHOW GRANTS.
 * @returns nothing for a line about a role, a routine or another database
 */
export function parseGrants(line: string, database: string): Grant[] {
  const { rights = '', everything, schema = '', table, rest = '' } = LINE.exec(line)?.groups ?? {};
  const isGrantable = /\bWITH\b.*\bGRANT OPTION\b/.test(rest);
  const isOther =
    everything === undefined &&
    !(table === undefined ? matches(schema, database) : isSame(schema, database));
  if (rights === '' || isOther) return [];
  const on = everything ? '*.*' : table === undefined ? '*' : { table: table.toLowerCase() };
  return rights
    .replaceAll(/ ?\([^)]*\)/g, '')
    .split(', ')
    .filter((right) => right !== NONE || isGrantable)
    .map((right): Grant => ({ right: right.toUpperCase(), on, isGrantable }));
}

/** The name of a database in a grant may be a pattern, as of LIKE. */
function matches(pattern: string, database: string): boolean {
  const source = pattern.replaceAll(/\\?[\s\S]/g, (part) => {
    if (part === '%') return '.*';
    if (part === '_') return '.';
    return part.replace(/^\\(?=[%_\\])/, '').replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${source}$`, 'is').test(database);
}

function isSame(schema: string, database: string): boolean {
  return schema.toLowerCase() === database.toLowerCase();
}
