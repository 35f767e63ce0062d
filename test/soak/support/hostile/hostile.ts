/**
 * Generates hostile requests from a seed: bytes that hostile or broken clients send, many of them
 * almost valid. `hostile-wire.ts` sends them unchanged, and `hostile-judge.ts` decides from the bytes
 * alone which responses are allowed.
 */
import type { Random } from '#demo/catalogue/random.ts';

export interface HostileParts {
  /** A valid key. */
  readonly key: string;
  readonly host: string;
  /** Targets that exist. */
  readonly targets: readonly string[];
  readonly snapshot: string;
}

export interface Hostile {
  /** Each character is a byte. */
  readonly bytes: string;
  /** Whether it is one complete request, after which the connection can be kept. */
  readonly isWhole: boolean;
  /** Whether it is valid and must get a 200. */
  readonly isClean: boolean;
}

const STRANGE = [
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', '..', '.', '...', '%2e%2e'],
  ...['%00', '%', '%zz', '%c0%af', '%ff', '%ed%a0%80', '%E0%A4%A', '%25', '%2F', '%5c', '\\'],
  ...['%0d%0aX-Injected:%201', '%F0%9F%98%80', 'null', 'undefined', 'NaN', '-1', '0', '1e9'],
  ...['{}', '[]', '"', "'", '<script>', '$(id)', ';', '|', '*', '~', '#', '&', '=', '+', ''],
  ...['18446744073709551616', '9007199254740993', '0x10', '1.5', '%2B1', '%EF%BB%BF', '%CC%81'],
  ...['\xc3\xa9', '\xff', '\xe3\x83\x9d\xe3\x82\xb1', '%E3%83%9D%E3%82%B1', '\xed\xa0\x80'],
];
const NAMES = [
  ...['q', 'page', 'per_page', 'sort', 'platform', 'region', 'type', 'genre', '__proto__'],
  ...['constructor', 'page[]', 'q[a]', 'PAGE', '%70age', 'key', 'callback', '', 'per_page%00'],
];
const VALUES = [
  ...['1', '2', '100', '101', '999999999', '9007199254740992', 'title_desc', 'year_asc', 'snes'],
  ...['front', 'a', 'the', 'mario', 'pokemon', 'world', 'chrono+trigger', 'zzzzzzzz', 'a+b+c+d'],
];
const METHODS = ['HEAD', 'HEAD', 'OPTIONS', 'DELETE', 'PUT', 'TRACE', 'PATCH', 'get', 'X-Y', 'PRI'];
const FIELDS: readonly ((random: Random, parts: HostileParts) => string)[] = [
  (random) =>
    `Range: bytes=${random.pick(['0-9', '-5', '5-', '0-0,2-4', '9-1', 'x', '0-99999999'])}`,
  (random) => `If-Range: ${random.pick(['"x"', '*', 'yesterday'])}`,
  (random) => `If-None-Match: ${random.pick(['*', '"x"', 'W/"x"', '"a", "b",,', '"', '\xff'])}`,
  (random) => `If-Modified-Since: ${random.pick(['x', 'Sat, 01 Jan 2050 00:00:00 GMT'])}`,
  (random) =>
    `Accept-Encoding: ${random.pick(['gzip', 'br', 'br;q=0', '*', ';;', 'gzip;q=x', 'a,'.repeat(400)])}`,
  (random) => `Accept: ${random.pick(['*/*', 'text/html', '\x7f'])}`,
  (random, { snapshot }) =>
    `X-Snapshot: ${random.pick([snapshot, '', 'x', '../../etc', '000001-000000000000', '__proto__'])}`,
  (random) => `X-Forwarded-For: ${random.pick(['1.2.3.4', '::1', 'x', ',,,', '9'.repeat(2000)])}`,
  (random) => `X-HTTP-Method-Override: ${random.pick(['DELETE', 'POST'])}`,
  (random) => `Connection: ${random.pick(['keep-alive', 'close', 'X-Api-Key', 'Upgrade', 'a,b'])}`,
  (random) => `Upgrade: ${random.pick(['h2c', 'websocket', 'x'])}`,
  (random) => `Expect: ${random.pick(['100-continue', 'x'])}`,
  (random) => `Content-Length: ${random.pick(['0', '00', '-1', '+0', '0x0', '', '1e3'])}`,
  (random) => `Cookie: ${'a=b; '.repeat(random.below(50))}`,
  (random) => `X-Filler: ${'y'.repeat(random.below(3000))}`,
  (random) => `${random.pick(STRANGE.filter((text) => /^[\w.~*|'+-]+$/.test(text)))}: x`,
  () => 'Host: other.example',
  (random, { key }) =>
    `${random.pick(['Referer', 'User-Agent', 'Cookie', 'X-Request-Id'])}: ${key}`,
  (_, { key }) => `X-Api-Key: ${key}`,
  (_, { key }) => `Authorization: Bearer ${key}`,
  (random) => `Authorization: ${random.pick(['Basic eDp5', 'Bearer', 'Bearer x', 'Digest', ''])}`,
  (random) => `Transfer-Encoding: ${random.pick(['chunked', 'xchunked', 'identity', ''])}`,
  () => 'Trailer: X-Api-Key',
  () => 'TE: trailers',
];

