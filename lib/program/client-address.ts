/**
 * Finds the client address that a request without a valid key, or for a sign-in link, is counted under.
 * Entries of `X-Forwarded-For` are used only if trusted proxies wrote them.
 */
import { type BlockList, isIP, SocketAddress } from 'node:net';

/** Only the last hops, up to this many, are read: no real chain of proxies is longer. */
const MOST_HOPS = 20;

/**
 * The address that a request is counted under: an IPv4 address, or the /64 of an IPv6 one, since a
 * single client commonly holds a whole /64; empty if it is not known.
 * @param socketAddress the remote address of the connection; undefined once the connection is closed
 * @param forwardedFor the X-Forwarded-For header, with all of its lines joined by commas
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
  trusted: BlockList,
): string {
  let address = withoutMapping(socketAddress ?? '');
  if (forwardedFor !== undefined && isTrusted(address, trusted)) {
    // From the right: each entry was written by the proxy whose address is the next one to the right.
    for (const hop of forwardedFor.split(',').slice(-MOST_HOPS).reverse()) {
      const next = withoutMapping(withoutPort(hop.trim()));
      if (isIP(next) === 0) break;
      address = next;
      if (!isTrusted(address, trusted)) break;
    }
  }
  return isIP(address) === 6 ? prefix64(address) : address;
}

/** Whether an address belongs to a trusted proxy. @param address without IPv4 mapping and port */
export function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/**
 * Removes the zone of an IPv6 address, and turns an IPv4-mapped one ("::ffff:192.0.2.1" or
 * "::ffff:c000:201") into the IPv4 address.
 */
export function withoutMapping(address: string): string {
  const plain = address.split('%', 1)[0];
  if (isIP(plain) !== 6) return plain;
  const canonical = new SocketAddress({ address: plain, family: 'ipv6' }).address;
  return /^::ffff:([\d.]+)$/.exec(canonical)?.[1] ?? plain;
}

function withoutPort(hop: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
}

function prefix64(address: string): string {
  // The URL parser writes every IPv6 address in one canonical form, also one that ends in IPv4 form.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [start, end = []] = canonical.split('::').map((part) => (part ? part.split(':') : []));
  const zeros = new Array(8 - start.length - end.length).fill('0');
  return `${[...start, ...zeros, ...end].slice(0, 4).join(':')}::/64`;
}
