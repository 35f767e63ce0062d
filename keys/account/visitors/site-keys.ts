/**
 * The keys that verify the JWTs of the site: the secret of `SITE_JWT_SECRET`, or the public keys in the
 * file or at the https address of `SITE_JWKS`. Errors continue a sentence that begins with the name of the
 * variable. None quotes the secret.
 */
import { existsSync } from 'node:fs';
import type { JWK } from 'jose';
import type { ValueChecks } from '../../../lib/program/environment/environment.ts';
import { isAddress } from '../../../lib/program/environment/values.ts';
import { readBoundedFileSync } from '../../../lib/program/files/bounded-file.ts';

/** The public keys of a JWK Set (RFC 7517), or the address to fetch them from. */
export type PublicKeys = { readonly keys: JWK[] } | { readonly url: URL };

/** In bytes; a set of keys takes a few thousand. */
const LARGEST_JWKS = 1024 * 1024;
const SHORTEST_SECRET = 32;
const PUBLIC_KINDS = ['RSA', 'EC', 'OKP'];
/** Beginnings of paths, JSON, PEM, and placeholders that were not replaced. */
const NOT_SECRET = /^(?:[~/.\\[{"$<]|-----BEGIN|ssh-)/;

export const SITE_KEY_CHECKS: ValueChecks<'SITE_JWT_SECRET' | 'SITE_JWKS' | 'SIGN_IN_URL'> = {
  SITE_JWT_SECRET: checkSecret,
  SITE_JWKS(text, { SITE_JWT_SECRET }) {
    if (text !== '' && SITE_JWT_SECRET) {
      throw new Error('and SITE_JWT_SECRET are both set. Keep one of them.');
    }
    readSiteKeys(text);
  },
  SIGN_IN_URL(text, { SITE_JWT_SECRET, SITE_JWKS }) {
    if (text === '' || SITE_JWT_SECRET !== '' || SITE_JWKS !== '') return;
    throw new Error(
      'is set, and neither SITE_JWT_SECRET nor SITE_JWKS: users sign in by e-mail. Set one of them, or leave out SIGN_IN_URL.',
    );
  },
};

/** Others know a path, an address or a public key, so none is used as a secret by mistake. */
function checkSecret(text: string): void {
  if (text === '') return;
  if (NOT_SECRET.test(text) || isAddress(text) || existsSync(text)) {
    throw new Error(
      "looks like a path, an address or a public key, not like a secret. Set SITE_JWKS to the file or https address of the site's public keys, or generate a secret with: openssl rand -hex 32.",
    );
  }
  const bytes = Buffer.byteLength(text);
  if (bytes >= SHORTEST_SECRET) return;
  throw new Error(
    `must be at least ${SHORTEST_SECRET} bytes, not ${bytes}. Generate one with: openssl rand -hex 32.`,
  );
}

/**
 * Reads SITE_JWKS. `jose` picks the fitting key for each JWT, and refuses weak ones.
 * @returns undefined for an empty text
 */
export function readSiteKeys(text: string): PublicKeys | undefined {
  if (text === '') return undefined;
  if (!isAddress(text)) return readKeysFile(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return { url };
  throw new Error(
    'must be the path of a JWKS file or an https address without user and password, such as https://example.org/.well-known/jwks.json.',
  );
}

function readKeysFile(path: string): PublicKeys {
  const fault = (why: string) => new Error(`is the file ${JSON.stringify(path)}, which ${why}`);
  let jwks: { readonly keys?: readonly (JWK | null)[] } = {};
  try {
    jwks = Object(JSON.parse(readBoundedFileSync(path, LARGEST_JWKS).toString('utf8')));
  } catch (cause) {
    // What is not JSON is reported below.
    if (!(cause instanceof SyntaxError)) {
      throw fault(`cannot be read: ${(cause as Error).message}`);
    }
  }
  if (!Array.isArray(jwks.keys)) throw fault('is not a JWKS: a JSON object with a list "keys".');
  const keys: JWK[] = jwks.keys.filter((key) => PUBLIC_KINDS.includes(key?.kty));
  // With a private key in it, anyone who can read the file could sign as the site.
  if (keys.some(({ d }) => d !== undefined)) {
    throw fault('holds a private key: put only its public part there.');
  }
  if (keys.length > 0) return { keys };
  throw fault('has no key that can verify signatures: an RSA, EC or Ed25519 key.');
}
