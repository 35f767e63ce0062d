/**
 * Lists of addresses and CIDR ranges: reads the file that an operator writes, and finds an address in
 * such a list. Finding takes the logarithm of the number of ranges, so long lists cost little.
 */
import { isIP } from 'node:net';
import { withoutMapping } from '../limits/client-address.ts';

/** The sorted ranges of one family. They do not overlap; both ends belong to a range. */
interface Ranges {
  readonly starts: readonly bigint[];
  readonly ends: readonly bigint[];
}

/** A list in memory; it can be sent to another thread. */
export interface AddressRanges {
  readonly ipv4: Ranges;
  readonly ipv6: Ranges;
}

interface Range {
  readonly start: bigint;
  readonly end: bigint;
}

/** The length of the prefix of IPv4-mapped addresses, ::ffff:0:0/96. */
const MAPPED_BITS = 96;
/** How many faults an error names. */
const MOST_FAULTS = 5;

/**
 * @param text one address or CIDR range a line; "#" begins a comment
 * @throws Error that names the lines that are neither
 */
export function parseAddressRanges(text: string): AddressRanges {
  const ranges: Record<4 | 6, Range[]> = { 4: [], 6: [] };
  const faults: string[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const entry = line.split('#', 1)[0].trim();
    if (entry === '') continue;
    const found = parseEntry(entry);
    if (found === undefined)
      faults.push(`line ${index + 1}: ${JSON.stringify(entry.slice(0, 80))}`);
    else ranges[found.family].push(found.range);
  }
  if (faults.length > 0) {
    const more = faults.length > MOST_FAULTS ? ` and ${faults.length - MOST_FAULTS} more` : '';
    throw new Error(
      `Not an address or a CIDR range such as 192.0.2.0/24: ${faults.slice(0, MOST_FAULTS).join(', ')}${more}.`,
    );
  }
  return { ipv4: merge(ranges[4]), ipv6: merge(ranges[6]) };
}

/** @param address without IPv4 mapping and zone; anything else is in no list */
export function contains({ ipv4, ipv6 }: AddressRanges, address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  const { starts, ends } = family === 4 ? ipv4 : ipv6;
  const number = toNumber(address, family as 4 | 6);
  let [from, to] = [0, starts.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (starts[middle] <= number) from = middle + 1;
    else to = middle;
  }
  // `from` is now the first range that starts after the address.
  return from > 0 && number <= ends[from - 1];
}

/** How many ranges a list has; overlapping ones count as one. */
export function countRanges({ ipv4, ipv6 }: AddressRanges): number {
  return ipv4.starts.length + ipv6.starts.length;
}

function parseEntry(entry: string): { family: 4 | 6; range: Range } | undefined {
  const [written = '', bits, ...rest] = entry.split('/');
  if (isIP(written) === 0 || written.includes('%') || rest.length > 0) return undefined;
  if (bits !== undefined && !/^\d{1,3}$/.test(bits)) return undefined;
  const address = withoutMapping(written);
  const family = isIP(address) as 4 | 6;
  const longest = family === 4 ? 32 : 128;
  const removed = address === written ? 0 : MAPPED_BITS;
  const length = bits === undefined ? longest : Number(bits) - removed;
  if (length < 0 || length > longest) return undefined;
  const size = 1n << BigInt(longest - length);
  const number = toNumber(address, family);
  const start = number - (number % size);
  return { family, range: { start, end: start + size - 1n } };
}

function toNumber(address: string, family: 4 | 6): bigint {
  if (family === 4) {
    return BigInt(address.split('.').reduce((number, byte) => number * 256 + Number(byte), 0));
  }
  // The URL parser writes every IPv6 address in one form, also one that ends in IPv4 form.
  const [front = '', back] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groupsOf = (text = '') => (text === '' ? [] : text.split(':'));
  const [before, after] = [groupsOf(front), groupsOf(back)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const digits = [...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join('');
  return BigInt(`0x${digits}`);
}

function merge(ranges: readonly Range[]): Ranges {
  const starts: bigint[] = [];
  const ends: bigint[] = [];
  for (const { start, end } of ranges.toSorted((a, b) => (a.start < b.start ? -1 : 1))) {
    const last = ends.at(-1);
    if (last === undefined || start > last) {
      starts.push(start);
      ends.push(end);
    } else if (end > last) ends[ends.length - 1] = end;
  }
  return { starts, ends };
}
