/** Keys as text: what OpenSSL makes of them, and what is refused without being quoted. */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readSigningKeys, readVerifyingKeys } from '../../../depot/signatures/configured-keys.ts';
import { makeKeyPair, readSigningKey, readVerifyingKey } from '../../../depot/signatures/keys.ts';
import { makeFolder } from '../../support/product.ts';

const rawOf = (text: string) => Buffer.from(text.slice(text.indexOf(':') + 1), 'base64');

test('a signature is that of Ed25519, as OpenSSL makes it', () => {
  const { privateKey, publicKey } = makeKeyPair();
  const folder = makeFolder();
  const [pem, text] = [path.join(folder, 'key.pem'), path.join(folder, 'text')];
  const der = Buffer.concat([
    Buffer.from('302e020100300506032b657004220420', 'hex'),
    rawOf(privateKey),
  ]).toString('base64');
  writeFileSync(pem, `-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`);
  writeFileSync(text, 'some text\n');
  const expected = execFileSync('openssl', [
    ...['pkeyutl', '-sign', '-inkey', pem, '-rawin', '-in', text],
  ]).toString('base64');
  const key = readSigningKey(privateKey);
  expect(key.sign('some text\n')).toBe(expected);
  expect(key.verifyingKey.text).toBe(publicKey);
  expect(key.verifyingKey.id).toBe(hash('sha256', rawOf(publicKey)).slice(0, 16));
  expect(readVerifyingKey(publicKey).verifies('some text\n', expected)).toBe(true);
  expect(readVerifyingKey(publicKey).verifies('some text', expected)).toBe(false);
});

test('keys are given as text or in files, several of them', () => {
  const [a, b, c] = [makeKeyPair(), makeKeyPair(), makeKeyPair()] as const;
  const file = path.join(makeFolder(), 'keys');
  writeFileSync(file, `# of 2026\n${b.publicKey}\n\n${c.publicKey}\n`);
  const ids = readVerifyingKeys(`${a.publicKey}, ${file}`).map(({ id }) => id);
  expect(ids).toEqual([a.id, b.id, c.id]);
  writeFileSync(file, `${a.privateKey}\n`);
  expect(readSigningKeys(file).map(({ verifyingKey }) => verifyingKey.id)).toEqual([a.id]);
  expect(readSigningKeys('')).toEqual([]);
  expect(readVerifyingKeys(' , ')).toEqual([]);
});

test('a wrong key is refused, and a private one is never quoted', () => {
  const { privateKey, publicKey } = makeKeyPair();
  const secret = privateKey.slice(-44);
  expect(() => readVerifyingKeys(privateKey)).toThrow(/holds a private key, which must stay/);
  expect(() => readSigningKeys(publicKey)).toThrow(/does not hold a private key/);
  const damaged = [privateKey.slice(0, -2), `${privateKey}=`, `x${privateKey}`, secret];
  for (const text of [privateKey, ...damaged]) {
    for (const read of [readVerifyingKeys, readSigningKeys]) {
      if (text === privateKey && read === readSigningKeys) continue;
      const error = (() => {
        try {
          return read(text);
        } catch (thrown) {
          return String((thrown as Error).message);
        }
      })();
      expect(error).toEqual(expect.any(String));
      expect(error).not.toContain(secret.slice(0, 20));
    }
  }
  expect(() => readVerifyingKeys('/no/such/file')).toThrow(/no such file can be read \(ENOENT\)/);
});
