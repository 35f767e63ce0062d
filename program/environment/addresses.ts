/** Lists of addresses and CIDR ranges, as values of the environment. */
import { BlockList, isIP } from 'node:net';

/** @throws Error saying what is allowed, as the end of "NAME …" */
export function parseAddresses(text: string): BlockList {
  const list = new BlockList();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const [address = '', bits, ...rest] = entry.split('/');
    const version = isIP(address);
    const family = version === 6 ? 'ipv6' : 'ipv4';
    const longest = version === 6 ? 128 : 32;
    const length = bits === undefined ? longest : prefixLength(bits);
    if (version === 0 || rest.length > 0 || length === undefined || length > longest) {
      throw new Error(
        `must list addresses or CIDR ranges such as 10.0.0.0/8, not ${JSON.stringify(entry)}.`,
      );
    }
    list.addSubnet(address, length, family);
  }
  return list;
}

function prefixLength(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
