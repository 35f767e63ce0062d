/**
 * The table of all environment variables: the default of each, and the function that turns its text into a
 * value. `.env.example` describes them, and a test compares both. A parser throws an error that says what is
 * allowed and continues a sentence that begins with the name of the variable: "must be a port …". No error
 * shows a password or a key.
 */
import { BlockList, isIP } from 'node:net';
import { type LimitsAddress, readLimitsUrl } from './limits-url.ts';
import {
  hasPlainHost,
  isAddress,
  listText,
  notAllowed,
  oneOfWords,
  parseWebAddress,
  shownAddress,
  wholeNumber,
} from './values.ts';

/** The text to use if the variable is unset or empty (without one, it must be set), and its parser. */
export type Variable<T> = readonly [fallback: string | undefined, parse: (text: string) => T];

const parsePort = wholeNumber(0, 65_535, 'a port');
const parseRate = wholeNumber(1, 1_000_000);
const parseRegion = textOf(/^[A-Za-z0-9-]{1,63}$/, 'a region such as eu-central-1');
const parseLanguage = textOf(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/, 'a language tag such as en');

const parseDatabaseUrl = addressWithPassword(
  readDatabaseUrl,
  'mysql://user:password@host:3306/name or sqlite:path/to/catalogue.db',
);
const parseRedisUrl = addressWithPassword(
  readLimitsUrl,
  'redis://user:password@host:6379/0, rediss://… for TLS, or redis+sentinel://host:26379,host:26379/name',
);
const parseSmtpUrl = addressWithPassword(
  readSmtpUrl,
  'smtp://user:password@host:587 or smtps://user:password@host:465',
);

export const VARIABLES = {
  DATABASE_URL: [undefined, parseDatabaseUrl],
  SNAPSHOTS_DIR: ['./snapshots', String],
  // $PORT is the value of PORT.
  SITE_URL: ['http://localhost:$PORT', parseWebAddress],
  SITE_LANGUAGE: ['en', parseLanguage],
  SITE_NAME: ['', textOf(/^(?:(?!\s{2})[^\p{C}]){0,60}$/u, 'a name of up to 60 characters')],
  SITE_CONTACT: ['', parseContact],
  GAME_URL: [
    '{site}/{language}/platform/{platform}/game/{game}',
    templateOf(['site', 'language', 'platform', 'game', 'id'], ['game', 'id']),
  ],
  PLATFORM_URL: [
    '{site}/{language}/platform/{platform}',
    templateOf(['site', 'language', 'platform', 'id'], ['platform', 'id']),
  ],
  FRONT_TYPES: ['front', parseFrontTypes],
  FILES_URL: ['http://localhost:$PORT/files', parseWebAddress],
  PUBLIC_URL: ['http://localhost:$PORT', parseWebAddress],
  LOG_LEVEL: ['info', oneOfWords('fatal', 'error', 'warn', 'info', 'debug', 'silent')],
  ADMIN_HOST: ['127.0.0.1', parseHost],
  // The ports of the other programs follow it.
  ADMIN_PORT: ['9090', wholeNumber(0, 65_528, 'a port')],
  GENERATE_CRON: ['*/15 * * * *', String],
  KEEP_GENERATIONS: ['5', wholeNumber(1, 1_000)],
  KEEP_DAYS: ['7', wholeNumber(0, 366, 'a whole number of days')],
  CHANGE_POLL_SECONDS: ['2', wholeNumber(0, 86_400, 'a whole number of seconds')],
  HOST: ['127.0.0.1', parseHost],
  PORT: ['8080', parsePort],
  PROXY_THREADS: ['1', wholeNumber(1, 64)],
  TRUSTED_PROXIES: ['', parseAddresses],
  DEFAULT_RATE_LIMIT: ['120', parseRate],
  ADDRESS_RATE_LIMIT: ['60', parseRate],
  LIMITS_URL: ['', parseLimitsUrl],
  LIMITS_FAILURE: ['local', oneOfWords('local', 'refuse')],
  SNAPSHOT_DOWNLOADS: ['on', parseSwitch],
  EXPLORER_KEY: ['', String],
  ACCOUNT_URL: ['', parseOptionalWebAddress],
  ACCOUNT_HOST: ['127.0.0.1', parseHost],
  ACCOUNT_PORT: ['8081', parsePort],
  SITE_JWT_SECRET: ['', String],
  SITE_JWKS: ['', String],
  SIGN_IN_URL: ['', parseSignInUrl],
  SIGN_IN_NOTE: ['', String],
  SMTP_URL: ['', parseSmtpUrl],
  MAIL_FROM: ['Cover Catalogue <no-reply@localhost>', String],
  MAIL_FOLDER: ['./mail', String],
  SNAPSHOT_PUSH: ['', String],
  SNAPSHOT_SIGNING_KEY: ['', String],
  SNAPSHOT_PUBLIC_KEYS: ['', String],
  KEYS_DEPOT: ['', parseKeysDepot],
  REPLICA_FROM: ['', String],
  AWS_ACCESS_KEY_ID: ['', String],
  AWS_SECRET_ACCESS_KEY: ['', String],
  AWS_SESSION_TOKEN: ['', String],
  AWS_REGION: ['us-east-1', parseRegion],
  AWS_ENDPOINT_URL_S3: ['', parseOptionalWebAddress],
} as const satisfies Record<string, Variable<unknown>>;

