/**
 * Opens the database that a `DATABASE_URL` names. An open database is known to work: the server has
 * accepted the user, or the file is an SQLite database. No error shows a password.
 */
import { ConfigurationError } from '../program/environment/environment.ts';
import type { Database } from './database.ts';
import { EXPECTED, parseMysqlUrl } from './mysql-address.ts';

export interface OpenOptions {
  /** Create a missing SQLite file, and its folders. By default, a missing file is an error. */
  readonly create?: boolean;
  /** How long the server may send nothing during a statement; by default, that of `url`, or 60. */
  readonly stallSeconds?: number;
  /** How long the server may take to accept a connection; by default 10. */
  readonly connectSeconds?: number;
}

/**
 * @param url `sqlite:path/to/catalogue.db` or `mysql://user:password@host:3306/name` (also `mariadb://`).
 * User and password are percent-encoded. Parameters after a `?`: `ssl=true` (TLS with a verified
 * certificate), `socketPath=/run/…`, `timeout=300` (`stallSeconds`).
 * @throws ConfigurationError for a wrong address, otherwise Error. The message is one line that names
 * what is wrong and the fix.
 */
export async function openDatabase(url: string, options: OpenOptions = {}): Promise<Database> {
  if (url.startsWith('sqlite:')) {
    const { openSqlite } = await import('./sqlite.ts');
    return openSqlite(url.slice('sqlite:'.length), options.create ?? false);
  }
  if (!/^(?:mysql|mariadb):/.test(url)) {
    throw new ConfigurationError(`The database address has ${schemeOf(url)}. ${EXPECTED}`);
  }
  const address = parseMysqlUrl(url);
  const { openMysql } = await import('./mysql.ts');
  return openMysql(address, {
    stallSeconds: options.stallSeconds ?? address.stallSeconds ?? 60,
    connectSeconds: options.connectSeconds ?? 10,
  });
}

function schemeOf(url: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*(?=:)/i.exec(url)?.[0];
  return scheme === undefined ? 'no scheme' : `the scheme "${scheme}:", which is not known`;
}
