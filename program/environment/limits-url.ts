/**
 * Reads LIMITS_URL, the address of the Redis or Valkey server that holds the limits of all proxies. No
 * error quotes it, because it may contain a password.
 *
 *     redis://[[user]:password@]host[:6379][/database]
 *     redis+sentinel://[[user]:password@]host[:26379],host…/name[/database][?sentinelPassword=…]
 *
 * With rediss instead of redis, the connections use TLS.
 */
import type { RedisOptions } from 'ioredis';

/** With Sentinel: its addresses, and the name of the server that they watch. Otherwise a host and a port. */
export type LimitsAddress = RedisOptions;

const USER = /(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?/.source;
const SINGLE = new RegExp(`^redis(?<tls>s)?://${USER}(?<hosts>[^@/?#,]+)(?:/(?<db>\\d{0,5}))?$`);
const SENTINEL = new RegExp(
  `^redis(?<tls>s)?\\+sentinel://${USER}(?<hosts>[^@/?#]+)/(?<name>[^/?#]+)(?:/(?<db>\\d{0,5}))?(?:\\?sentinelPassword=(?<other>[^&#]*))?$`,
);
const HOST = /^(?<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?<port>\d{1,5}))?$/;

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
  const {
    tls,
    user,
    password,
    hosts = '',
    db,
    name,
    other,
  } = (SINGLE.exec(text) ?? SENTINEL.exec(text))?.groups ?? {};
  const nodes = hosts.split(',').map((host) => readNode(host, name === undefined ? 6379 : 26_379));
  const secrets = [user, password, other].map((secret = '') => decoded(secret));
  const known = nodes.filter((node) => node !== undefined);
  if (known.length < nodes.length || secrets.includes(undefined)) return undefined;
  const [username, plain, sentinelPassword] = secrets;
  const common = {
    ...(username && { username }),
    ...(plain && { password: plain }),
    db: Number(db ?? 0),
  };
  if (name === undefined) {
    return { ...common, ...known[0], ...(tls && { tls: { servername: known[0].host } }) };
  }
  return {
    ...common,
    sentinels: known,
    name,
    ...(sentinelPassword && { sentinelPassword }),
    ...(tls && { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} }),
  };
}

function readNode(text: string, usualPort: number): { host: string; port: number } | undefined {
  const { host, port = usualPort } = HOST.exec(text)?.groups ?? {};
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}

/** @returns undefined if the text is not percent-encoded correctly */
export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
