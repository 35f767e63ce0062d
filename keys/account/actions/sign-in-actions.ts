/** Signing in by an e-mailed link, and out again; or, where the site does both, the way there. */

import { createSession, endSession, SESSION_SECONDS } from '../../lifecycle/sign-in.ts';
import { findAccount } from '../../tables/accounts.ts';
import { openLink } from '../../tables/sign-in-links.ts';
import { fieldOf } from '../form-body.ts';
import { PATHS } from '../pages/layout.ts';
import { linkPage, linkSentPage, signInPage, siteSignInPage } from '../pages/sign-in-pages.ts';
import { page, type Route, redirect, type Site } from '../route.ts';
import { SESSION_COOKIE, VISIT_COOKIE } from '../visitors.ts';

const LINK = /^[\w-]{20,100}$/;

export function signInRoutes(site: Site): Route[] {
  const { database, cookies } = site;
  if (site.checkAssertion !== undefined) {
    return [
      {
        method: 'GET',
        pattern: /^\/account\/sign-in$/,
        access: 'anyone',
        act: ({ viewer }) => page(200, siteSignInPage(viewer, site.siteUrl)),
      },
    ];
  }
  return [
    {
      method: 'GET',
      pattern: /^\/account\/sign-in$/,
      access: 'anyone',
      act({ viewer }) {
        return viewer.account === undefined ? page(200, signInPage(viewer)) : redirect(PATHS.keys);
      },
    },
    {
      method: 'POST',
      pattern: /^\/account\/sign-in$/,
      access: 'anyone',
      act({ viewer, form }) {
        const email = fieldOf(form, 'email').trim();
        if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 320) {
          const text = 'Type an e-mail address, such as name@example.org.';
          return page(422, signInPage(viewer, { kind: 'refused', text }));
        }
        // Answered before the account is looked up: not even the time it takes shows if there is one.
        if (site.requestLink(email)) return page(200, linkSentPage(viewer));
        const text = 'Too many people are asking for links at the moment. Try again in a minute.';
        return page(503, signInPage(viewer, { kind: 'refused', text }));
      },
    },
    {
      method: 'GET',
      pattern: /^\/account\/sign-in\/link$/,
      access: 'anyone',
      act({ viewer, query }) {
        const link = query.get('token') ?? '';
        return LINK.test(link) ? page(200, linkPage(viewer, link)) : redirect(PATHS.signIn);
      },
    },
    {
      method: 'POST',
      pattern: /^\/account\/sign-in\/link$/,
      access: 'anyone',
      async act({ request, viewer, form, at }) {
        const link = fieldOf(form, 'link');
        const opened = LINK.test(link) ? await openLink(database, link, at) : undefined;
        const account = opened && (await findAccount(database, opened.accountId));
        if (!account) {
          const text = 'The link was used before, or its 15 minutes are over. Ask for another.';
          return page(410, signInPage(viewer, { kind: 'refused', text }));
        }
        // Never a session that was there before: whoever planted it would be signed in too.
        const before = cookies.read(request, SESSION_COOKIE);
        if (before !== undefined) await endSession(database, before);
        const session = await createSession(database, account.id, at);
        return redirect(account.role === 'moderator' ? PATHS.moderation : PATHS.keys, [
          cookies.write(SESSION_COOKIE, session, SESSION_SECONDS),
          cookies.write(VISIT_COOKIE, '', 0),
        ]);
      },
    },
    {
      method: 'POST',
      pattern: /^\/account\/sign-out$/,
      access: 'account',
      async act({ request }) {
        const session = cookies.read(request, SESSION_COOKIE);
        if (session !== undefined) await endSession(database, session);
        return redirect(PATHS.signIn, [cookies.write(SESSION_COOKIE, '', 0)]);
      },
    },
  ];
}
