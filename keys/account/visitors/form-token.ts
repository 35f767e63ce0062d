/**
 * Protection against forged forms, in two layers. Where the browser says which site a POST comes
 * from, it must be this one. And each form has a token that only a page shown to this visitor holds.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { csrf } from 'hono/csrf';

/** What identifies a visitor without a session. */
export function makeVisit(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * The token of a visitor's forms.
 * @param secret known to this visitor's browser or session alone
 * @param accountId of the account that is signed in: a token ends when that changes
 */
export function tokenFor(secret: string, accountId: number | undefined): string {
  return createHmac('sha256', secret)
    .update(`form ${accountId ?? 'nobody'}`)
    .digest('base64url');
}

/** Whether a form brought its visitor's token. */
export function isToken(given: string | null, expected: string): boolean {
  if (given === null) return false;
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Refuses forms that the browser says come from another site. Programs that say nothing pass: they
 * carry nobody's cookies, and the token decides.
 * @param publicUrl where browsers reach the pages
 * @throws HTTPException with status 403, in the middleware
 */
export function refuseForeignForms(publicUrl: string): MiddlewareHandler {
  const publicOrigin = new URL(publicUrl).origin;
  const check = csrf({
    secFetchSite: ['same-origin', 'none'],
    origin(origin, c) {
      // A browser that sends Sec-Fetch-Site has answered the question there.
      if (c.req.header('sec-fetch-site') !== undefined) return false;
      if (origin === publicOrigin) return true;
      // The demo is reached under several names; the browser wrote the one it used into Host.
      return URL.canParse(origin) && new URL(origin).host === c.req.header('host');
    },
  });
  return (c, next) => {
    const saysNothing =
      c.req.header('sec-fetch-site') === undefined && c.req.header('origin') === undefined;
    return saysNothing ? next() : check(c, next);
  };
}
