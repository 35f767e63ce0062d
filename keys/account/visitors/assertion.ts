/**
 * Finds out who is signed in from the site's assertion, a JWT in `Authorization: Bearer` or in a
 * cookie. An assertion that has expired or that the site has not signed signs nobody in.
 */
import { createSecretKey } from 'node:crypto';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import type { Logger } from 'pino';
import { messageOf } from '../../../lib/program/failure.ts';
import { timeLimit } from '../../../lib/program/time-limit.ts';
import { SESSION_SECONDS } from '../../lifecycle/sign-in.ts';
import { type AccountId, parseAccountId } from '../../tables/values.ts';
import type { PublicKeys } from './site-keys.ts';

const AUDIENCE = 'cover-catalogue-api';
/** In seconds: how much the clocks of the site and of this machine may differ. */
const TOLERANCE = 5;
const ASYMMETRIC = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** Errors of jose that mean that none of the keys fits an assertion, or more than one does. */
const UNFIT = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported];
/** How long a repeated fault is not logged again. */
const LOG_PAUSE_MS = 60_000;
/** How long the site may take to send its keys. */
const FETCH_MS = 5_000;

/** The keys cannot be fetched, so assertions cannot be checked and sign nobody in. */
export class SiteKeysUnreachable extends Error {
  override readonly name = 'SiteKeysUnreachable';
}

/**
 * Checks an assertion.
 * @returns the id of the account; undefined if the assertion is not valid
 * @throws SiteKeysUnreachable if the site's keys cannot be fetched
 */
export type AssertionCheck = (assertion: string, at: Date) => Promise<AccountId | undefined>;

/** The keys that verify assertions: a secret for HS256, or public keys. */
type AssertionKeys = { readonly secret: string } | PublicKeys;

export function makeAssertionCheck(keys: AssertionKeys, log: Logger): AssertionCheck {
  const verify = makeVerify(keys, log);
  return async (assertion, at) => {
    try {
      const { payload } = await verify(assertion, {
        audience: AUDIENCE,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: TOLERANCE,
        currentDate: at,
      });
      // As a session of these pages: a clock that was wrong must not sign anybody in for years.
      const latest = at.getTime() / 1000 + SESSION_SECONDS + TOLERANCE;
      if ((payload.exp ?? 0) > latest) return undefined;
      // A number in JSON may have lost digits.
      return typeof payload.sub === 'string' ? parseAccountId(payload.sub) : undefined;
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
  const keys = 'url' in given ? fetchKeys(given.url, log) : createLocalJWKSet(given);
  // HS256 is not allowed here, because anybody could then sign with the public key as the secret.
  return (assertion: string, options: JWTVerifyOptions) =>
    jwtVerify(assertion, keys, { ...options, algorithms: ASYMMETRIC });
}

/**
 * The public keys of the site from its https address. jose caches them, and fetches them again when they
 * are older than ten minutes or, at most every 30 seconds, when an assertion names an unknown key.
 */
function fetchKeys(url: URL, log: Logger): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(url, {
    [customFetch]: (address, options) =>
      fetch(address, { ...options, signal: timeLimit(FETCH_MS) }),
  });
  let loggedAt = Number.NEGATIVE_INFINITY;
  const failed = (cause: unknown): SiteKeysUnreachable => {
    const { cause: reason }: { cause?: unknown } = Object(cause);
    const why = [cause, reason].flatMap((error) => (error ? messageOf(error) : [])).join(': ');
    // The query is left out, because it may contain a password.
    const message = `The keys of the site cannot be fetched from ${url.origin}${url.pathname}: ${why}.`;
    if (performance.now() - loggedAt >= LOG_PAUSE_MS) {
      log.error(message);
      loggedAt = performance.now();
    }
    return new SiteKeysUnreachable(message, { cause });
  };
  // Fetched now, so that a wrong address is logged at the start and not when somebody signs in.
  keys.reload().catch(failed);
  return async (header, assertion) => {
    try {
      return await keys(header, assertion);
    } catch (error) {
      throw UNFIT.some((unfit) => error instanceof unfit) ? error : failed(error);
    }
  };
}
