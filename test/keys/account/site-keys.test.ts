/** The settings that verify the site's assertions: a secret or public keys. Mixing them up is an error. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { CHECKS } from '#keys/account/assemble.ts';
import { readSiteKeys } from '#keys/account/visitors/site-keys.ts';
import { ConfigurationError, readEnvironment } from '#lib/program/environment/environment.ts';
import type { VariableName } from '#lib/program/environment/variables.ts';
import { makeFolder } from '#test/support/product.ts';

const NAMES = ['SITE_JWT_SECRET', 'SITE_JWKS'] as const satisfies VariableName[];
const SECRET = 'a secret of thirty-two bytes ...';
const folder = makeFolder();

function faultOf(environment: Record<string, string>): string {
  try {
    readEnvironment(NAMES, environment, CHECKS);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as Error).message;
  }
  return expect.unreachable(`${JSON.stringify(environment)} was accepted`);
}

const publicJwk = (type: 'ec' | 'ed25519' | 'rsa', options: object = {}) =>
  generateKeyPairSync(type as 'ec', { namedCurve: 'P-256', ...options }).publicKey.export({
    format: 'jwk',
  });

function fileWith(content: unknown): string {
  const file = path.join(folder, `${Math.random()}.json`);
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

describe('SITE_JWT_SECRET', () => {
  const read = (SITE_JWT_SECRET: string) =>
    readEnvironment(['SITE_JWT_SECRET'], { SITE_JWT_SECRET }, CHECKS).SITE_JWT_SECRET;

  test.each([
    SECRET,
    'ü'.repeat(16),
    // As openssl generates them.
    'q8Zr/T2v+K1yUw6XoB0eN5sL/hJ4cG9dF3aMiRk7pVtQbY8m/x2CzWnSg1EjDu0H',
  ])('may be the secret %j', (secret) => {
    expect(read(secret)).toBe(secret);
  });

  test('is optional', () => {
    expect(readEnvironment(NAMES, { SITE_JWT_SECRET: ' ' }, CHECKS)).toEqual({
      SITE_JWT_SECRET: '',
      SITE_JWKS: '',
    });
    expect(readSiteKeys('')).toBe(undefined);
  });

  const existing = path.join(folder, 'site-keys-of-the-catalogue-without-an-ending');
  writeFileSync(existing, 'x');
  test.each([
    ['an absolute path', '/run/secrets/catalogue/site-assertions-key'],
    ['a relative path', './secrets/of/the/catalogue/site/assertions'],
    ['a path in the home folder', '~/secrets/of/the/catalogue/site/assertions'],
    ['the name of an existing file', path.relative(process.cwd(), existing)],
    ['an address', 'https://covers.example/.well-known/jwks.json'],
    ['a JWKS', '{"keys":[{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAAAA"}]}'],
    ['a key in PEM', '-----BEGIN PUBLIC KEY----- MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQ'],
    ['a variable that was not replaced', '$(cat /run/secrets/site-jwt-secret)'],
  ])('cannot be %s, and the error names SITE_JWKS', (_name, text) => {
    const fault = faultOf({ SITE_JWT_SECRET: text });
    expect(fault).toMatch(/^SITE_JWT_SECRET looks like .*Set SITE_JWKS/);
    expect(fault).not.toContain(text);
  });

  test.each(['hunter2', 'x'.repeat(31), 'ü'.repeat(15)])('cannot be as short as %j', (text) => {
    const fault = faultOf({ SITE_JWT_SECRET: text });
    expect(fault).toMatch(/^SITE_JWT_SECRET must be at least 32 bytes, not (?:7|30|31)\./);
    expect(fault).not.toContain(text);
  });
});

describe('SITE_JWKS', () => {
  test('is a file, and only its public keys are used', () => {
    const usable = [
      { ...publicJwk('ec'), kid: 'one', use: 'sig', key_ops: ['verify'] },
      { ...publicJwk('ed25519'), alg: 'EdDSA' },
      publicJwk('rsa', { modulusLength: 2048 }),
    ];
    const others = [{ kty: 'oct', k: 'AAAA' }, { kty: 'unheard of' }, null, 7];
    expect(readSiteKeys(fileWith({ keys: [...others, ...usable] }))).toEqual({ keys: usable });
  });

  test('is an https address', () => {
    const address = 'https://covers.example:8443/jwks.json?of=catalogue';
    expect(readSiteKeys(address)).toEqual({ url: new URL(address) });
  });

  const folderOfKeys = path.join(folder, 'keys');
  mkdirSync(folderOfKeys);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  test.each([
    ['a missing file', path.join(folder, 'missing.json'), 'which cannot be read: ENOENT'],
    ['a folder', folderOfKeys, 'which cannot be read: keys is not a regular file.'],
    ['an empty file', fileWith(''), 'which is not a JWKS'],
    ['a file that is cut off', fileWith('{"keys": ['), 'which is not a JWKS'],
    ['a single key', fileWith(publicJwk('ec')), 'which is not a JWKS'],
    ['a list', fileWith([publicJwk('ec')]), 'which is not a JWKS'],
    ['no keys', fileWith({ keys: [] }), 'which has no key that can verify signatures'],
    ['only a secret', fileWith({ keys: [{ kty: 'oct', k: 'AAAA' }] }), 'which has no key'],
    [
      'a private key',
      fileWith({ keys: [publicJwk('ec'), privateKey.export({ format: 'jwk' })] }),
      'which holds a private key',
    ],
  ])('cannot be %s', (_name, file, why) => {
    const fault = faultOf({ SITE_JWKS: file });
    expect(fault).toContain(`SITE_JWKS is the file ${JSON.stringify(file)}, ${why}`);
    expect(fault).not.toContain('\n');
  });

  test.each([
    'http://covers.example/jwks.json',
    'http://127.0.0.1/jwks.json',
    'https://me:hunter2@covers.example/jwks.json',
    'https://',
    'file:///etc/jwks.json',
    'ftp://covers.example/jwks.json',
  ])('cannot be the address %s', (address) => {
    const fault = faultOf({ SITE_JWKS: address });
    expect(fault).toMatch(/^SITE_JWKS must be the path of a JWKS file or an https address/);
    expect(fault).not.toContain('hunter2');
  });
});

test('SITE_JWT_SECRET and SITE_JWKS cannot both be set', () => {
  const both = { SITE_JWT_SECRET: 'x'.repeat(32), SITE_JWKS: 'https://covers.example/jwks.json' };
  expect(faultOf(both)).toBe('SITE_JWKS and SITE_JWT_SECRET are both set. Keep one of them.');
});
