/**
 * Finds out who is signed in from the site's assertion, a JWT in `Authorization: Bearer` or in a
 * cookie. An assertion that has expired or that the site has not signed signs nobody in.
 */
import { createSecretKey } from 'node:crypto';
import type { Context } from 'hono';
import { createLocalJWKSet, errors, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Logger } from 'pino';
import type { SiteKeySource } from '../../../program/environment/site-keys.ts';
import { readCookie } from './cookies.ts';
import { makeRemoteKeys } from './remote-keys.ts';

const AUDIENCE = 'cover-catalogue-api';
const ASSERTION_COOKIE = 'catalogue_assertion';
/** In characters. */
const LONGEST_ASSERTION = 8_000;
/** In seconds: how much the clocks of the site and of this machine may differ. */
const TOLERANCE = 5;
const ASYMMETRIC = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/**
 * Checks an assertion.
 * @returns the id of the account; undefined if the assertion is not valid
 * @throws SiteKeysUnreachable if the site's keys cannot be fetched
 */
export type AssertionCheck = (assertion: string, at: Date) => Promise<number | undefined>;

/** The keys that verify assertions: a secret for HS256, or public keys. */
export type AssertionKeys = { readonly secret: string } | SiteKeySource;

export function makeAssertionCheck(keys: AssertionKeys, log: Logger): AssertionCheck {
  const verify = makeVerify(keys, log);
  return async (assertion, at) => {
    if (assertion.length > LONGEST_ASSERTION) return undefined;
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

function makeVerify(given: AssertionKeys, log: Logger) {
  if ('secret' in given) {
    const secret = createSecretKey(Buffer.from(given.secret));
    return (assertion: string, options: JWTVerifyOptions) =>
      jwtVerify(assertion, secret, { ...options, algorithms: ['HS256'] });
  }
  const keys = 'url' in given ? makeRemoteKeys(given.url, log) : createLocalJWKSet(given);
  // HS256 is not allowed here, because anybody could then sign with the public key as the secret.
  return (assertion: string, options: JWTVerifyOptions) =>
    jwtVerify(assertion, keys, { ...options, algorithms: ASYMMETRIC });
}

/** The assertion in a request, not checked yet. */
export function assertionOf(c: Context): string | undefined {
  const bearer = /^bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  return bearer ?? readCookie(c, ASSERTION_COOKIE);
}

function toAccountId(subject: unknown): number | undefined {
  const id = typeof subject === 'string' && /^[1-9]\d{0,15}$/.test(subject) ? Number(subject) : 0;
  return Number.isSafeInteger(id) && id > 0 ? id : undefined;
}
