/**
 * Protection against forged forms, in two layers. If the browser says which site a POST comes from, it
 * must be this site. And each form must contain a token that only this visitor's pages contain.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';

/** A random identifier of a visitor without a session, for the visit cookie. */
export function makeVisit(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * The token of a visitor's forms.
 * @param secret the visit cookie, or a secret of the session
 * @param accountId the account that is signed in; a token is not valid for another account
 */
export function tokenFor(secret: string, accountId: number | undefined): string {
  return createHmac('sha256', secret)
    .update(`form ${accountId ?? 'nobody'}`)
    .digest('base64url');
}

/** Whether a form contains the expected token. */
export function isToken(given: string | null, expected: string): boolean {
  if (given === null) return false;
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Refuses forms that come from another site, according to the browser. Requests without Origin and
 * Sec-Fetch-Site, which programs send, pass: the token then decides.
 * @param publicUrl the address of the pages for browsers
 * @throws HTTPException with status 403, in the middleware
 */
export function refuseForeignForms(publicUrl: string): MiddlewareHandler {
  const publicOrigin = new URL(publicUrl).origin;
  const check = csrf({
    secFetchSite: ['same-origin', 'none'],
    origin(origin, c) {
      // If the browser sends Sec-Fetch-Site, only that field decides.
      if (c.req.header('sec-fetch-site') !== undefined) return false;
      if (origin === publicOrigin) return true;
      // The demo has several host names. Host contains the name that the browser used.
      return URL.canParse(origin) && new URL(origin).host === c.req.header('host');
    },
  });
  return (c, next) => {
    const saysNothing =
      c.req.header('sec-fetch-site') === undefined && c.req.header('origin') === undefined;
    return saysNothing ? next() : check(c, next);
  };
}
