/**
 * Identifies the visitor who sends a request: the account, from the site's assertion or from a session
 * cookie, and the token of the visitor's forms. No other header field identifies anybody.
 */
import type { Context } from 'hono';
import type { Database } from '../../../database/database.ts';
import { findSession } from '../../lifecycle/sign-in.ts';
import { type Account, findAccount } from '../../tables/accounts.ts';
import type { Viewer } from '../pages/layout.ts';
import { type AssertionCheck, assertionOf } from './assertion.ts';
import type { Cookies } from './cookies.ts';
import { makeVisit, tokenFor } from './form-token.ts';

export const SESSION_COOKIE = 'catalogue_session';
export const VISIT_COOKIE = 'catalogue_visit';
const VISIT_SECONDS = 24 * 60 * 60;
const VISIT = /^[\w-]{43}$/;

export interface Identity {
  readonly database: Database;
  readonly cookies: Cookies;
  /** Checks the site's assertions; undefined if users sign in by e-mailed links. */
  readonly checkAssertion: AssertionCheck | undefined;
}

/**
 * Identifies the visitor of a request. Sets a visit cookie if the visitor has neither a session nor a
 * visit cookie.
 * @throws SiteKeysUnreachable if an assertion cannot be checked
 */
export async function identify(c: Context, identity: Identity, at: Date): Promise<Viewer> {
  const { database, cookies, checkAssertion } = identity;
  if (checkAssertion !== undefined) {
    const assertion = assertionOf(c);
    const id = assertion && (await checkAssertion(assertion, at));
    return visitorOf(c, cookies, id ? await findAccount(database, id) : undefined);
  }
  const sessionToken = cookies.read(c, SESSION_COOKIE);
  const session = sessionToken && (await findSession(database, sessionToken, at));
  const account = session ? await findAccount(database, session.accountId) : undefined;
  if (!session || account === undefined) return visitorOf(c, cookies, undefined);
  return { account, token: tokenFor(session.csrfSecret, account.id), hasSession: true };
}

function visitorOf(c: Context, cookies: Cookies, account: Account | undefined): Viewer {
  const known = cookies.read(c, VISIT_COOKIE);
  const visit = known !== undefined && VISIT.test(known) ? known : makeVisit();
  if (visit !== known) cookies.write(c, VISIT_COOKIE, visit, VISIT_SECONDS);
  return { account, token: tokenFor(visit, account?.id), hasSession: false };
}
