/** The pointer of a remote store: its form, and what is signed. */
import { describe, expect, test } from 'vitest';
import { encodePointer, type Pointer, parsePointer, signedText } from '../../format/pointer.ts';

const POINTER: Pointer = {
  format_version: 1,
  sequence: 1_795_372_435_204,
  id: '000002-2894d4cb1edd',
  manifest_sha256: '0'.repeat(64),
  published_at: '2026-11-22T18:33:55.204Z',
  signatures: [{ key: '0123456789abcdef', signature: `${'A'.repeat(86)}==` }],
};

test('is read as it was written', () => {
  expect(parsePointer(encodePointer(POINTER))).toEqual(POINTER);
  const unsigned = { ...POINTER, signatures: [] };
  expect(parsePointer(encodePointer(unsigned))).toEqual(unsigned);
});

describe('a damaged pointer is refused, with the name of the member', () => {
  test.each([
    ['sequence', [0, -1, 1.5, 2 ** 53, '1', null]],
    ['id', ['1-a', '000002-2894d4cb1edd/..', 7]],
    ['manifest_sha256', ['0'.repeat(63), 'A'.repeat(64), 7]],
    ['published_at', ['2026-11-22', '2026-11-22T18:33:55.204+01:00', 'now', 0]],
    [
      'signatures',
      [
        undefined,
        {},
        [{}],
        [{ key: '0123456789abcdef', signature: 'short' }],
        [{ key: 'X', signature: `${'A'.repeat(86)}==` }],
        Array.from({ length: 17 }, () => POINTER.signatures[0]),
      ],
    ],
  ])('%s', (name, values) => {
    for (const value of values) {
      const text = JSON.stringify({ ...POINTER, [name]: value });
      expect(() => parsePointer(text)).toThrow(`"${name}" is wrong`);
    }
  });

  test('as a whole', () => {
    expect(() => parsePointer('')).toThrow(/not JSON/);
    expect(() => parsePointer('[]')).toThrow(/not an object/);
    const text = JSON.stringify({ ...POINTER, format_version: 2 });
    expect(() => parsePointer(text)).toThrow(/version 2; this program reads version 1/);
  });
});

test('every member but the signatures changes what is signed', () => {
  const texts = new Set([
    signedText(POINTER),
    signedText({ ...POINTER, sequence: 7 }),
    signedText({ ...POINTER, id: '000003-2894d4cb1edd' }),
    signedText({ ...POINTER, manifest_sha256: '1'.repeat(64) }),
    signedText({ ...POINTER, published_at: '2026-11-22T18:33:55.205Z' }),
  ]);
  expect(texts.size).toBe(5);
  expect(signedText(POINTER)).toBe(signedText({ ...POINTER, signatures: [] } as Pointer));
});
