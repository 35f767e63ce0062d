/** The pages to sign in by an e-mailed link, and the page that sends visitors to the site instead. */

import { type Html, html } from '../../../lib/pages/html.ts';
import { PATHS } from '../../paths.ts';
import { LINK_MINUTES } from '../../tables/sign-in-links.ts';
import { makePage, type Notice, type Viewer } from './layout.ts';

/** @param site.signInNote what the operator wants visitors to know; '' for nothing */
export function signInPage(
  viewer: Viewer,
  { siteUrl, signInNote }: { readonly siteUrl: string; readonly signInNote: string },
  notice?: Notice,
): Html {
  return makePage({
    title: 'Sign in',
    viewer,
    notice,
    body: html`
      <p>Type the e-mail address of your account. We send you a link that signs you in.</p>
      ${signInNote !== '' && html`<p class="card">${signInNote}</p>`}
      <p>No account yet? Ask for one at <a href="${siteUrl}">the catalogue’s website</a>.</p>
      <form method="post" action="${PATHS.signIn}">
        <label for="email">E-mail address</label>
        <p class="faint" id="email-hint">There is no password. The link works once, within ${LINK_MINUTES} minutes.</p>
        <input id="email" name="email" type="email" maxlength="320" required autocomplete="email" aria-describedby="email-hint">
        <button>E-mail me a link</button>
      </form>`,
  });
}

/** The same page for every address, so that nobody learns whether the address has an account. */
export function linkSentPage(viewer: Viewer): Html {
  return makePage({
    title: 'Check your inbox',
    viewer,
    body: html`
      <p>If the address belongs to an account, a link is on its way. Open it within ${LINK_MINUTES} minutes.</p>
      <p>Nothing there after a minute? Look in your spam folder, or check the address and <a href="${PATHS.signIn}">ask for another link</a>.</p>`,
  });
}

/**
 * The page that an e-mailed link opens. Opening the page does not use the link up, because mail
 * scanners open links too.
 */
export function linkPage(viewer: Viewer, link: string): Html {
  return makePage({
    title: 'Sign in',
    viewer,
    body: html`
      <p>One more click, and you are signed in. If you didn’t ask for this link, close the page.</p>
      <form method="post" action="${PATHS.link}">
        <input type="hidden" name="link" value="${link}">
        <button>Sign in</button>
      </form>`,
  });
}

/** The page for visitors who are not signed in, if the site signs users in. */
export function siteSignInPage(viewer: Viewer, siteUrl: string): Html {
  return makePage({
    title: 'Sign in',
    viewer,
    body: html`
      <p>Your account of the catalogue’s website is also your account here. Sign in there, then come back to this page.</p>
      <p><a class="button" href="${siteUrl}">Go to the catalogue’s website</a></p>`,
  });
}
