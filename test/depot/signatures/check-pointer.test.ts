/** Which pointers are accepted, and what each refusal is called. */

import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  checkManifestBytes,
  checkPointer,
  signPointer,
} from '../../../depot/signatures/check-pointer.ts';
import { makeKeyPair, readSigningKey } from '../../../depot/signatures/keys.ts';
import { type Pointer, signedText } from '../../../format/pointer.ts';

const MANIFEST = Buffer.from('{"the": "manifest"}\n');
const BODY = {
  format_version: 1,
  sequence: 20,
  id: '000007-2894d4cb1edd',
  manifest_sha256: hash('sha256', MANIFEST),
  published_at: '2026-11-22T18:33:55.204Z',
} as const;

const [first, second, stranger] = [makeKeyPair(), makeKeyPair(), makeKeyPair()].map((pair) =>
  readSigningKey(pair.privateKey),
) as [
  ReturnType<typeof readSigningKey>,
  ReturnType<typeof readSigningKey>,
  ReturnType<typeof readSigningKey>,
];
const KEYS = [first.verifyingKey, second.verifyingKey];

const kindOf = (pointer: Pointer, keys = KEYS, last?: Parameters<typeof checkPointer>[2]) =>
  checkPointer(pointer, keys, last)?.kind;

describe('a pointer is accepted', () => {
  test('with the signature of any configured key', () => {
    expect(kindOf(signPointer(BODY, [first]))).toBeUndefined();
    expect(kindOf(signPointer(BODY, [second]))).toBeUndefined();
    expect(kindOf(signPointer(BODY, [stranger, second]))).toBeUndefined();
  });

  test('without a signature only if no key is configured', () => {
    expect(kindOf(signPointer(BODY, []), [])).toBeUndefined();
    expect(kindOf(signPointer(BODY, [stranger]), [])).toBeUndefined();
    expect(kindOf(signPointer(BODY, []))).toBe('unsigned');
  });

  test('if it is the last one again, or newer', () => {
    const pointer = signPointer(BODY, [first]);
    expect(kindOf(pointer, KEYS, BODY)).toBeUndefined();
    expect(
      kindOf(pointer, KEYS, { ...BODY, sequence: 19, id: '000009-2894d4cb1edd' }),
    ).toBeUndefined();
  });
});

describe('a pointer is refused', () => {
  test('with a key that is not configured', () => {
    const refusal = checkPointer(signPointer(BODY, [stranger]), KEYS, undefined);
    expect(refusal?.kind).toBe('wrong-key');
    expect(refusal?.message).toContain(stranger.verifyingKey.id);
    expect(refusal?.message).toContain(first.verifyingKey.id);
  });

  test.each(['sequence', 'id', 'manifest_sha256', 'published_at'] as const)(
    'if its %s was changed after it was signed',
    (name) => {
      const changed = {
        sequence: 21,
        id: '000008-2894d4cb1edd',
        manifest_sha256: '1'.repeat(64),
        published_at: '2026-11-22T18:33:55.205Z',
      };
      const pointer = { ...signPointer(BODY, [first]), [name]: changed[name] };
      expect(kindOf(pointer)).toBe('wrong-signature');
      expect(kindOf(pointer, [])).toBeUndefined();
    },
  );

  test('if one key signed in the name of another', () => {
    const [by] = signPointer(BODY, [stranger]).signatures;
    const forged = {
      ...BODY,
      signatures: [{ key: first.verifyingKey.id, signature: by?.signature ?? '' }],
    };
    expect(kindOf(forged)).toBe('wrong-signature');
  });

  test('if it is older than the accepted one: a downgrade, or a replay after a rollback', () => {
    const pointer = signPointer(BODY, [first]);
    const newer = { ...BODY, sequence: 21, id: '000008-2894d4cb1edd' };
    expect(kindOf(pointer, KEYS, newer)).toBe('downgrade');
    expect(kindOf(pointer, KEYS, { ...newer, id: '000006-2894d4cb1edd' })).toBe('replay');
    expect(kindOf(pointer, [], newer)).toBe('downgrade');
  });

  test('if it has the sequence of another pointer', () => {
    const pointer = signPointer(BODY, [first]);
    expect(kindOf(pointer, KEYS, { ...BODY, id: '000008-2894d4cb1edd' })).toBe('conflict');
    expect(kindOf(pointer, KEYS, { ...BODY, manifest_sha256: '1'.repeat(64) })).toBe('conflict');
  });
});

test('only the manifest that the pointer names is accepted', () => {
  const pointer = signPointer(BODY, [first]);
  expect(checkManifestBytes(pointer, MANIFEST)).toBeUndefined();
  const other = Buffer.from(MANIFEST);
  other[3] = 0x58;
  expect(checkManifestBytes(pointer, other)?.kind).toBe('other-manifest');
});

test('no other text can be taken for a pointer that was signed', () => {
  const { signatures, ...body } = signPointer(BODY, [first]);
  expect(signedText(body)).toMatch(/^cover-catalogue pointer 1\n/);
  expect(signatures).toHaveLength(1);
});
