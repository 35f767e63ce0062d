/**
 * Turns the text of a variable into its value. Each function throws an error that says what is
 * allowed and continues a sentence that begins with the name of the variable: "must be a port …".
 * `site-keys.ts`, `smtp-url.ts` and `limits-url.ts` read the variables that are not here.
 */
import { BlockList, isIP } from 'node:net';

/**
 * An address as an error may show it: without a password, the values of a query and a fragment, even if
 * it is not well-formed.
 * @returns the text in quotes
 */
export function shownAddress(text: string): string {
  const hasNoPassword = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^:@/]*(?:@[^@]*)?$/.test(text);
  const withoutUser = hasNoPassword
    ? text
    : text.replace(/^([A-Za-z][A-Za-z0-9+.-]*:)?.*@/s, '$1//…@');
  return JSON.stringify(withoutUser.replace(/#.+$/s, '#…').replace(/=[^&#]+/g, '=…'));
}

/**
 * Whether a text is an address and not the path of a file or folder: it begins with a scheme, which is
 * longer than the letter of a drive, or with a user and a password.
 */
export function isAddress(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]+:|^[^/]*:.*@/.test(text);
}

/** The error does not quote the text, because it may contain a password. */
export function parseDatabaseUrl(text: string): string {
  if (/^sqlite:.+/.test(text)) return text;
  if (/^(?:mysql|mariadb):\/\//.test(text) && URL.canParse(text)) {
    const { hostname, pathname, search, hash } = new URL(text);
    // An "@" behind the host is usually the end of a password that was not percent-encoded. Its
    // beginning would then be the name of a database, which errors show.
    const isWhole = !(pathname + search + hash).includes('@');
    if (hostname !== '' && pathname.length > 1 && isWhole) return text;
  }
  throw new Error(
    'must be mysql://user:password@host:3306/name (special characters percent-encoded) or sqlite:path/to/catalogue.db.',
  );
}

/** The error does not quote the text, because it is a secret. */
export function parseApiKey(text: string): string {
  if (text === '' || /^cck_[0-9A-Za-z]{38}$/.test(text)) return text;
  throw new Error('must be an API key, such as cck_…, exactly as it was issued.');
}

export function parseSwitch(text: string): boolean {
  if (text !== 'on' && text !== 'off') {
    throw new Error(`must be on or off, not ${JSON.stringify(text)}.`);
  }
  return text === 'on';
}

export function parseFailure(text: string): 'local' | 'refuse' {
  if (text !== 'local' && text !== 'refuse') {
    throw new Error(`must be local or refuse, not ${JSON.stringify(text)}.`);
  }
  return text;
}

/** @returns the share of requests that are logged, 0 to 1, or that only those with an error are */
export function parseAccessLog(text: string): number | 'errors' {
  if (text === 'off') return 0;
  if (text === 'errors') return text;
  if (text === 'all') return 1;
  const [, share] = /^1\/([1-9]\d{0,8})$/.exec(text) ?? [];
  if (share === undefined) {
    throw new Error(
      `must be off, errors, all, or a share of all requests such as 1/100, not ${JSON.stringify(text)}.`,
    );
  }
  return 1 / Number(share);
}

export function parsePort(text: string): number {
  const port = parseInteger(text);
  if (port === undefined || port > 65_535) {
    throw new Error(`must be a port from 0 to 65535, not ${JSON.stringify(text)}.`);
  }
  return port;
}

/** @returns null for an empty text: the program does not listen there */
export function parseOptionalPort(text: string): number | null {
  return text === '' ? null : parsePort(text);
}

export function parseHost(text: string): string {
  if (isIP(text) === 0 && !/^[A-Za-z0-9.-]{1,253}$/.test(text)) {
    throw new Error(`must be an address or a host name, not ${JSON.stringify(text)}.`);
  }
  return text;
}

export function parseRate(text: string): number {
  const rate = parseInteger(text);
  if (rate === undefined || rate < 1 || rate > 1_000_000) {
    throw new Error(`must be a whole number from 1 to 1000000, not ${JSON.stringify(text)}.`);
  }
  return rate;
}

/** A number of seconds, up to a day. */
export function parseSeconds(text: string): number {
  const seconds = parseInteger(text);
  if (seconds === undefined || seconds > 86_400) {
    throw new Error(
      `must be a whole number of seconds from 0 to 86400, not ${JSON.stringify(text)}.`,
    );
  }
  return seconds;
}

export function parseThreads(text: string): number {
  const threads = parseInteger(text);
  if (threads === undefined || threads < 1 || threads > 64) {
    throw new Error(`must be a whole number from 1 to 64, not ${JSON.stringify(text)}.`);
  }
  return threads;
}

function parseInteger(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

export function parseWebAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isAllowed =
    url !== undefined &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    // In the text, because `URL` reports no query for "https://example.org?".
    !/[?#]/.test(text) &&
    url.username === '' &&
    url.password === '';
  if (!isAllowed) {
    throw new Error(
      `must be an http or https address without query or user, such as https://example.org, not ${shownAddress(text)}.`,
    );
  }
  return url.href.replace(/\/+$/, '');
}

/** Keys must not be within reach of a web server, which could be public by accident. */
export function parseKeysDepot(text: string): string {
  if (/^https?:/i.test(text)) {
    throw new Error(
      `must be a folder or s3://bucket/prefix, never a web server, which could be public, not ${shownAddress(text)}.`,
    );
  }
  return text;
}

export function parseOptionalWebAddress(text: string): string {
  return text === '' ? '' : parseWebAddress(text);
}

export function parseLanguage(text: string): string {
  if (!/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/.test(text)) {
    throw new Error(`must be a language tag such as en, not ${JSON.stringify(text)}.`);
  }
  return text;
}

export function parseRegion(text: string): string {
  if (!/^[A-Za-z0-9-]{1,63}$/.test(text)) {
    throw new Error(`must be a region such as eu-central-1, not ${JSON.stringify(text)}.`);
  }
  return text;
}

export function parseLevel(text: string): string {
  const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'];
  if (!levels.includes(text)) {
    throw new Error(`must be one of ${levels.join(', ')}, not ${JSON.stringify(text)}.`);
  }
  return text;
}

export function parseAddresses(text: string): BlockList {
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
