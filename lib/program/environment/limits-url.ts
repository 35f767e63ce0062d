/**
 * Reads LIMITS_URL, the address of the Redis or Valkey server that holds the limits of all proxies.
 *
 *     redis://[[user]:password@]host[:6379][/database]
 *     redis+sentinel://[[user]:password@]host[:26379],host…/name[/database][?sentinelPassword=…]
 *
 * With rediss instead of redis, the connections use TLS.
 */
import { isIP } from 'node:net';
import type { RedisOptions } from 'ioredis';

/** With Sentinel: its addresses, and the name of the server that they watch. Otherwise a host and a port. */
export type LimitsAddress = RedisOptions;

const USER = '(?:(?<user>[^:@/?#]*)(?::(?<word>[^@/?#]*))?@)?';
const SERVER = new RegExp(`^redis(?<tls>s)?://${USER}(?<hosts>[^,@/?#]+)(?:/(?<db>\\d*))?$`);
const SENTINEL = new RegExp(
  `^redis(?<tls>s)?\\+sentinel://${USER}(?<hosts>[^@/?#]+)/(?<name>[^@/?#]+)(?:/(?<db>\\d*))?(?:\\?sentinelPassword=(?<other>[^&#]*))?$`,
);

/** @throws Error, or returns undefined, if the text has another form */
export function readLimitsUrl(text: string): LimitsAddress | undefined {
  const groups = (SERVER.exec(text) ?? SENTINEL.exec(text))?.groups;
  if (groups === undefined) return undefined;
  const { tls, user = '', word = '', hosts, name, db, other = '' } = groups;
  const nodes = hosts.split(',').map((host) => readNode(host, name ? 26_379 : 6_379));
  const address = {
    ...(user && { username: decodeURIComponent(user) }),
    ...(word && { password: decodeURIComponent(word) }),
    db: Number(db ?? 0),
  };
  if (name === undefined) {
    const [node] = nodes;
    // An IP address is not a server name (RFC 6066, section 3).
    const servername = isIP(node.host) === 0 ? { servername: node.host } : {};
    return { ...address, ...node, ...(tls && { tls: servername }) };
  }
  return {
    ...address,
    sentinels: nodes,
    name,
    ...(other && { sentinelPassword: decodeURIComponent(other) }),
    ...(tls && { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} }),
  };
}

/** @throws Error if it is not a host, with or without a port */
function readNode(text: string, usualPort: number): { host: string; port: number } {
  const { hostname, port } = new URL(`redis://${text}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || usualPort) };
}