/** Returns a generator of hostile requests, which depend only on the state of `random`. */
export function makeHostile(random: Random, parts: HostileParts): () => Hostile {
  /** A key that is cut or changed is not a key, and logs may show its parts. */
  let isBroken = false;
  const many = (most: number, make: () => string) =>
    Array.from({ length: random.below(most + 1) }, make);

  function target(): string {
    let path = random.pick(parts.targets);
    if (random.happens(0.5)) path = changedPath(path);
    if (random.happens(0.5))
      path += `?${many(5, parameter).join(random.pick(['&', '&', '&&', ';']))}`;
    if (random.happens(0.02))
      path += `?q=${random.pick(['a', 'a+', '%20', '\xe9', '%61']).repeat(4000).slice(0, 8000)}`;
    if (random.happens(0.03)) path = random.pick(['http://evil.example', 'HTTPS://x', '']) + path;
    if (random.happens(0.01)) path = random.pick(['*', '', 'x', '//', 'a.example:443', '?', '/#']);
    return path;
  }

  function changedPath(path: string): string {
    const segments = path.split('/');
    const index = 1 + random.below(segments.length - 1);
    const segment = segments[index] ?? '';
    const at = random.below(segment.length);
    const code = segment.charCodeAt(at);
    const change = random.below(8);
    if (change === 0) segments[index] = random.pick(isBroken ? STRANGE : [...STRANGE, parts.key]);
    else if (change === 1) segments.splice(index, 0, random.pick(STRANGE));
    else if (change === 2) segments.splice(index, 1);
    else if (change === 3) segments[index] = segment.toUpperCase();
    else if (change === 4) segments.push(random.pick(STRANGE));
    else if (change === 5 && segment !== '') {
      const encoded = `%${code.toString(16).padStart(2, '0')}`;
      segments[index] = segment.slice(0, at) + encoded + segment.slice(at + 1);
    } else if (change === 6) segments[index] = `${segment}${random.pick(STRANGE)}`;
    else segments[index] = segment.repeat(1 + random.below(300)).slice(0, 6000);
    return segments.join('/');
  }

  function parameter(): string {
    if (!isBroken && random.happens(0.05)) return `${random.pick(NAMES)}=${parts.key}`;
    const value = random.happens(0.6) ? random.pick(VALUES) : random.pick(STRANGE);
    return random.happens(0.9) ? `${random.pick(NAMES)}=${value}` : random.pick(STRANGE);
  }

  function head(isClean: boolean): string {
    if (isClean) {
      return `GET ${random.pick(parts.targets)} HTTP/1.1\r\nHost: ${parts.host}\r\nX-Api-Key: ${parts.key}\r\n\r\n`;
    }
    const method = random.happens(0.85) ? 'GET' : random.pick(METHODS);
    const version = random.happens(0.97) ? '1.1' : random.pick(['1.0', '1.0', '2.0', '1.9', '0.9']);
    const fields = random.happens(0.97) ? [`Host: ${parts.host}`] : [];
    if (random.happens(0.9)) {
      const { key } = parts;
      const names = [`X-Api-Key: ${key}`, `authorization: bearer  ${key}`, `x-API-key:${key}\t`];
      fields.push(random.pick(names));
    }
    if (random.happens(0.6)) fields.push(...many(3, () => random.pick(FIELDS)(random, parts)));
    if (random.happens(0.01)) fields.push(...Array.from({ length: 300 }, (_, i) => `X-${i}: x`));
    if (random.happens(0.2)) fields.reverse();
    return `${method} ${target()} HTTP/${version}\r\n${fields.join('\r\n')}\r\n\r\n`;
  }

  /** Bytes changed at random positions, and every kind of wrong framing. */
  function broken(): string {
    const text = head(false);
    const hidden = head(true);
    const end = text.indexOf('\r\n\r\n') + 2;
    const withField = (field: string, rest: string) =>
      `${text.slice(0, end)}${field}\r\n\r\n${rest}`;
    const at = random.below(text.length);
    const length = random.below(10);
    const flipped = String.fromCharCode(text.charCodeAt(at) ^ (1 << random.below(8)));
    const part = text.slice(at, at + length);
    const odd = random.pick(['\0', '\n', '\r', ' ', '\t', '\x80', ':', '\x0b']);
    const before = [
      ...['\r\n', '\n\n', ' ', '\x16\x03\x01\x02\x00', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ];
    const chunked = `0\r\n\r\n${hidden}`;
    return random.pick<() => string>([
      () => text.slice(0, at) + flipped + text.slice(at + 1),
      () => text.slice(0, at) + text.slice(at + length),
      () => text.slice(0, at) + part.repeat(2) + text.slice(at + length),
      () => text.slice(0, at) + odd + text.slice(at),
      () => text.replaceAll('\r\n', random.pick(['\n', '\r', '\r\r\n', '\n\r'])),
      () => text.slice(0, at),
      () => withField(`Content-Length: ${hidden.length}`, hidden),
      () => withField('Transfer-Encoding: chunked', chunked),
      () => withField('Content-Length: 5\r\nTransfer-Encoding: chunked', chunked),
      () => withField(`Transfer-Encoding: ${random.pick(['x', ' chunked', 'chunked, x'])}`, hidden),
      () => withField(random.pick(['X-A : b', ' folded', ': x', 'X-Api-Key', '\x00: x']), hidden),
      () => random.pick(before) + text,
      () =>
        withField(`Content-Length: ${random.pick(['5, 5', '99999999999999999999', '5'])}`, 'ab'),
      () => text + head(true) + head(false) + head(true),
      () => text.replace('\r\n', `\r\nX-Long: ${'z'.repeat(20_000)}\r\n`),
      () => many(300, () => String.fromCharCode(random.below(256))).join('') || '\0',
    ])();
  }

  return () => {
    const kind = random.next();
    isBroken = kind >= 0.8;
    if (kind < 0.1) return { bytes: head(true), isWhole: true, isClean: true };
    if (kind < 0.8) return { bytes: head(false), isWhole: true, isClean: false };
    return { bytes: broken(), isWhole: false, isClean: false };
  };
}
