/**
 * Who sends a request: the account that the site's assertion names or that the session belongs to,
 * and what the visitor's forms are tied to. No other header field says anything about identity.
 */
import type { IncomingMessage } from 'node:http';
import { findSession } from '../lifecycle/sign-in.ts';
import { findAccount } from '../tables/accounts.ts';
import { makeVisit, tokenFor } from './form-token.ts';
import type { Viewer } from './pages/layout.ts';
import type { Site } from './route.ts';

export const SESSION_COOKIE = 'catalogue_session';
export const VISIT_COOKIE = 'catalogue_visit';
const VISIT_SECONDS = 24 * 60 * 60;
const VISIT = /^[\w-]{43}$/;

export interface Visitor {
  readonly viewer: Viewer;
  /** Values of Set-Cookie that must go with the answer. */
  readonly cookies: readonly string[];
}

export function makeVisitors({ database, cookies, checkAssertion }: Site) {
  return async function visitorOf(request: IncomingMessage, at: Date): Promise<Visitor> {
    if (checkAssertion === undefined) {
      const sessionToken = cookies.read(request, SESSION_COOKIE);
      const session = sessionToken && (await findSession(database, sessionToken, at));
      const account = session ? await findAccount(database, session.accountId) : undefined;
      if (session && account !== undefined) {
        const token = tokenFor(session.csrfSecret, account.id);
        return { viewer: { account, token, hasSession: true }, cookies: [] };
      }
      return withVisit(request, undefined);
    }
    const id = await checkAssertion(request, at);
    const account = id === undefined ? undefined : await findAccount(database, id);
    return withVisit(request, account);
  };

  function withVisit(request: IncomingMessage, account: Viewer['account']): Visitor {
    const known = cookies.read(request, VISIT_COOKIE);
    const visit = known !== undefined && VISIT.test(known) ? known : makeVisit();
    return {
      viewer: { account, token: tokenFor(visit, account?.id), hasSession: false },
      cookies: visit === known ? [] : [cookies.write(VISIT_COOKIE, visit, VISIT_SECONDS)],
    };
  }
}
