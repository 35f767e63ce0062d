/**
 * Who is logged in, where the site itself says so: a signed JWT in `Authorization: Bearer` or in a
 * cookie. Only its signature is believed; an unsigned or foreign one is nobody's.
 */
import { createSecretKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createLocalJWKSet, errors, type JWTVerifyOptions, jwtVerify } from 'jose';
import { ConfigurationError } from '../../environment/environment.ts';
import { readCookie } from './cookies.ts';

export const AUDIENCE = 'cover-catalogue-api';
export const ASSERTION_COOKIE = 'catalogue_assertion';
const SHORTEST_SECRET = 32;
const LONGEST_ASSERTION = 8_000;
/** Clocks of two machines may differ by this, in seconds. */
const TOLERANCE = 5;
const ASYMMETRIC = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/**
 * Checks the assertion of a request.
 * @returns the account's id; undefined where there is no assertion, or none that holds
 */
export type AssertionCheck = (request: IncomingMessage, at: Date) => Promise<number | undefined>;

/**
 * @param siteKey an HS256 secret of at least 32 bytes, or the path of a JWKS file with public keys
 * @throws ConfigurationError when it is neither
 */
export function makeAssertionCheck(siteKey: string): AssertionCheck {
  const verify = makeVerify(siteKey);
  return async (request, at) => {
    const assertion = assertionOf(request);
    if (assertion === undefined || assertion.length > LONGEST_ASSERTION) return undefined;
    try {
      const { payload } = await verify(assertion, {
        audience: AUDIENCE,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: TOLERANCE,
        currentDate: at,
      });
      return toAccountId(payload.sub);
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  };
}

function makeVerify(siteKey: string) {
  const text = readJwks(siteKey);
  if (text === undefined) {
    const bytes = Buffer.from(siteKey);
    if (bytes.length < SHORTEST_SECRET) {
      throw new ConfigurationError(
        `SITE_JWT_KEY is neither a file nor a secret of at least ${SHORTEST_SECRET} bytes.`,
      );
    }
    const secret = createSecretKey(bytes);
    return (assertion: string, options: JWTVerifyOptions) =>
      jwtVerify(assertion, secret, { ...options, algorithms: ['HS256'] });
  }
  let keys: ReturnType<typeof createLocalJWKSet>;
  try {
    keys = createLocalJWKSet(JSON.parse(text));
  } catch (cause) {
    throw new ConfigurationError('SITE_JWT_KEY names a file that is no JWKS.', { cause });
  }
  // Never HS256 here: a public key must not serve as a secret.
  return (assertion: string, options: JWTVerifyOptions) =>
    jwtVerify(assertion, keys, { ...options, algorithms: ASYMMETRIC });
}

/** The text of the file that a key names; undefined where there is none of that name. */
function readJwks(siteKey: string): string | undefined {
  try {
    return readFileSync(siteKey, 'utf8');
  } catch {
    return undefined;
  }
}

function assertionOf(request: IncomingMessage): string | undefined {
  const { authorization } = request.headers;
  const bearer = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  return bearer ?? readCookie(request, ASSERTION_COOKIE);
}

function toAccountId(subject: unknown): number | undefined {
  const id = typeof subject === 'string' && /^[1-9]\d{0,15}$/.test(subject) ? Number(subject) : 0;
  return Number.isSafeInteger(id) && id > 0 ? id : undefined;
}
