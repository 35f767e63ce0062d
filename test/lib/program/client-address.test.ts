/** The client address of a request, also with forged and malformed X-Forwarded-For fields. */
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { clientAddress } from '#lib/program/client-address.ts';
import { readEnvironment } from '#lib/program/environment/environment.ts';

const trusting = (list: string) =>
  readEnvironment(['TRUSTED_PROXIES'], { TRUSTED_PROXIES: list }).TRUSTED_PROXIES;

const nobody = trusting('');
const proxies = trusting('10.0.0.0/8, 192.0.2.7, 2001:db8:aaaa::/48, ::1');

describe('the address of the connection', () => {
  test.each([
    ['203.0.113.9', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::203.0.113.9', '64:ff9b:0:0::/64'],
    ['2001:db8::ffff:203.0.113.9', '2001:db8:0:0::/64'],
    ['::ffff:c000:201:1', '0:0:0:0::/64'],
  ])('%s counts as %s', (address, expected) => {
    expect(clientAddress(address, undefined, nobody)).toBe(expected);
    // X-Forwarded-For has no effect unless the client is a trusted proxy.
    expect(clientAddress(address, '198.51.100.1', nobody)).toBe(expected);
  });

  test('is an empty text if the connection is already closed', () => {
    expect(clientAddress(undefined, undefined, proxies)).toBe('');
    expect(clientAddress(undefined, '198.51.100.1', proxies)).toBe('');
  });

  test('gives the same /64 for every spelling, and another one for the next /64', () => {
    const random = makeRandom(1);
    for (let i = 0; i < 500; i++) {
      const groups = Array.from({ length: 8 }, () =>
        random.happens(0.4) ? 0 : random.below(0x10000),
      );
      const short = groups.map((group) => group.toString(16)).join(':');
      const long = groups.map((group) => group.toString(16).padStart(4, '0').toUpperCase());
      const squeezed = new URL(`http://[${short}]`).hostname.slice(1, -1);
      const counted = [short, long.join(':'), squeezed].map((address) =>
        clientAddress(address, undefined, nobody),
      );
      const front = groups.slice(0, 4).map((group) => group.toString(16));
      expect(new Set(counted), short).toEqual(new Set([`${front.join(':')}::/64`]));
      groups[3] = groups[3] ^ 1;
      const next = groups.map((group) => group.toString(16)).join(':');
      expect(clientAddress(next, undefined, nobody)).not.toBe(counted[0]);
    }
  });
});

describe('a trusted proxy', () => {
  test.each([
    ['one hop', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a client that forged its own chain', '10.0.0.1', '1.2.3.4, 198.51.100.1', '198.51.100.1'],
    ['a chain of proxies', '192.0.2.7', '1.2.3.4, 198.51.100.1, 10.1.1.1', '198.51.100.1'],
    ['nothing but proxies', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['ports', '10.0.0.1', '198.51.100.1:51234', '198.51.100.1'],
    ['an IPv6 client', '10.0.0.1', '2001:db8:1:2:3::4', '2001:db8:1:2::/64'],
    ['an IPv6 client in brackets', '10.0.0.1', '[2001:db8:1:2:3::4]', '2001:db8:1:2::/64'],
    ['brackets and a port', '10.0.0.1', '[2001:db8:1:2:3::4]:443', '2001:db8:1:2::/64'],
    ['a mapped IPv4 client', '10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['a mapped IPv4 client in hexadecimal', '10.0.0.1', '::ffff:c633:6401', '198.51.100.1'],
    ['a mapped IPv4 proxy', '::ffff:10.0.0.1', '1.2.3.4, ::ffff:10.0.0.2', '1.2.3.4'],
    ['an IPv6 proxy', '2001:db8:aaaa:1::1', '198.51.100.1', '198.51.100.1'],
    ['a proxy on the same machine', '::1', '198.51.100.1', '198.51.100.1'],
    ['an address next to the range', '11.0.0.1', '198.51.100.1', '11.0.0.1'],
    ['an address next to the single one', '192.0.2.8', '198.51.100.1', '192.0.2.8'],
    ['an address next to the IPv6 range', '2001:db8:aaab::1', '1.2.3.4', '2001:db8:aaab:0::/64'],
  ])('is trusted as far as it should be: %s', (_, socket, forwarded, expected) => {
    expect(clientAddress(socket, forwarded, proxies)).toBe(expected);
  });

  test.each([
    '',
    'unknown',
    '198.51.100.1, unknown',
    '198.51.100.999',
    '[198.51.100.1',
    '198.51.100.0/24',
    'x198.51.100.1:80',
    '[2001:db8::1]x',
    '::ffff:198.51.100.1x',
  ])('is itself the client if it forwards %j', (forwarded) => {
    expect(clientAddress('10.0.0.1', forwarded, proxies)).toBe('10.0.0.1');
  });

  test('is itself the client if it forwards nothing', () => {
    expect(clientAddress('10.0.0.1', undefined, proxies)).toBe('10.0.0.1');
    expect(clientAddress('::1', undefined, proxies)).toBe('0:0:0:0::/64');
  });

  test('gives the last valid address before a malformed one', () => {
    expect(clientAddress('10.0.0.1', '1.2.3.4, junk, 10.0.0.2', proxies)).toBe('10.0.0.2');
  });

  test('reads at most 20 addresses', () => {
    const chain = (proxyHops: number) => `1.2.3.4${', 10.0.0.2'.repeat(proxyHops)}`;
    expect(clientAddress('10.0.0.1', chain(19), proxies)).toBe('1.2.3.4');
    expect(clientAddress('10.0.0.1', chain(20), proxies)).toBe('10.0.0.2');
    expect(clientAddress('10.0.0.1', `${'9'.repeat(100_000)}`, proxies)).toBe('10.0.0.1');
  });
});
