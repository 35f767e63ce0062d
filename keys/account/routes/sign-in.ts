/**
 * The routes to sign in by an e-mailed link and to sign out. If the site signs users in, only a page
 * that sends visitors to the site.
 */
import type { Context } from 'hono';
import { clientAddress } from '../../../program/client-address.ts';
import { createSession, endSession, SESSION_SECONDS } from '../../lifecycle/sign-in.ts';
import { PATHS } from '../../paths.ts';
import { findAccount } from '../../tables/accounts.ts';
import { LINK_MINUTES, openLink } from '../../tables/sign-in-links.ts';
import { linkPage, linkSentPage, signInPage, siteSignInPage } from '../pages/sign-in-pages.ts';
import { fieldOf, needsAccount, readForm } from './forms.ts';
import { type App, type FormEnv, redirect, type Site, sendPage } from './replies.ts';

/** A complete token. With any other, the link was cut off, for example at a line break. */
const LINK = /^[\w-]{43}$/;

export function addSignInRoutes(app: App, site: Site): void {
  if (site.checkAssertion !== undefined) {
    app.get(PATHS.signIn, (c) => sendPage(c, 200, siteSignInPage(c.get('viewer'), site.siteUrl)));
    return;
  }
  addLinkRequest(app, site);
  addLink(app, site);
  addSignOut(app, site);
}

/** Adds the form to request a link. */
function addLinkRequest(app: App, site: Site): void {
  app.get(PATHS.signIn, (c) => {
    const viewer = c.get('viewer');
    if (viewer.account !== undefined) return redirect(c, PATHS.keys);
    return sendPage(c, 200, signInPage(viewer, site.siteUrl));
  });
  app.post(PATHS.signIn, readForm, (c) => {
    const viewer = c.get('viewer');
    const email = fieldOf(c.get('form'), 'email').trim();
    if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 320) {
      const text = 'That is not an e-mail address. It looks like name@example.org.';
      return sendPage(c, 422, signInPage(viewer, site.siteUrl, { kind: 'refused', text }));
    }
    const seconds = site.linkLimits(clientOf(c, site), performance.now());
    if (seconds !== undefined) {
      const minutes = Math.ceil(seconds / 60);
      const when = minutes === 1 ? 'a minute' : `${minutes} minutes`;
      const text = `Too many links were requested from your network. Ask for the next one in ${when}.`;
      c.header('Retry-After', String(seconds));
      return sendPage(c, 429, signInPage(viewer, site.siteUrl, { kind: 'refused', text }));
    }
    // The response does not wait until the account is looked up: not even the time that it takes shows
    // whether there is one.
    if (site.requestLink(email)) return sendPage(c, 200, linkSentPage(viewer));
    const text = 'Too many people want to sign in right now. Try again in a minute.';
    return sendPage(c, 503, signInPage(viewer, site.siteUrl, { kind: 'refused', text }));
  });
}

/** What the requests of a client are counted under. */
function clientOf(c: Context<FormEnv>, { trustedProxies }: Site): string {
  const { remoteAddress } = c.env.incoming.socket;
  return clientAddress(remoteAddress, c.req.header('x-forwarded-for'), trustedProxies);
}

/** Adds the page that an e-mailed link opens, and the action of its button, which signs in. */
function addLink(app: App, site: Site): void {
  const { database, sessionCookie, countSignIn } = site;

  app.get(PATHS.link, (c) => {
    const link = c.req.query('token') ?? '';
    if (!LINK.test(link)) {
      if (c.get('viewer').account !== undefined) return redirect(c, PATHS.signIn);
      const text =
        'This link is not complete. Copy all of it from the e-mail, or ask for another one.';
      return sendPage(c, 400, signInPage(c.get('viewer'), site.siteUrl, { kind: 'refused', text }));
    }
    return sendPage(c, 200, linkPage(c.get('viewer'), link));
  });
  app.post(PATHS.link, readForm, async (c) => {
    const { at, viewer, form } = c.var;
    const link = fieldOf(form, 'link');
    const id = LINK.test(link) ? await openLink(database, link, at) : undefined;
    const account = id === undefined ? undefined : await findAccount(database, id);
    countSignIn(account === undefined ? 'refused' : 'done');
    if (account === undefined) {
      const text = `This link was used before, or is older than ${LINK_MINUTES} minutes. Ask for another one.`;
      return sendPage(c, 410, signInPage(viewer, site.siteUrl, { kind: 'refused', text }));
    }
    // An existing session is always ended: somebody else may have planted its cookie.
    const before = sessionCookie.read(c);
    if (before !== undefined) await endSession(database, before);
    const session = await createSession(database, account.id, at);
    sessionCookie.write(c, session, SESSION_SECONDS);
    return redirect(c, account.role === 'moderator' ? PATHS.review : PATHS.keys);
  });
}

function addSignOut(app: App, { database, sessionCookie }: Site): void {
  app.post(PATHS.signOut, needsAccount, readForm, async (c) => {
    const session = sessionCookie.read(c);
    if (session !== undefined) await endSession(database, session);
    sessionCookie.write(c, '', 0);
    return redirect(c, PATHS.signIn);
  });
}
