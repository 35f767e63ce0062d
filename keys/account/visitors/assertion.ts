/**
 * Finds out who is signed in from the site's assertion, a JWT in `Authorization: Bearer` or in a
 * cookie. An assertion that has expired or that the site has not signed signs nobody in, and the reason is
 * known: it is logged, and shown to the visitor.
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
/** How much of a value in an assertion the log shows, in characters. */
const LONGEST_SHOWN = 100;
/** How many refused assertions are logged in a minute: anybody can send any number of them. */
const MOST_LOGGED = 60;
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
 * Why an assertion is refused: its signature, audience or other claims are wrong, it has expired, it names no
 * account, or the browser has sent several.
 */
type AssertionFault = 'signature' | 'audience' | 'claims' | 'expired' | 'account' | 'several';

/** An assertion does not sign in anybody. The message is for the log: it has values of a valid signature only. */
export class RefusedAssertion extends Error {
  override readonly name = 'RefusedAssertion';
  readonly reason: AssertionFault;

  constructor(reason: AssertionFault, message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * Checks an assertion.
 * @returns the id of the account
 * @throws RefusedAssertion if the assertion is not valid
 * @throws SiteKeysUnreachable if the site's keys cannot be fetched
 */
export type AssertionCheck = (assertion: string, at: Date) => Promise<AccountId>;

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
      if ((payload.exp ?? 0) > latest) {
        throw new RefusedAssertion('claims', `its "exp" ${shown(payload.exp)} is too far ahead`);
      }
      // A number in JSON may have lost digits.
      const id = typeof payload.sub === 'string' ? parseAccountId(payload.sub) : undefined;
      if (id !== undefined) return id;
      const rule = 'is not the id of an account, a string of decimal digits without leading zeros';
      throw new RefusedAssertion('claims', `its "sub" ${shown(payload.sub)} ${rule}`);
    } catch (error) {
      throw error instanceof errors.JOSEError ? refusalOf(error, at) : error;
    }
  };
}

function refusalOf(error: errors.JOSEError, at: Date): RefusedAssertion {
  if (error instanceof errors.JWTExpired) {
    const now = Math.floor(at.getTime() / 1000);
    const { exp } = error.payload;
    return new RefusedAssertion('expired', `its "exp" is ${shown(exp)}, and it is ${now} now`);
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, payload } = error;
    if (claim !== 'aud') return new RefusedAssertion('claims', error.message);
    return new RefusedAssertion(
      'audience',
      `its "aud" is ${shown(payload.aud)}, not "${AUDIENCE}"`,
    );
  }
  return new RefusedAssertion('signature', error.message);
}

/** A value as the log shows it. */
function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, LONGEST_SHOWN);
}

/** @returns a function that logs why an assertion is refused, of many in a minute only the first */
export function makeRefusalLog(log: Logger, now = () => performance.now()) {
  let [since, logged] = [Number.NEGATIVE_INFINITY, 0];
  return ({ reason, message }: RefusedAssertion): void => {
    if (now() - since >= LOG_PAUSE_MS) [since, logged] = [now(), 0];
    logged++;
    if (logged > MOST_LOGGED) return;
    const rest = logged === MOST_LOGGED ? '. Others of this minute are not logged' : '';
    log.warn({ reason }, `A JWT of the site is refused: ${message}${rest}.`);
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
