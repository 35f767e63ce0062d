/**
 * Reads the address of a MySQL or MariaDB server. No error shows a password.
 */
import { ConfigurationError } from '../program/environment/environment.ts';

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

/** Names the valid forms of an address; it ends an error message. */
export const EXPECTED =
  'Expected mysql://user:password@host:3306/name or sqlite:path/to/catalogue.db (DATABASE_URL).';
const PARAMETERS = ['ssl', 'socketPath', 'timeout'];

/** @throws ConfigurationError that names the wrong part */
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
