/** Addresses in the configuration that other machines cannot reach. */
import { isIPv4 } from 'node:net';

const LOCAL_NAME = /(?:^|\.)localhost(?:\.localdomain)?\.?$/;
const LOCAL_IPV6 = /^\[::(?:1|ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4})?\]$/;

/** Whether the host of an address is, for every client, its own machine. */
function isLocal(address: string): boolean {
  const { hostname } = new URL(address);
  if (isIPv4(hostname)) return hostname.startsWith('127.') || hostname === '0.0.0.0';
  return LOCAL_NAME.test(hostname) || LOCAL_IPV6.test(hostname);
}

/**
 * Finds addresses in the configuration that other machines cannot reach.
 * @param addresses the address in each variable, by the variable's name
 * @param isSet tells whether a variable is set
 * @returns a clause for each of them
 */
export function findLocalAddresses(
  addresses: Readonly<Record<string, string>>,
  isSet: (name: string) => boolean,
): string[] {
  return Object.entries(addresses)
    .filter(([, address]) => isLocal(address))
    .map(([name, address]) => {
      const where = isSet(name) ? `is ${address}` : `is not set and therefore ${address}`;
      return `${name} ${where}, which only this machine can reach`;
    });
}
