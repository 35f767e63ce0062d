/**
 * Identifies the visitor who sends a request: from the site's assertion, or from a session cookie. No
 * other header field identifies anybody. Forms of other sites are refused.
 */
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { csrf } from 'hono/csrf';
import type { CookieOptions } from 'hono/utils/cookie';
import type { Database } from '../../../lib/database/database.ts';
import { findSession } from '../../lifecycle/sign-in.ts';
import { findAccount } from '../../tables/accounts.ts';
import type { Viewer } from '../pages/layout.ts';
import { type AssertionCheck, RefusedAssertion } from './assertion.ts';

const SESSION_COOKIE = 'catalogue_session';
const ASSERTION_COOKIE = 'catalogue_assertion';

interface SessionCookie {
  /** The token of the session; undefined if there is no cookie, or more than one. */
  read(c: Context): string | undefined;
  /** @param seconds how long the browser keeps the cookie; 0 removes it */
  write(c: Context, token: string, seconds: number): void;
}

export interface Identity {
  readonly database: Database;
  readonly sessionCookie: SessionCookie;
  /** Checks the site's assertions; undefined if users sign in by e-mailed links. */
  readonly checkAssertion: AssertionCheck | undefined;
  /** Logs an assertion that is refused. */
  noteRefused(refused: RefusedAssertion): void;
}

const NOBODY: Viewer = { account: undefined, hasSession: false };

/**
 * If browsers use TLS, the name of the cookie has the prefix `__Host-`, so that neither another host of
 * the same domain nor a page without TLS can set it. Browsers do not send it with forms of other sites.
 * @param isSecure whether browsers reach the pages over TLS
 */
export function makeSessionCookie(isSecure: boolean): SessionCookie {
  const options: CookieOptions = { path: '/', httpOnly: true, sameSite: 'Lax', secure: isSecure };
  if (isSecure) options.prefix = 'host';
  return {
    read: (c) => readCookie(c, isSecure ? `__Host-${SESSION_COOKIE}` : SESSION_COOKIE),
    write: (c, token, maxAge) => setCookie(c, SESSION_COOKIE, token, { ...options, maxAge }),
  };
}

/**
 * Reads a cookie by the exact name that the browser sends.
 * @returns undefined without exactly one cookie of that name. Of several, an attacker may have set any
 */
function readCookie(c: Context, name: string): string | undefined {
  return countCookies(c, name) === 1 ? getCookie(c, name) : undefined;
}

function countCookies(c: Context, name: string): number {
  const pairs = (c.req.header('cookie') ?? '').split(';');
  return pairs.filter((pair) => pair.split('=', 1)[0].trim() === name).length;
}

/**
 * The assertion in a request, not checked yet.
 * @throws RefusedAssertion if it has several
 */
function assertionOf(c: Context): string | undefined {
  const bearer = /^bearer +(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1];
  if (bearer === undefined && countCookies(c, ASSERTION_COOKIE) > 1) {
    const why = `the browser has several cookies ${ASSERTION_COOKIE}, such as of two domains`;
    throw new RefusedAssertion('several', why);
  }
  return bearer ?? readCookie(c, ASSERTION_COOKIE);
}

/** @throws SiteKeysUnreachable if an assertion cannot be checked */
export async function identify(c: Context, identity: Identity, at: Date): Promise<Viewer> {
  const { database, sessionCookie, checkAssertion, noteRefused } = identity;
  if (checkAssertion !== undefined) {
    try {
      const assertion = assertionOf(c);
      if (assertion === undefined) return NOBODY;
      const id = await checkAssertion(assertion, at);
      const account = await findAccount(database, id);
      if (account !== undefined) return { account, hasSession: false };
      throw new RefusedAssertion('account', `no account has the id ${id}, its "sub"`);
    } catch (error) {
      if (!(error instanceof RefusedAssertion)) throw error;
      noteRefused(error);
      return { ...NOBODY, refused: error };
    }
  }
  const token = sessionCookie.read(c);
  const accountId = token && (await findSession(database, token, at));
  const account = accountId ? await findAccount(database, accountId) : undefined;
  return { account, hasSession: account !== undefined };
}

/**
 * Refuses forms unless the browser says, in Sec-Fetch-Site or Origin, that they come from this site. All
 * browsers send at least one of them with a form.
 * @param publicUrl the address of the pages for browsers
 * @throws HTTPException with status 403, in the middleware
 */
export function refuseForeignForms(publicUrl: string): MiddlewareHandler {
  const { origin: publicOrigin, protocol } = new URL(publicUrl);
  const check = csrf({
    secFetchSite: ['same-origin', 'none'],
    origin(origin, c) {
      // If the browser sends Sec-Fetch-Site, only that field decides.
      if (c.req.header('sec-fetch-site') !== undefined) return false;
      if (origin === publicOrigin) return true;
      // The demo has several host names. Host contains the name that the browser used. The scheme must be
      // the same, because anybody on the way can write a page without TLS.
      return origin === `${protocol}//${c.req.header('host')}`;
    },
  });
  return (c, next) => (c.req.method === 'POST' ? check(c, next) : next());
}
