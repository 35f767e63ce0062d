/**
 * Reads LIMITS_URL, the address of the Redis or Valkey server that holds the limits of all proxies. No
 * error quotes it, because it may contain a password.
 *
 *     redis://[[user]:password@]host[:6379][/database]
 *     redis+sentinel://[[user]:password@]host[:26379],host…/name[/database][?sentinelPassword=…]
 *
 * With rediss instead of redis, the connections use TLS.
 */

/** The members are options of ioredis. */
export interface LimitsAddress {
  readonly username?: string;
  readonly password?: string;
  readonly db: number;
  readonly tls?: { readonly servername?: string };
  readonly host?: string;
  readonly port?: number;
  /** With Sentinel: its addresses, and the name of the server that they watch. */
  readonly sentinels?: { readonly host: string; readonly port: number }[];
  readonly name?: string;
  readonly sentinelPassword?: string;
  readonly enableTLSForSentinelMode?: boolean;
  readonly sentinelTLS?: object;
}

const SINGLE_PORT = 6379;
const SENTINEL_PORT = 26_379;
const URL_FORM =
  /^redis(?<tls>s)?(?<sentinel>\+sentinel)?:\/\/(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?(?<hosts>[^@/?#]+)(?:\/(?<path>[^?#]*))?(?:\?(?<query>[^#]*))?$/;
const HOST_FORM = /^(?<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?<port>\d{1,5}))?$/;

/**
 * @returns undefined for an empty text: each proxy has limits of its own
 * @throws Error that says what is allowed and continues the sentence "LIMITS_URL …"
 */
export function parseLimitsUrl(text: string): LimitsAddress | undefined {
  if (text === '') return undefined;
  const address = readAddress(text);
  if (address !== undefined) return address;
  throw new Error(
    'must be redis://user:password@host:6379/0, rediss://… for TLS, or redis+sentinel://host:26379,host:26379/name (special characters percent-encoded).',
  );
}

function readAddress(text: string): LimitsAddress | undefined {
  const { tls, sentinel, user, password, hosts, path, query } = URL_FORM.exec(text)?.groups ?? {};
  if (hosts === undefined) return undefined;
  const isSentinel = sentinel !== undefined;
  const nodes = hosts.split(',').map((host) => readNode(host, isSentinel));
  const segments = (path ?? '').split('/').filter((segment) => segment !== '');
  const name = isSentinel ? (segments.shift() ?? '') : '';
  const [database = '0', ...others] = segments;
  const options = new URLSearchParams(query ?? '');
  const sentinelPassword = options.get('sentinelPassword') ?? undefined;
  const isKnown = [...options.keys()].every((key) => isSentinel && key === 'sentinelPassword');
  const known = nodes.filter((node) => node !== undefined);
  const isWhole =
    known.length === nodes.length &&
    (isSentinel ? name !== '' : nodes.length === 1) &&
    /^\d{1,5}$/.test(database) &&
    others.length === 0 &&
    isKnown;
  if (!isWhole) return undefined;
  const [username, secret] = [decode(user), decode(password)];
  if (username === null || secret === null) return undefined;
  return {
    ...(username ? { username } : {}),
    ...(secret ? { password: secret } : {}),
    db: Number(database),
    ...(isSentinel
      ? {
          sentinels: known,
          name,
          ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
          ...(tls ? { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
        }
      : { ...known[0], ...(tls ? { tls: { servername: known[0].host } } : {}) }),
  };
}

function readNode(text: string, isSentinel: boolean): { host: string; port: number } | undefined {
  const { host, port } = HOST_FORM.exec(text)?.groups ?? {};
  if (host === undefined) return undefined;
  const number = Number(port ?? (isSentinel ? SENTINEL_PORT : SINGLE_PORT));
  return number < 1 || number > 65_535
    ? undefined
    : { host: host.replace(/^\[|\]$/g, ''), port: number };
}

/** @returns null if the text is not percent-encoded correctly */
function decode(text: string | undefined): string | undefined | null {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return null;
  }
}
