/**
 * Every environment variable of the project, in one table: what it means, its default and how its
 * text becomes a value. A program names the ones that it needs and gets them all, or one error that
 * lists every fault at once.
 */
import { BlockList, isIP } from 'node:net';
import { applyEnvironmentFile } from './environment-file.ts';
import { parseJwtSecret, parseSiteKeySource } from './site-keys.ts';
import { parseSmtpUrl } from './smtp-url.ts';

interface Variable<T> {
  /** The text used when the variable is unset or empty; undefined: it must be set. */
  readonly default: string | undefined;
  readonly meaning: string;
  /** @throws Error saying what is allowed, as the end of "NAME …" */
  readonly parse: (text: string) => T;
}

function variable<T>(
  fallback: string | undefined,
  meaning: string,
  parse: (text: string) => T,
): Variable<T> {
  return { default: fallback, meaning, parse };
}

export const VARIABLES = {
  DATABASE_URL: variable(
    undefined,
    'the catalogue database: `mysql://user:password@host:3306/name` or `sqlite:path/to/catalogue.db`',
    parseDatabaseUrl,
  ),
  SNAPSHOTS_DIR: variable('./snapshots', 'where generations and `keys.json` lie', (text) => text),
  HOST: variable('127.0.0.1', 'address that the API listens on', parseHost),
  PORT: variable('8080', 'port of the API', parsePort),
  PROXY_THREADS: variable(
    '1',
    'serving threads of the proxy, on one port and with one set of limits',
    parseThreads,
  ),
  SNAPSHOT_MEMORY_MB: variable(
    '160',
    'megabytes of the current generation that the proxy keeps in memory (its index always, packs as far as they fit), and as much again for all others',
    parseMegabytes,
  ),
  ADMIN_HOST: variable('127.0.0.1', 'address of health checks and metrics', parseHost),
  ADMIN_PORT: variable('9090', 'port of `/healthz`, `/readyz` and `/metrics`', parsePort),
  SITE_URL: variable(
    'http://localhost:8080',
    "the catalogue's web site, which records link to",
    parseWebAddress,
  ),
  SITE_LANGUAGE: variable('en', 'language segment of those links', parseLanguage),
  FILES_URL: variable(
    'http://localhost:8080/files',
    'what the path of a cover file is joined to',
    parseWebAddress,
  ),
  GENERATE_CRON: variable(
    '*/15 * * * *',
    'when `cover-catalogue schedule` generates, in UTC',
    (text) => text,
  ),
  DEFAULT_RATE_LIMIT: variable(
    '120',
    'requests a minute of a key that is issued without a limit',
    parseRate,
  ),
  ADDRESS_RATE_LIMIT: variable(
    '60',
    'requests a minute without a valid key from one address',
    parseRate,
  ),
  TRUSTED_PROXIES: variable(
    '',
    'addresses or CIDR ranges, comma-separated, whose `X-Forwarded-For` is believed',
    parseAddresses,
  ),
  ACCOUNT_HOST: variable('127.0.0.1', 'address that the account pages listen on', parseHost),
  ACCOUNT_PORT: variable('8081', 'port of the account pages', parsePort),
  ACCOUNT_URL: variable(
    '',
    'where the proxy forwards `/account` and `/moderation` to, such as `http://127.0.0.1:8081`; none: they are not found',
    parseOptionalWebAddress,
  ),
  PUBLIC_URL: variable(
    'http://localhost:8080',
    'where browsers reach the pages and clients the API; cookies are for TLS alone where it is https',
    parseWebAddress,
  ),
  SITE_JWT_SECRET: variable(
    '',
    'secret of at least 32 bytes that the site signs assertions with (HS256); neither this nor `SITE_JWKS`: sign-in by e-mailed links',
    parseJwtSecret,
  ),
  SITE_JWKS: variable(
    '',
    'public keys that assertions of the site are checked with: a JWKS file, or its https address',
    parseSiteKeySource,
  ),
  SMTP_URL: variable(
    '',
    'mail server, such as `smtp://user:password@host:587`; none: mails become files',
    parseSmtpUrl,
  ),
  MAIL_FROM: variable('Cover Catalogue <no-reply@localhost>', 'sender of e-mails', (text) => text),
  MAIL_FOLDER: variable('./mail', 'where mails go without `SMTP_URL`', (text) => text),
  LOG_LEVEL: variable('info', '`fatal`, `error`, `warn`, `info`, `debug` or `silent`', parseLevel),
} as const;

export type VariableName = keyof typeof VARIABLES;
export type Environment<Name extends VariableName> = {
  readonly [N in Name]: ReturnType<(typeof VARIABLES)[N]['parse']>;
};

/** Names that variables had in earlier versions: what replaces them, and which one to set. */
const RENAMED: Readonly<Record<string, { now: readonly VariableName[]; hint: string }>> = {
  KEYS_HOST: { now: ['ACCOUNT_HOST'], hint: 'Set ACCOUNT_HOST instead' },
  KEYS_PORT: { now: ['ACCOUNT_PORT'], hint: 'Set ACCOUNT_PORT instead' },
  KEYS_URL: { now: ['ACCOUNT_URL'], hint: 'Set ACCOUNT_URL instead' },
  SITE_JWT_KEY: {
    now: ['SITE_JWT_SECRET', 'SITE_JWKS'],
    hint: 'Set SITE_JWT_SECRET if it held a secret, or SITE_JWKS if it held the path of a JWKS file',
  },
};
/** Of each pair only one may be set. */
const EXCLUSIVE: readonly (readonly [VariableName, VariableName])[] = [
  ['SITE_JWT_SECRET', 'SITE_JWKS'],
];

