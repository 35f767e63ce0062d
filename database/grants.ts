/**
 * The rights that the user of a connection has on MySQL or MariaDB, as the server shows them to the user
 * itself. MariaDB includes those of the current role.
 */
import type { Database } from './database.ts';

/** A right, such as "SELECT", and where it was granted. */
export interface Grant {
  /** {@link ALL} stands for all of them. */
  readonly right: string;
  /** All databases, this database, one table or view of it, in lower case, or something elsewhere. */
  readonly on: '*.*' | '*' | { readonly table: string } | 'elsewhere';
  /** The same as every statement may name it, whatever the SQL mode: "`site`.`covers`". */
  readonly place: string;
  /** Whether the user may grant the right to others. */
  readonly isGrantable: boolean;
}

export interface User {
  /** As statements name it: "'covers'@'%'". */
  readonly user: string;
  /** The name of the database. */
  readonly schema: string;
}

export interface Grants extends User {
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
  const { user, schema } = await readUser(database);
  const lines = await database.rows('SHOW GRANTS');
  const all = lines.flatMap(([line]) => parseGrants(String(line), schema));
  return { user, schema, all };
}

/** @param database on MySQL or MariaDB */
export async function readUser(database: Database): Promise<User> {
  const [[name, schema] = []] = await database.rows('SELECT CURRENT_USER(), DATABASE()');
  const [, user = '', host = ''] = /^(.*)@([^@]*)$/.exec(String(name)) ?? [];
  return { user: `'${user}'@'${host}'`, schema: String(schema) };
}

/** Whether the user has a right on one table, wherever it was granted. */
export function hasRight(table: string, wanted: string, { all }: Grants): boolean {
  return all.some(
    ({ right, on }) =>
      (right === wanted || right === ALL) &&
      (on === '*.*' || on === '*' || (on !== 'elsewhere' && on.table === table)),
  );
}

/**
 * The rights in one line of SHOW GRANTS.
 * @returns nothing for a line about a role or a routine
 */
export function parseGrants(line: string, database: string): Grant[] {
  const groups = LINE.exec(line)?.groups ?? {};
  const { rights = '', rest = '' } = groups;
  if (rights === '') return [];
  const isGrantable = /\bWITH\b.*\bGRANT OPTION\b/.test(rest);
  const on = kindOf(groups, database);
  const place = placeOf(groups);
  return rights
    .replaceAll(/ ?\([^)]*\)/g, '')
    .split(', ')
    .filter((right) => right !== NONE || isGrantable)
    .map((right): Grant => ({ right: right.toUpperCase(), on, place, isGrantable }));
}

/** Those of {@link LINE}. */
type Groups = Readonly<Record<string, string | undefined>>;

function kindOf({ everything, schema = '', table }: Groups, database: string): Grant['on'] {
  if (everything !== undefined) return '*.*';
  if (table === undefined) return matches(schema, database) ? '*' : 'elsewhere';
  return isSame(schema, database) ? { table: table.toLowerCase() } : 'elsewhere';
}

function placeOf({ everything, quote = '', schema = '', table }: Groups): string {
  const quoted = (name: string) =>
    `\`${name.replaceAll(quote + quote, quote).replaceAll('`', '``')}\``;
  return everything ?? `${quoted(schema)}.${table === undefined ? '*' : quoted(table)}`;
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
