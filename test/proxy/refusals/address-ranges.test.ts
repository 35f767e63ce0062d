/** Lists of addresses: which lines are read, and which addresses they contain. */
import { BlockList } from 'node:net';
import { describe, expect, test } from 'vitest';
import {
  contains,
  countRanges,
  parseAddressRanges,
} from '../../../proxy/refusals/address-ranges.ts';
import { makeRandom } from '../../catalogue/random.ts';

describe.each([
  ['203.0.113.7', ['203.0.113.7'], ['203.0.113.6', '203.0.113.8', '::203.0.113.7']],
  ['198.51.100.9/24', ['198.51.100.0', '198.51.100.255'], ['198.51.99.255', '198.51.101.0']],
  ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255'], ['::', '2001:db8::1']],
  ['2001:DB8:77::/48', ['2001:db8:77::', '2001:db8:77:ffff::1'], ['2001:db8:78::', '1.2.3.4']],
  ['2001:db8::192.0.2.1', ['2001:db8::c000:201'], ['2001:db8::c000:202', '192.0.2.1']],
  ['::/0', ['::', 'ffff::1'], ['1.2.3.4']],
  ['::ffff:192.0.2.1', ['192.0.2.1'], ['192.0.2.2', '::1']],
  ['::ffff:c000:200/120', ['192.0.2.0', '192.0.2.255'], ['192.0.3.0']],
])('%s', (line, inside, outside) => {
  const ranges = parseAddressRanges(line);

  test.each(inside)('contains %s', (address) => {
    expect(contains(ranges, address)).toBe(true);
  });

  test.each([...outside, '', 'unknown'])('does not contain %j', (address) => {
    expect(contains(ranges, address)).toBe(false);
  });
});

test('comments, blank lines and spaces are ignored', () => {
  const ranges = parseAddressRanges('# nobody\r\n\r\n  192.0.2.1  # one\n192.0.2.1/32\n\t#\n');
  expect(countRanges(ranges)).toBe(1);
  expect(contains(ranges, '192.0.2.1')).toBe(true);
});

test('every wrong line is counted, and the first five are named', () => {
  const wrong = ['example.org', '192.0.2.256', '192.0.2.0/33', '192.0.2.1-9', '::1/129'];
  const further = [
    'fe80::1%eth0',
    '::ffff:192.0.2.0/95',
    '192.0.2.0/',
    '1.2.3.4/5/6',
    '1.2.3.4/-1',
  ];
  for (const line of [...wrong, ...further]) {
    expect(() => parseAddressRanges(`192.0.2.1\n${line}\n`)).toThrow(
      `such as 192.0.2.0/24: line 2: ${JSON.stringify(line)}.`,
    );
  }
  const all = () => parseAddressRanges(['# list', ...wrong, ...further].join('\n'));
  expect(all).toThrow('line 2: "example.org", line 3: "192.0.2.256", line 4: "192.0.2.0/33"');
  expect(all).toThrow('line 6: "::1/129" and 5 more.');
});

test('a random list contains the same addresses as that of Node', () => {
  const random = makeRandom(3);
  const groups = (count: number, base: 16 | 10) =>
    Array.from({ length: count }, () => random.below(base === 16 ? 3 : 4).toString(base));
  const makeAddress = (isIpv4: boolean) =>
    isIpv4 ? groups(4, 10).join('.') : groups(8, 16).join(':');
  for (let round = 0; round < 30; round++) {
    const known = new BlockList();
    const lines: string[] = [];
    for (let entry = 0; entry < 20; entry++) {
      const isIpv4 = random.below(2) === 0;
      const address = makeAddress(isIpv4);
      const bits = (isIpv4 ? 20 : 100) + random.below(isIpv4 ? 13 : 29);
      known.addSubnet(address, bits, isIpv4 ? 'ipv4' : 'ipv6');
      lines.push(`${address}/${bits}`);
    }
    const ranges = parseAddressRanges(lines.join('\n'));
    for (let probe = 0; probe < 300; probe++) {
      const isIpv4 = random.below(2) === 0;
      const address = makeAddress(isIpv4);
      const isKnown = known.check(address, isIpv4 ? 'ipv4' : 'ipv6');
      expect(contains(ranges, address), `${address} in ${lines}`).toBe(isKnown);
    }
  }
});
