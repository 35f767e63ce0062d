/**
 * Reads the keys that verify the JWTs of the site: a secret in `SITE_JWT_SECRET`, or public keys in the
 * file or at the https address in `SITE_JWKS`. No error quotes the secret.
 */
import type { webcrypto } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readBoundedFileSync, UnfitFileError } from '../files/bounded-file.ts';
import { isAddress } from './values.ts';

type PublicKey = webcrypto.JsonWebKey & { readonly kty: string };

/** The public keys of a JWK Set (RFC 7517). */
export interface SiteKeys {
  readonly keys: PublicKey[];
}

/** The public keys of the site, if they are in a file; otherwise the address to fetch them from. */
export type SiteKeySource = SiteKeys | { readonly url: URL };

/** In bytes; a set of keys takes a few thousand. */
const LARGEST_JWKS = 1024 * 1024;
const SHORTEST_SECRET = 32;
const PUBLIC_KINDS = ['RSA', 'EC', 'OKP'];
/** Beginnings of paths, JSON, PEM, and placeholders that were not replaced. */
const NOT_SECRET = /^(?:[~/.\\[{"$<]|-----BEGIN|ssh-)/;

/**
 * Others know a path, an address or a public key, so none is used as a secret by mistake.
 * @throws Error that says why the text is not a secret and continues "SITE_JWT_SECRET …"
 */
export function parseJwtSecret(text: string): string {
  if (text === '') return text;
  if (NOT_SECRET.test(text) || isAddress(text) || existsSync(text)) {
    throw new Error(
      "looks like a path, an address or a public key, not like a secret. Set SITE_JWKS to the file or https address of the site's public keys, or generate a secret with: openssl rand -hex 32.",
    );
  }
  const bytes = Buffer.byteLength(text);
  if (bytes >= SHORTEST_SECRET) return text;
  throw new Error(
    `must be at least ${SHORTEST_SECRET} bytes, not ${bytes}. Generate one with: openssl rand -hex 32.`,
  );
}

/**
 * @returns undefined for an empty text
 * @throws Error that says what is wrong and continues the sentence "SITE_JWKS …"
 */
export function parseSiteKeySource(text: string): SiteKeySource | undefined {
  if (text === '') return undefined;
  if (!isAddress(text)) return readKeysFile(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return { url };
  throw new Error(
    'must be the path of a JWKS file or an https address without user and password, such as https://example.org/.well-known/jwks.json.',
  );
}

function readKeysFile(path: string): SiteKeys {
  let jwks: unknown;
  try {
    jwks = JSON.parse(readBoundedFileSync(path, LARGEST_JWKS).toString('utf8'));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const fault = cause instanceof UnfitFileError ? cause.fault : `cannot be read (${code})`;
    // What is not JSON is reported below.
    if (!(cause instanceof SyntaxError)) {
      throw new Error(
        `is the file ${JSON.stringify(path)}, which ${fault}. Give the path of a JWKS file that this user may read, or an https address.`,
        { cause },
      );
    }
  }
  try {
    return usableKeys(jwks);
  } catch (cause) {
    throw new Error(`is the file ${JSON.stringify(path)}, ${(cause as Error).message}.`, { cause });
  }
}

/**
 * Checks that a JWKS has public keys to verify signatures with. `jose` picks the fitting one for each JWT,
 * and refuses weak ones.
 * @param jwks parsed JSON
 * @throws Error that begins with "which" and says what is wrong
 */
export function usableKeys(jwks: unknown): SiteKeys {
  const { keys } = Object(jwks) as { keys?: unknown };
  if (!Array.isArray(keys)) {
    throw new Error('which is not a JWKS: a JSON object with a list "keys"');
  }
  const usable = (keys as (PublicKey | null)[]).filter(
    (key) => key !== null && PUBLIC_KINDS.includes(key.kty),
  ) as PublicKey[];
  // With a private key in it, anyone who can read the file could sign as the site.
  if (usable.some(({ d }) => d !== undefined)) {
    throw new Error('which holds a private key: put only its public part there');
  }
  if (usable.length > 0) return { keys: usable };
  throw new Error('which has no key that can verify signatures: an RSA, EC or Ed25519 key');
}
