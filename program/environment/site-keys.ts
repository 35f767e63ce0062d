/**
 * Reads the keys that verify the JWTs of the site: a secret in `SITE_JWT_SECRET`, or public keys in the
 * file or at the https address in `SITE_JWKS`. A secret that looks like a path or an address is refused, so
 * that neither is ever used as a secret. No error quotes the secret.
 */
import { createPublicKey, type webcrypto } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readBoundedFileSync, UnfitFileError } from '../files/bounded-file.ts';
import { isAddress } from './values.ts';

type PublicKey = webcrypto.JsonWebKey & { readonly kty: string };

/** A JWK Set (RFC 7517) in which every key can verify signatures. */
export interface SiteKeys {
  readonly keys: PublicKey[];
}

/** The public keys of the site, if they are in a file; otherwise the address to fetch them from. */
export type SiteKeySource = SiteKeys | { readonly url: URL };

/** In bytes; a set of keys takes a few thousand. */
const LARGEST_JWKS = 1024 * 1024;
const SHORTEST_SECRET = 32;
/** A random secret has more distinct characters than this. */
const FEWEST_DISTINCT = 8;
const SMALLEST_RSA_BITS = 2048;
const EC_CURVES = ['P-256', 'P-384', 'P-521'];
/** File names that keys usually have. */
const FILE_NAME = /\.(?:json|jwks?|pem|key|pub|crt|cer|der|txt)$/i;

/** @throws Error that says why the text is not a secret and continues "SITE_JWT_SECRET …" */
export function parseJwtSecret(text: string): string {
  const other = recognise(text);
  if (other !== undefined) {
    throw new Error(
      `looks like ${other}, not like a secret. Set SITE_JWKS to the file or https address of the site's public keys, or generate a secret with: openssl rand -hex 32.`,
    );
  }
  const bytes = Buffer.byteLength(text);
  if (text !== '' && bytes < SHORTEST_SECRET) {
    throw new Error(
      `must be at least ${SHORTEST_SECRET} bytes, not ${bytes}. Generate one with: openssl rand -hex 32.`,
    );
  }
  return text;
}

/** What a text looks like instead of a secret; undefined if it can be a secret. */
function recognise(text: string): string | undefined {
  if (isAddress(text)) return 'an address';
  if (/^[[{"]/.test(text)) return 'JSON';
  if (/^(?:-----BEGIN|MII|ssh-|ecdsa-|eyJ)/.test(text)) return 'a public key or a token';
  if (/^\$[({]|^\{\{|^<.*>$/.test(text)) return 'a placeholder that was not replaced';
  if (text.length >= SHORTEST_SECRET && new Set(text).size < FEWEST_DISTINCT) {
    return 'a few characters repeated';
  }
  if (/^[~/.\\]/.test(text) || FILE_NAME.test(text)) return 'a path';
  if (/[/\\]/.test(text) && !isRandomBase64(text)) return 'a path';
  if (existsSync(text)) return 'the name of a file';
  return undefined;
}

/** Whether a text looks like base64 of random bytes, which may contain slashes, and not like a path. */
function isRandomBase64(text: string): boolean {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return false;
  const letters = text.replace(/=+$/, '');
  const runs = letters.match(/[a-z]+|[A-Z]+|[0-9]+|[+/]+/g) ?? [];
  // About two in three random characters begin a run. In words, at most one in three does.
  return runs.length > letters.length / 2;
}

/**
 * @returns undefined for an empty text
 * @throws Error that says what is wrong and continues the sentence "SITE_JWKS …"
 */
export function parseSiteKeySource(text: string): SiteKeySource | undefined {
  if (text === '') return undefined;
  if (/^[[{"]/.test(text)) {
    throw new Error('must be the path or https address of a JWKS, not the JSON itself.');
  }
  if (!isAddress(text)) return readKeysFile(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    throw new Error(
      'must be the path of a file or an https address without user and password, such as https://example.org/.well-known/jwks.json.',
    );
  }
  return { url };
}

function readKeysFile(path: string): SiteKeys {
  let text: string;
  try {
    text = readBoundedFileSync(path, LARGEST_JWKS).toString('utf8');
  } catch (cause) {
    throw new Error(
      `names the file ${JSON.stringify(path)}, which ${faultOf(cause)}. Give the path of a JWKS file that this user may read, or an https address.`,
      { cause },
    );
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  try {
    return usableKeys(parsed);
  } catch (cause) {
    throw new Error(`names the file ${JSON.stringify(path)}, ${(cause as Error).message}.`, {
      cause,
    });
  }
}

function faultOf(error: unknown): string {
  if (error instanceof UnfitFileError) return error.fault;
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
}

/**
 * Picks the keys of a JWKS that can verify signatures, and ignores the others, as RFC 7517, section 5
 * recommends.
 * @param jwks parsed JSON
 * @throws Error that begins with "which" and says what is wrong
 */
export function usableKeys(jwks: unknown): SiteKeys {
  const { keys } = Object(jwks) as { keys?: unknown };
  if (!Array.isArray(keys)) {
    throw new Error('which is not a JWKS: a JSON object with a list "keys"');
  }
  const objects = keys.filter((key) => typeof key === 'object' && key !== null) as PublicKey[];
  // With a private key in it, anyone who can read the file could sign as the site.
  if (objects.some(({ kty, d }) => kty !== 'oct' && d !== undefined)) {
    throw new Error('which holds a private key: put only its public part there');
  }
  const usable = objects.filter(isUsable);
  if (usable.length === 0) {
    throw new Error(
      `which has no key that can verify signatures: an RSA key of at least ${SMALLEST_RSA_BITS} bits, an EC key on ${EC_CURVES.join(', ')}, or an Ed25519 key`,
    );
  }
  return { keys: usable };
}

function isUsable(key: PublicKey): boolean {
  const { kty, crv, use, key_ops: operations } = key;
  const isKnown =
    kty === 'RSA' ||
    (kty === 'EC' && EC_CURVES.includes(String(crv))) ||
    (kty === 'OKP' && crv === 'Ed25519');
  if (!isKnown || (use !== undefined && use !== 'sig')) return false;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return false;
  }
  try {
    const { asymmetricKeyDetails } = createPublicKey({ key, format: 'jwk' });
    return kty !== 'RSA' || (asymmetricKeyDetails?.modulusLength ?? 0) >= SMALLEST_RSA_BITS;
  } catch {
    return false;
  }
}
