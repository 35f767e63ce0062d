/**
 * Opens the database that a `DATABASE_URL` names. The database it returns has been reached: the server
 * has accepted the user, or the file is a SQLite database. No error shows a password.
 */
import { ConfigurationError } from '../program/environment/environment.ts';
import type { Database } from './database.ts';
import { EXPECTED, parseMysqlUrl } from './mysql-address.ts';

export interface OpenOptions {
  /** Make an absent SQLite file, and its folders. Without it a mistyped path is an error. */
  readonly create?: boolean;
  /** Give up on a server that has sent nothing for this many seconds; default 60. */
  readonly stallSeconds?: number;
  /** Give up on a server that has not accepted the connection after this many seconds; default 10. */
  readonly connectSeconds?: number;
}

/**
 * @param url `mysql://user:password@host:3306/name` (or `mariadb://`), user and password
 * percent-encoded; after a `?`: `ssl=true` (TLS with a verified certificate), `socketPath=/run/…`,
 * `timeout=300` (the stall time in seconds). Or `sqlite:path/to/catalogue.db`.
 * @throws ConfigurationError for a wrong address, otherwise Error; each has one line that names what
 * is wrong and the fix
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
