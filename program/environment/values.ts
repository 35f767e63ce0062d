/**
 * Turns the text of a variable into its value. Each function throws an error that says what is
 * allowed and continues a sentence that begins with the name of the variable: "must be a port …".
 * No error shows a password or a key.
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

function fault(allowed: string, shown: string): Error {
  return new Error(`must be ${allowed}, not ${shown}.`);
}

export const parseText = (text: string): string => text;

/** @param what such as "a port" */
export function wholeNumber(least: number, most: number, what = 'a whole number') {
  return (text: string): number => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw fault(`${what} from ${least} to ${most}`, JSON.stringify(text));
  };
}

export function oneOf<const Word extends string>(...words: Word[]) {
  return (text: string): Word => {
    const word = words.find((one) => one === text);
    if (word !== undefined) return word;
    throw fault(`one of ${words.join(', ')}`, JSON.stringify(text));
  };
}

/** @param allowed describes the texts that have the form */
export function textOf(form: RegExp, allowed: string) {
  return (text: string): string => {
    if (form.test(text)) return text;
    throw fault(allowed, JSON.stringify(text));
  };
}

export function parseSwitch(text: string): boolean {
  return oneOf('on', 'off')(text) === 'on';
}

export function parseHost(text: string): string {
  if (isIP(text) !== 0) return text;
  return textOf(/^[A-Za-z0-9.-]{1,253}$/, 'an address or a host name')(text);
}

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

/** @returns the text; an empty text means that there is no mail server */
export function parseSmtpUrl(text: string): string {
  if (text === '' || isSmtpUrl(text)) return text;
  throw new Error(
    'must be smtp://user:password@host:587 or smtps://user:password@host:465 (special characters percent-encoded).',
  );
}

function isSmtpUrl(text: string): boolean {
  if (!/^smtps?:/.test(text) || !URL.canParse(text)) return false;
  const { username, password, hostname, pathname, hash } = new URL(text);
  // A path or a fragment is usually the rest of a password that was not percent-encoded.
  const hasPathOrFragment = !['', '/'].includes(pathname) || hash !== '';
  return hostname !== '' && !hasPathOrFragment && decoded(username + password) !== undefined;
}

/** @returns undefined if the text is not percent-encoded correctly */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

export function parseApiKey(text: string): string {
  if (text === '' || /^cck_[0-9A-Za-z]{38}$/.test(text)) return text;
  throw new Error('must be an API key, such as cck_…, exactly as it was issued.');
}

/** @returns the share of requests that are logged, 0 to 1, or that only those with an error are */
export function parseAccessLog(text: string): number | 'errors' {
  if (text === 'off') return 0;
  if (text === 'errors') return text;
  if (text === 'all') return 1;
  const [, share] = /^1\/([1-9]\d{0,8})$/.exec(text) ?? [];
  if (share !== undefined) return 1 / Number(share);
  throw fault('off, errors, all, or a share of all requests such as 1/100', JSON.stringify(text));
}

export function parseWebAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // `URL` reports no query for "https://example.org?", so the text is searched.
  const isPlain = !/[?#]/.test(text) && url?.username === '' && url.password === '';
  if (url !== undefined && isPlain && /^https?:$/.test(url.protocol)) {
    return url.href.replace(/\/+$/, '');
  }
  throw fault(
    'an http or https address without query or user, such as https://example.org',
    shownAddress(text),
  );
}

export function parseOptionalWebAddress(text: string): string {
  return text === '' ? '' : parseWebAddress(text);
}

/** Keys must not be within reach of a web server, which could be public by accident. */
export function parseKeysDepot(text: string): string {
  if (!/^https?:/i.test(text)) return text;
  throw fault(
    'a folder or s3://bucket/prefix, never a web server, which could be public',
    shownAddress(text),
  );
}

export function parseAddresses(text: string): BlockList {
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
