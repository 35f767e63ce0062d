/**
 * Whose request it is: the address of the client, as the limit on requests without a valid key
 * counts it. `X-Forwarded-For` is believed only as far as trusted proxies wrote it.
 */
import { type BlockList, isIP } from 'node:net';

/** More hops than this are not looked at: nobody's chain of proxies is that long. */
const MOST_HOPS = 20;

/**
 * The address that a request is counted under: an IPv4 address, or the /64 of an IPv6 one, since a
 * single client commonly holds a whole /64.
 * @param socketAddress of the connection; undefined once it is gone
 * @param forwardedFor the X-Forwarded-For header, all of its lines joined with commas
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trusted: BlockList,
): string {
  let address = withoutMapping(socketAddress ?? '');
  if (forwardedFor !== undefined && isTrusted(address, trusted)) {
    // From the right: each hop was written by the proxy that the hop to its right is.
    for (const hop of forwardedFor.split(',').slice(-MOST_HOPS).reverse()) {
      const next = withoutMapping(withoutPort(hop.trim()));
      if (isIP(next) === 0) break;
      address = next;
      if (!isTrusted(address, trusted)) break;
    }
  }
  return isIP(address) === 6 ? prefix64(address) : address;
}

/** Whether a proxy is believed; the address has no mapping and no port. */
export function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/** "::ffff:192.0.2.1", or "::ffff:c000:201", is how an IPv4 client may be shown in IPv6. */
export function withoutMapping(address: string): string {
  const plain = address.split('%', 1)[0];
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  const halves = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(plain);
  if (halves === null) return plain;
  return halves
    .slice(1)
    .map((half) => Number.parseInt(half, 16))
    .flatMap((half) => [half >>> 8, half & 255])
    .join('.');
}

function withoutPort(hop: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
}

function prefix64(address: string): string {
  // The URL parser writes an IPv6 address in its one canonical form, IPv4 tails included.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [front = '', back] = canonical.split('::') as [string, string?];
  const groups = front === '' ? [] : front.split(':');
  if (back !== undefined) {
    const tail = back === '' ? [] : back.split(':');
    while (groups.length + tail.length < 8) groups.push('0');
    groups.push(...tail);
  }
  return `${groups.slice(0, 4).join(':')}::/64`;
}