export type VariableName = keyof typeof VARIABLES;

/** @param allowed describes the texts that have the form */
function textOf(form: RegExp, allowed: string) {
  return (text: string): string => {
    if (form.test(text)) return text;
    throw notAllowed(allowed, JSON.stringify(text));
  };
}

const MOST_FRONT_TYPES = 8;

/** @returns the types, as they were typed */
function parseFrontTypes(text: string): readonly string[] {
  const types = text.split(',').map((type) => type.trim());
  if (types.length <= MOST_FRONT_TYPES && !types.includes('')) return types;
  throw notAllowed(
    `1 to ${MOST_FRONT_TYPES} types of covers, separated by commas, such as frente,sleeve`,
    JSON.stringify(text),
  );
}

/** What an address may not have, and what is there instead of its places while it is checked. */
const NOT_IN_ADDRESS = /[^!-~]|["<>\\^`|]|%(?![0-9A-Fa-f]{2})/gu;
const SAMPLE = { site: 'https://example.org', other: 'x' };

/**
 * Makes a parser of templates of addresses, with places such as `{id}`.
 * @param places their names; "site" may only be at the beginning
 * @param telling those of which at least one is needed
 * @returns a function that returns the template, with other characters than those of addresses percent-encoded
 */
function templateOf(places: readonly string[], telling: readonly string[]) {
  const shown = (names: readonly string[], word: 'and' | 'or') =>
    listText(
      names.map((name) => `{${name}}`),
      word,
    );
  return (text: string): string => {
    const fault = (allowed: string) => notAllowed(allowed, shownAddress(text));
    const names = Array.from(text.matchAll(/\{([^{}]*)\}/g), ([, name = '']) => name);
    const unknown = names.find((name) => !places.includes(name));
    if (unknown !== undefined)
      throw fault(`an address without {${unknown}}: its places are ${shown(places, 'and')}`);
    if (!telling.some((name) => names.includes(name)))
      throw fault(`an address with ${shown(telling, 'or')}, which tells pages apart`);
    const filled = text
      .replace(/^\{site\}(?=[/?#])/, SAMPLE.site)
      .replaceAll(/\{(?!site)\w+\}/g, SAMPLE.other);
    const [, host = ''] = /^(?:\{site\}|https?:\/\/([^/?#]+))[/?#]/i.exec(text) ?? [];
    const url = URL.canParse(filled) ? new URL(filled) : undefined;
    const isWeb = url !== undefined && /^https?:$/.test(url.protocol) && hasPlainHost(url);
    if (!isWeb || /[{}\s]/.test(filled) || /[{@]/.test(host))
      throw fault('{site} or an http or https address, and a path such as /game.php?id={id}');
    return text.replaceAll(NOT_IN_ADDRESS, encodeURIComponent);
  };
}

function parseSwitch(text: string): boolean {
  return oneOfWords('on', 'off')(text) === 'on';
}

function parseHost(text: string): string {
  if (isIP(text) !== 0) return text;
  return textOf(/^[A-Za-z0-9.-]{1,253}$/, 'an address or a host name')(text);
}

/**
 * Makes a parser of addresses that may contain a password, so its error does not quote them.
 * @param read throws or returns undefined if the text is not such an address
 */
function addressWithPassword<T>(read: (text: string) => T | undefined, allowed: string) {
  return (text: string): T => {
    let value: T | undefined;
    try {
      value = read(text);
    } catch {
      // As if it had another form.
    }
    if (value !== undefined) return value;
    const [, login = ''] = /^[a-z0-9+]+:\/\/(.*)@/is.exec(text) ?? [];
    const codes = [...new Set(login.match(/[/?#@[\]]/g))].map(
      (character) => `"${character}" as "${encodeURIComponent(character)}"`,
    );
    const special =
      codes.length === 0
        ? 'special characters percent-encoded'
        : `in user and password, write ${codes.join(' and ')}`;
    throw new Error(`must be ${allowed} (${special}).`);
  };
}

function readDatabaseUrl(text: string): string | undefined {
  if (/^sqlite:.+/.test(text)) return text;
  const { protocol, hostname, pathname, search, hash } = new URL(text);
  // An "@" behind the host is usually the end of a password that was not percent-encoded. Its
  // beginning would then be the name of a database, which errors show.
  const isWhole = !(pathname + search + hash).includes('@');
  const isNamed = hostname !== '' && pathname.length > 1;
  return /^(?:mysql|mariadb):$/.test(protocol) && isNamed && isWhole ? text : undefined;
}

function parseLimitsUrl(text: string): LimitsAddress | undefined {
  return text === '' ? undefined : parseRedisUrl(text);
}

/** @returns the text; an empty text means that there is no mail server */
function readSmtpUrl(text: string): string | undefined {
  if (text === '') return text;
  const { protocol, username, password, hostname, pathname, hash } = new URL(text);
  decodeURIComponent(username + password);
  // A path or a fragment is usually the rest of a password that was not percent-encoded.
  const isWhole = ['', '/'].includes(pathname) && hash === '';
  return /^smtps?:$/.test(protocol) && hostname !== '' && isWhole ? text : undefined;
}

/** @returns an e-mail address, or the address of a page */
function parseContact(text: string): string {
  const contact = text.replace(/^mailto:/i, '');
  if (contact === '' || /^[^\s@<>"',;:/?#]+@[^\s@<>"',;:/?#]+$/.test(contact)) return contact;
  const { protocol = '', username, password } = URL.canParse(text) ? new URL(text) : {};
  if (/^https?:$/.test(protocol) && !username && !password) return text;
  const shown = isAddress(text) ? shownAddress(text) : JSON.stringify(text);
  throw notAllowed('an e-mail address or the http or https address of a page', shown);
}

/** The place in SIGN_IN_URL for the address to which visitors come back, percent-encoded. */
export const RETURN_PLACE = '{return}';

/** @returns the text, with {@link RETURN_PLACE} behind its host, or without it */
function parseSignInUrl(text: string): string {
  if (text === '') return text;
  const filled = text.replaceAll(RETURN_PLACE, '');
  const [start = ''] = text.split(RETURN_PLACE, 1);
  const url = URL.canParse(filled) ? new URL(filled) : undefined;
  const isWeb = url !== undefined && /^https?:$/.test(url.protocol) && hasPlainHost(url);
  const isPlain = isWeb && url.username === '' && url.password === '' && !/[{}\s]/.test(filled);
  if (isPlain && /^https?:\/\/[^/]+\//i.test(start)) return text;
  throw notAllowed(
    `an address such as https://example.org/login?next=${RETURN_PLACE}`,
    shownAddress(text),
  );
}

function parseOptionalWebAddress(text: string): string {
  return text === '' ? '' : parseWebAddress(text);
}

/** Keys must not be within reach of a web server, which could be public by accident. */
function parseKeysDepot(text: string): string {
  if (!/^https?:/i.test(text)) return text;
  throw notAllowed(
    'a folder or s3://bucket/prefix, never a web server, which could be public',
    shownAddress(text),
  );
}

function parseAddresses(text: string): BlockList {
  const list = new BlockList();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const [address = '', bits, ...rest] = entry.split('/');
    const version = isIP(address);
    const longest = version === 6 ? 128 : 32;
    const length = bits === undefined ? longest : /^\d{1,3}$/.test(bits) ? Number(bits) : Infinity;
    if (version === 0 || rest.length > 0 || length > longest) {
      throw new Error(
        `must list addresses or CIDR ranges such as 10.0.0.0/8, not ${JSON.stringify(entry)}.`,
      );
    }
    list.addSubnet(address, length, version === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
