/**
 * Opens the database that a `DATABASE_URL` names. An open database is known to work: the server has
 * accepted the user, or the file is an SQLite database. No error shows a password.
 */
import { ConfigurationError } from '../program/environment/environment.ts';
import type { Database } from './database.ts';
import type { MysqlAddress } from './mysql-connections.ts';

export interface OpenOptions {
  /** Create a missing SQLite file, and its folders. By default, a missing file is an error. */
  readonly create?: boolean;
  /** How long the server may send nothing during a statement; by default, that of `url`, or 60. */
  readonly stallSeconds?: number;
  /** How long the server may take to accept a connection; by default 10. */
  readonly connectSeconds?: number;
}

const PARAMETERS = ['ssl', 'socketPath', 'timeout'];

/**
 * @param url as DATABASE_URL allows it: `sqlite:path/to/catalogue.db` or `mysql://user:password@host:3306/name` (also `mariadb://`).
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
  const address = parseMysqlUrl(url, options);
  const { openMysql } = await import('./mysql.ts');
  return openMysql(address);
}

/** Checks an address as far as this needs no connection. @throws ConfigurationError as {@link openDatabase} */
export function checkDatabaseUrl(url: string): void {
  if (!url.startsWith('sqlite:')) parseMysqlUrl(url);
}

function parseMysqlUrl(url: string, options: OpenOptions = {}): MysqlAddress {
  const wrong = (what: string) => new ConfigurationError(`The mysql address ${what}`);
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const decoded = (part: string, text: string) => {
    try {
      return decodeURIComponent(text);
    } catch {
      throw wrong(`has a ${part} that is not percent-encoded: write "%" as "%25".`);
    }
  };
  const name = decoded('database name', pathname.slice(1));
  if (name.includes('/')) throw wrong(`has a "/" in the name of the database, "${name}".`);
  const unknown = [...searchParams.keys()].find((parameter) => !PARAMETERS.includes(parameter));
  if (unknown !== undefined) {
    throw wrong(`has a parameter "${unknown}"; known are ${PARAMETERS.join(', ')}.`);
  }
  const { ssl = 'false', timeout = '60', socketPath } = Object.fromEntries(searchParams);
  if (!/^(?:true|false)$/.test(ssl)) throw wrong(`must have ssl=true or ssl=false, not "${ssl}".`);
  if (!/^[1-9]\d{0,4}$/.test(timeout)) {
    throw wrong(`must have a timeout in whole seconds, not "${timeout}".`);
  }
  const server = { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 3306) };
  return {
    login: {
      ...(socketPath === undefined ? server : { socketPath }),
      user: decoded('user', username),
      password: decoded('password', password),
      database: name,
      ...(ssl === 'true' && { ssl: { verifyIdentity: true } }),
      connectTimeout: (options.connectSeconds ?? 10) * 1000,
    },
    stallSeconds: options.stallSeconds ?? Number(timeout),
  };
}
