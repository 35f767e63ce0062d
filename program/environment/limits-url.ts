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

const FORM =
  /^redis(s)?(\+sentinel)?:\/\/(?:([^:@/?#]*)(?::([^@/?#]*))?@)?([^@/?#]+)((?:\/[^/?#]*)*)(?:\?sentinelPassword=([^&#]*))?$/;
const NODE = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?$/;

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
  const [, tls, sentinel, user, word, hosts = '', path = '', other] = FORM.exec(text) ?? [];
  const parts = path.split('/').slice(1);
  const name = sentinel === undefined ? undefined : parts.shift();
  const [db = '', ...rest] = parts;
  const usualPort = sentinel === undefined ? 6379 : 26_379;
  const nodes = hosts.split(',').map((host) => readNode(host, usualPort));
  const sentinels = nodes.filter((node) => node !== undefined);
  const secrets = [user, word, other].map((secret = '') => decoded(secret));
  const isFitting = sentinel === undefined ? nodes.length === 1 && other === undefined : name;
  const isWhole = sentinels.length === nodes.length && !secrets.includes(undefined);
  if (!isFitting || !isWhole || rest.length > 0 || !/^\d{0,5}$/.test(db)) return undefined;
  const [username, password, sentinelPassword] = secrets;
  const common = {
    ...(username && { username }),
    ...(password && { password }),
    db: Number(db),
  };
  if (name === undefined) {
    const [node] = sentinels;
    return { ...common, ...node, ...(tls && { tls: { servername: node.host } }) };
  }
  return {
    ...{ ...common, sentinels, name },
    ...(sentinelPassword && { sentinelPassword }),
    ...(tls && { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} }),
  };
}

function readNode(text: string, usualPort: number): { host: string; port: number } | undefined {
  const [, host, port = usualPort] = NODE.exec(text) ?? [];
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
