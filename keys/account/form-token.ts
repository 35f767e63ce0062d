/**
 * Protection against forged forms, in two layers: where the browser says which site a POST comes
 * from, it must be this one; and each form carries a token that only a page of this site, shown to
 * this very visitor, can hold.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The name of the field that holds the token. */
export const TOKEN_FIELD = 'token';

/** What a visitor without a session is known by. */
export function makeVisit(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * The token of a visitor's forms.
 * @param secret known to this visitor's browser or session alone
 * @param accountId of whoever is signed in: a token does not outlive a change of account
 */
export function tokenFor(secret: string, accountId: number | undefined): string {
  return createHmac('sha256', secret)
    .update(`form ${accountId ?? 'nobody'}`)
    .digest('base64url');
}

/** Whether a form brought its visitor's token. */
export function isToken(given: string | undefined, expected: string): boolean {
  if (given === undefined) return false;
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Whether the browser says that a POST comes from another site. Programs that say nothing pass: they
 * carry nobody's cookies, and the token decides.
 * @param publicUrl where browsers reach the pages
 */
export function isForeign(request: IncomingMessage, publicUrl: string): boolean {
  const { 'sec-fetch-site': site, origin, host } = request.headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  if (origin === undefined) return false;
  if (origin === new URL(publicUrl).origin) return false;
  // The demo is reached under several names. Which of them, the browser itself wrote into Host.
  return !URL.canParse(origin) || new URL(origin).host !== host;
}