/** The environment or the arguments are wrong: the program says so and exits with 2. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/** What is wrong with `.env`; reported with the faults of the values. */
let fileFaults: readonly string[] = [];

/** Adds what `.env` in the working directory sets and the environment does not. */
export function loadEnvironmentFile(): void {
  fileFaults = applyEnvironmentFile(Object.keys(VARIABLES), Object.keys(RENAMED));
}

/** Further checks of values: each gets the values read before it, and throws the end of "NAME …". */
export type Checks<Name extends VariableName> = {
  readonly [N in Name]?: (value: Environment<N>[N], before: Partial<Environment<Name>>) => void;
};

/**
 * The values of the named variables.
 * @throws ConfigurationError listing every fault
 */
export function readEnvironment<Name extends VariableName>(
  names: readonly Name[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
  checks: Checks<Name> = {},
): Environment<Name> {
  const values: Record<string, unknown> = {};
  const isSet = (name: string) => (environment[name]?.trim() ?? '') !== '';
  const faults = environment === process.env ? [...fileFaults] : [];
  // Only in programs that use a replacement: the others never read the old one.
  for (const [old, { now, hint }] of Object.entries(RENAMED)) {
    if (isSet(old) && names.some((name) => now.includes(name))) {
      faults.push(`${old} is not used any more. ${hint}, and remove ${old}.`);
    }
  }
  for (const pair of EXCLUSIVE) {
    if (pair.every((name) => isSet(name) && (names as readonly string[]).includes(name))) {
      faults.push(`${pair.join(' and ')} are both set. Keep one of them.`);
    }
  }
  for (const name of names) {
    const { default: fallback, meaning, parse } = VARIABLES[name] as Variable<unknown>;
    const text = environment[name]?.trim() || fallback;
    if (text === undefined) {
      faults.push(`${name} is not set. It is ${meaning.replaceAll('`', '')}.`);
      continue;
    }
    try {
      values[name] = parse(text);
      const check = checks[name] as ((value: unknown, before: object) => void) | undefined;
      check?.(values[name], values);
    } catch (error) {
      faults.push(`${name} ${(error as Error).message}`);
    }
  }
  if (faults.length > 0) throw new ConfigurationError(faults.join('\n'));
  return values as Environment<Name>;
}

// Never shows the text: it may hold a password.
function parseDatabaseUrl(text: string): string {
  if (/^sqlite:.+/.test(text)) return text;
  if (/^(?:mysql|mariadb):\/\//.test(text) && URL.canParse(text)) {
    const { hostname, pathname } = new URL(text);
    if (hostname !== '' && pathname.length > 1) return text;
  }
  throw new Error(
    'must be mysql://user:password@host:3306/name (special characters percent-encoded) or sqlite:path/to/catalogue.db.',
  );
}

function parsePort(text: string): number {
  const port = parseInteger(text);
  if (port === undefined || port > 65_535) {
    throw new Error(`must be a port from 0 to 65535, not ${JSON.stringify(text)}.`);
  }
  return port;
}

function parseHost(text: string): string {
  if (isIP(text) === 0 && !/^[A-Za-z0-9.-]{1,253}$/.test(text)) {
    throw new Error(`must be an address or a host name, not ${JSON.stringify(text)}.`);
  }
  return text;
}

function parseRate(text: string): number {
  const rate = parseInteger(text);
  if (rate === undefined || rate < 1 || rate > 1_000_000) {
    throw new Error(`must be a whole number from 1 to 1000000, not ${JSON.stringify(text)}.`);
  }
  return rate;
}

function parseThreads(text: string): number {
  const threads = parseInteger(text);
  if (threads === undefined || threads < 1 || threads > 64) {
    throw new Error(`must be a whole number from 1 to 64, not ${JSON.stringify(text)}.`);
  }
  return threads;
}

/** @returns bytes */
function parseMegabytes(text: string): number {
  const megabytes = parseInteger(text);
  if (megabytes === undefined || megabytes > 1_000_000) {
    throw new Error(`must be a whole number from 0 to 1000000, not ${JSON.stringify(text)}.`);
  }
  return megabytes * 2 ** 20;
}

function parseInteger(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function parseWebAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const ok =
    url !== undefined &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    // Of "https://example.org?" the query is empty, yet its mark stays.
    !/[?#]/.test(text) &&
    url.username === '' &&
    url.password === '';
  if (!ok) {
    throw new Error(
      `must be an http or https address without query or user, such as https://example.org, not ${JSON.stringify(text)}.`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

function parseOptionalWebAddress(text: string): string {
  return text === '' ? '' : parseWebAddress(text);
}

function parseLanguage(text: string): string {
  if (!/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/.test(text)) {
    throw new Error(`must be a language tag such as en, not ${JSON.stringify(text)}.`);
  }
  return text;
}

function parseLevel(text: string): string {
  const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'];
  if (!levels.includes(text)) {
    throw new Error(`must be one of ${levels.join(', ')}, not ${JSON.stringify(text)}.`);
  }
  return text;
}

function parseAddresses(text: string): BlockList {
  const list = new BlockList();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const [address = '', bits, ...rest] = entry.split('/');
    const version = isIP(address);
    const family = version === 6 ? 'ipv6' : 'ipv4';
    const longest = version === 6 ? 128 : 32;
    const length = bits === undefined ? longest : parseInteger(bits);
    if (version === 0 || rest.length > 0 || length === undefined || length > longest) {
      throw new Error(
        `must list addresses or CIDR ranges such as 10.0.0.0/8, not ${JSON.stringify(entry)}.`,
      );
    }
    list.addSubnet(address, length, family);
  }
  return list;
}
