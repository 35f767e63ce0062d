/**
 * Opens the database that a `DATABASE_URL` names. A database handed on has been reached: its
 * server let us in, or its file is a SQLite database. No error of this file shows a password.
 */
import { ConfigurationError } from '../program/environment/environment.ts';
import type { Database } from './database.ts';

export interface OpenOptions {
  /** Make an absent SQLite file, and its folders. Without it a mistyped path is an error. */
  readonly create?: boolean;
  /** Give up on a server from which nothing has come for so long, in seconds; default 60. */
  readonly stallSeconds?: number;
  /** Give up on a server that does not let us in for so long, in seconds; default 10. */
  readonly connectSeconds?: number;
}

export interface MysqlAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly name: string;
  readonly tls: boolean;
  readonly socketPath?: string;
  readonly stallSeconds?: number;
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

const EXPECTED =
  'Expected mysql://user:password@host:3306/name or sqlite:path/to/catalogue.db (DATABASE_URL).';
const PARAMETERS = ['ssl', 'socketPath', 'timeout'];

/** @throws ConfigurationError naming the part that is wrong */
export function parseMysqlUrl(url: string): MysqlAddress {
  if (!URL.canParse(url)) {
    throw new ConfigurationError(
      `The mysql address cannot be read; special characters in user and password must be percent-encoded. ${EXPECTED}`,
    );
  }
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const name = decoded('database name', pathname.slice(1));
  if (hostname === '') throw new ConfigurationError(`The mysql address has no host. ${EXPECTED}`);
  if (name === '' || name.includes('/')) {
    throw new ConfigurationError(
      `The mysql address has no database name after the host. ${EXPECTED}`,
    );
  }
  for (const parameter of searchParams.keys()) {
    if (PARAMETERS.includes(parameter)) continue;
    throw new ConfigurationError(
      `The mysql address has a parameter "${parameter}"; known are ${PARAMETERS.join(', ')}.`,
    );
  }
  const ssl = searchParams.get('ssl') ?? 'false';
  if (ssl !== 'true' && ssl !== 'false') {
    throw new ConfigurationError(`"ssl" of the mysql address must be true or false, not "${ssl}".`);
  }
  const timeout = searchParams.get('timeout');
  if (timeout !== null && !/^[1-9]\d{0,4}$/.test(timeout)) {
    throw new ConfigurationError(
      `"timeout" of the mysql address must be whole seconds, not "${timeout}".`,
    );
  }
  const socketPath = searchParams.get('socketPath');
  return {
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? 3306 : Number(port),
    user: decoded('user', username),
    password: decoded('password', password),
    name,
    tls: ssl === 'true',
    ...(socketPath === null ? {} : { socketPath }),
    ...(timeout === null ? {} : { stallSeconds: Number(timeout) }),
  };
}

function decoded(part: string, text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ConfigurationError(
      `The ${part} of the mysql address is not percent-encoded: write "%" as "%25".`,
    );
  }
}

function schemeOf(url: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*(?=:)/i.exec(url)?.[0];
  return scheme === undefined ? 'no scheme' : `the scheme "${scheme}:", which is not known`;
}
