/**
 * The routes to sign in by an e-mailed link and to sign out. If the site signs users in, only a page
 * that sends visitors to the site.
 */
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { LRUCache } from 'lru-cache';
import { clientAddress } from '../../../lib/program/client-address.ts';
import { RETURN_PLACE } from '../../../lib/program/environment/variables.ts';
import { createSession, endSession, SESSION_SECONDS } from '../../lifecycle/sign-in.ts';
import { PATHS, returnPath } from '../../paths.ts';
import { findAccount } from '../../tables/accounts.ts';
import { LINK_MINUTES, openLink } from '../../tables/sign-in-links.ts';
import { linkPage, linkSentPage, signInPage, siteSignInPage } from '../pages/sign-in-pages.ts';
import { fieldOf, needsAccount, readForm } from './forms.ts';
import { type App, type FormEnv, redirect, type Site, sendPage } from './replies.ts';

/** A complete token. With any other, the link was cut off, for example at a line break. */
const LINK = /^[\w-]{43}$/;
const WINDOW_MS = 15 * 60_000;
/** The most links that a client may request within a window. */
const MOST_OF_CLIENT = 20;
/** Beyond this, the client that was seen the longest time ago is forgotten. */
const MOST_CLIENTS = 20_000;

export function addSignInRoutes(app: App, site: Site): void {
  if (site.checkAssertion !== undefined) {
    app.get(PATHS.signIn, (c) => {
      const viewer = c.get('viewer');
      const path = returnPath(c.req.query('return'));
      if (viewer.account !== undefined) return redirect(c, path);
      // Only a click leads to the site, so that no browser goes back and forth with an assertion that is refused.
      const returnTo = encodeURIComponent(site.publicUrl + path);
      const signInUrl = site.signInUrl.replaceAll(RETURN_PLACE, () => returnTo);
      const comesBack = site.signInUrl.includes(RETURN_PLACE);
      const page = siteSignInPage(viewer, { ...site, signInUrl, comesBack });
      return sendPage(c, viewer.refused === undefined ? 200 : 401, page);
    });
    return;
  }
  addLinkRequest(app, site);
  addLink(app, site);
  addSignOut(app, site);
}

/** Adds the form to request a link. */
function addLinkRequest(app: App, site: Site): void {
  const waitingTime = makeLinkLimits();
  app.get(PATHS.signIn, (c) => {
    const viewer = c.get('viewer');
    if (viewer.account !== undefined) return redirect(c, returnPath(c.req.query('return')));
    return sendPage(c, 200, signInPage(viewer, site));
  });
  app.post(PATHS.signIn, readForm, (c) => {
    const email = fieldOf(c.get('form'), 'email').trim();
    if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 320) {
      const text = 'That is not an e-mail address. It looks like name@example.org.';
      return refuseSignIn(c, site, 422, text);
    }
    const seconds = waitingTime(clientOf(c, site), performance.now());
    if (seconds !== undefined) {
      const minutes = Math.ceil(seconds / 60);
      const when = minutes === 1 ? 'a minute' : `${minutes} minutes`;
      const text = `Too many links were requested from your network. Ask for the next one in ${when}.`;
      c.header('Retry-After', String(seconds));
      return refuseSignIn(c, site, 429, text);
    }
    // The response does not wait until the account is looked up: not even the time that it takes shows
    // whether there is one.
    if (site.requestLink(email)) return sendPage(c, 200, linkSentPage(c.get('viewer')));
    const text = 'Too many people want to sign in right now. Try again in a minute.';
    return refuseSignIn(c, site, 503, text);
  });
}

/**
 * Limits how many links a client may request, for any mailboxes. Requests count before anything is looked
 * up, so the limit tells nobody whether a mailbox has an account. A restart begins with empty windows.
 * @returns a function that counts a request at a time in milliseconds. It returns undefined if a link may be
 * created, and otherwise the seconds until the next one may
 */
function makeLinkLimits() {
  /** The times of the requests that were admitted, by client. */
  const windows = new LRUCache<string, number[]>({ max: MOST_CLIENTS });
  return (client: string, now: number): number | undefined => {
    const times = (windows.get(client) ?? []).filter((time) => time > now - WINDOW_MS);
    windows.set(client, times);
    if (times.length >= MOST_OF_CLIENT) return Math.ceil((times[0] + WINDOW_MS - now) / 1000);
    times.push(now);
    return undefined;
  };
}

/** What the requests of a client are counted under: an IPv4 address, or the /64 of an IPv6 one. */
function clientOf(c: Context<FormEnv>, { trustedProxies }: Site): string {
  const { remoteAddress } = c.env.incoming.socket;
  return clientAddress(remoteAddress, c.req.header('x-forwarded-for'), trustedProxies);
}

/** The form to request a link, with the reason why there is no link or the one that was used is refused. */
function refuseSignIn(
  c: Context,
  site: Site,
  status: ContentfulStatusCode,
  text: string,
): Response {
  return sendPage(c, status, signInPage(c.get('viewer'), site, { kind: 'refused', text }));
}

/** Adds the page that an e-mailed link opens, and the action of its button, which signs in. */
function addLink(app: App, site: Site): void {
  const { database, sessionCookie, countSignIn } = site;

  app.get(PATHS.link, (c) => {
    const link = c.req.query('token') ?? '';
    if (LINK.test(link)) return sendPage(c, 200, linkPage(c.get('viewer'), link));
    if (c.get('viewer').account !== undefined) return redirect(c, PATHS.signIn);
    const text =
      'This link is not complete. Copy all of it from the e-mail, or ask for another one.';
    return refuseSignIn(c, site, 400, text);
  });
  app.post(PATHS.link, readForm, async (c) => {
    const { at, form } = c.var;
    const link = fieldOf(form, 'link');
    const id = LINK.test(link) ? await openLink(database, link, at) : undefined;
    const account = id === undefined ? undefined : await findAccount(database, id);
    countSignIn(account === undefined ? 'refused' : 'done');
    if (account === undefined) {
      const text = `This link was used before, or is older than ${LINK_MINUTES} minutes. Ask for another one.`;
      return refuseSignIn(c, site, 410, text);
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
