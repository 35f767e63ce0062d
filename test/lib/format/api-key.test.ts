/** The form of a key, how it is stored, and which keys files are refused. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { hashKey, isWellFormedKey, makeKey, SHOWN_CHARACTERS } from '#lib/format/api-key.ts';
import { encodeKeys, type KeyEntry, parseKeys } from '#lib/format/keys-file.ts';

const HASH = 'a'.repeat(64);
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The checksum as the contract defines it: CRC-32 in base62, six characters. */
function withChecksum(body: string): string {
  let rest = BigInt(crc32(body));
  let digits = '';
  for (; digits.length < 6; rest /= 62n) digits = BASE62[Number(rest % 62n)] + digits;
  return body + digits;
}

describe('a key', () => {
  const keys = Array.from({ length: 500 }, makeKey);

  test('is cck_, 32 random characters and their checksum', () => {
    for (const key of keys) {
      expect(key).toMatch(/^cck_[0-9A-Za-z]{38}$/);
      expect(withChecksum(key.slice(0, -6))).toBe(key);
      expect(isWellFormedKey(key)).toBe(true);
    }
    expect(new Set(keys.map((key) => key.slice(0, SHOWN_CHARACTERS))).size).toBeGreaterThan(490);
    // All 62 characters are equally likely, so each occurs among 16,000.
    expect(new Set(keys.map((key) => key.slice(4, 36)).join('')).size).toBe(62);
  });

  test('is valid when its checksum starts with zeros', () => {
    const bodies = Array.from({ length: 5_000 }, (_, i) => `cck_${String(i).padStart(32, 'a')}`);
    const key = bodies.map(withChecksum).find((text) => text.at(-6) === '0') as string;
    expect(isWellFormedKey(key)).toBe(true);
  });

  test('is invalid with any one character changed, added or left out', () => {
    const random = makeRandom(1);
    for (const key of keys.slice(0, 50)) {
      for (let at = 0; at < key.length; at++) {
        const other = random.pick([...BASE62].filter((letter) => letter !== key[at]));
        expect(isWellFormedKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
        expect(isWellFormedKey(key.slice(0, at) + other + key.slice(at))).toBe(false);
        expect(isWellFormedKey(key.slice(0, at) + key.slice(at + 1))).toBe(false);
      }
    }
  });

  test.each(['', 'cck_', ' KEY', 'KEY ', 'KEY\n', 'KEYKEY', 'CCK_KEY', '\u{1f511}', '__proto__'])(
    'is never %j',
    (text) => {
      expect(isWellFormedKey(text.replaceAll('KEY', keys[0]))).toBe(false);
    },
  );

  test('is invalid with other characters, even if the checksum is right', () => {
    for (const body of [
      `cck_${'-'.repeat(32)}`,
      `cck_${'é'.repeat(32)}`,
      `abc_${'a'.repeat(32)}`,
      `xcck_${'a'.repeat(32)}`,
      `cck_${'a'.repeat(33)}`,
    ]) {
      expect(isWellFormedKey(withChecksum(body)), body).toBe(false);
    }
  });

  test('is stored as its SHA-256', () => {
    const [key = ''] = keys;
    expect(hashKey(key)).toBe(createHash('sha256').update(key).digest('hex'));
  });
});

describe('the keys file', () => {
  const entry = (id: number, state: KeyEntry['state'] = 'approved', limit = 120): KeyEntry => ({
    id,
    hash: hashKey(`key ${id}`),
    state,
    limit,
  });
  const keys = [entry(12, 'rejected', 1), entry(2, 'revoked', 1_000_000), entry(9)];
  const file = (change: object) =>
    JSON.stringify({ version: 1, keys: [{ ...entry(1), ...change }] });

  test('is read as it was written: in the order of ids, one key per line', () => {
    const text = encodeKeys(keys);
    expect(parseKeys(text)).toEqual([keys[1], keys[2], keys[0]]);
    expect(text.split('\n')).toHaveLength(keys.length + 3);
    expect(encodeKeys([...keys].reverse())).toBe(text);
    expect(encodeKeys([])).toBe('{"version":1,"keys":[]}\n');
    expect(parseKeys(encodeKeys([]))).toEqual([]);
  });

  test('keeps no fields beyond its own, when read or written', () => {
    expect(parseKeys(file({ key: 'cck_secret', email: 'a@example.org' }))).toEqual([entry(1)]);
    expect(encodeKeys([{ ...entry(1), key: 'cck_secret' } as KeyEntry])).not.toContain('secret');
  });

  test('is refused when it is cut short, at any length', () => {
    const text = encodeKeys(keys).trimEnd();
    for (let end = 0; end < text.length; end++) {
      expect(() => parseKeys(text.slice(0, end))).toThrow('keys.json is damaged: it is not JSON.');
    }
    // The log shows the cause, with the position of the fault in the JSON.
    const cause = expect.any(SyntaxError);
    expect(() => parseKeys('{')).toThrow(expect.objectContaining({ cause }));
  });

  const wrong: object[] = [
    ...['1', 1.5, null, 2 ** 53].map((id) => ({ id })),
    ...[null, 'ab', 'A'.repeat(64), `${HASH}\n`, `x${HASH}`, [HASH]].map((hash) => ({ hash })),
    ...['pending', 1, null].map((state) => ({ state })),
    ...[0, -1, 1.5, 1_000_001, '120', null].map((limit) => ({ limit })),
    ...['', 'soon', 0, null].map((ends_at) => ({ ends_at })),
  ];

  test.each([
    ['version 2; this program reads version 1', ['{"version":2,"keys":[]}']],
    ['it is not an object', ['null', '1', '[]']],
    ['has version', ['{}', '{"keys":[]}', '{"version":"1","keys":[]}']],
    ['"keys" is not a list', ['{"version":1}', '{"version":1,"keys":{}}']],
    ['entry 1 is not a key', ['{"version":1,"keys":[null]}', ...wrong.map(file)]],
  ])('is refused: %s', (fault, texts) => {
    for (const text of texts) {
      expect(() => parseKeys(text), text).toThrow(/^keys\.json /);
      expect(() => parseKeys(text), text).toThrow(fault);
    }
  });
});
