/** The pages to sign in by an e-mailed link, and the page that sends visitors to the site instead. */

import { type Html, html } from '../../../lib/pages/html.ts';
import { contactLink, type SiteProfile } from '../../../lib/pages/layout.ts';
import { PATHS } from '../../paths.ts';
import { LINK_MINUTES } from '../../tables/sign-in-links.ts';
import type { RefusedAssertion } from '../visitors/assertion.ts';
import { framedPage, type Notice, type Viewer } from './layout.ts';

/** @param site.signInNote what the operator wants visitors to know; '' for nothing */
export function signInPage(
  viewer: Viewer,
  { siteProfile, signInNote }: { readonly siteProfile: SiteProfile; readonly signInNote: string },
  notice?: Notice,
): Html {
  return framedPage({
    title: 'Sign in',
    viewer,
    notice,
    body: html`
      <p>Type the e-mail address of your account. We send you a link that signs you in.</p>
      ${signInNote !== '' && html`<p class="card">${signInNote}</p>`}
      <p>No account yet? Ask for one at <a href="${siteProfile.url}">${nameOf(siteProfile)}</a>.</p>
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
  return framedPage({
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
  return framedPage({
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

interface SiteSignIn {
  readonly siteProfile: SiteProfile;
  /** Where the site signs users in; '' if only the address of the site is known. */
  readonly signInUrl: string;
  /** Whether the site then sends them back here. */
  readonly comesBack: boolean;
}

/** What the visitor reads behind "Your sign-in at …" if the site's assertion is refused. The log has the details. */
const REFUSALS: Readonly<Record<RefusedAssertion['reason'], string>> = {
  expired: 'has expired. Sign in again.',
  several:
    'was refused: your browser has sent two at once. Delete the cookies of both websites, then sign in again.',
  account: 'was refused: your account there is not known here.',
  audience: 'was refused: it is meant for another service.',
  signature: 'was refused: it has no valid signature.',
  claims: 'was refused: it is not complete.',
};
/** Reasons that a visitor can do something about. */
const MENDED_BY_VISITORS: readonly RefusedAssertion['reason'][] = ['expired', 'several'];

/** The page for visitors who are not signed in, if the site signs users in. */
export function siteSignInPage(viewer: Viewer, site: SiteSignIn): Html {
  const { siteProfile, signInUrl, comesBack } = site;
  const name = nameOf(siteProfile);
  const reason = viewer.refused?.reason;
  const back = comesBack ? 'and you come back here' : 'then come back to this page';
  const invitation = html`
      <p>Your account of ${name} is also your account here. Sign in there, ${back}.</p>
      <p><a class="button" href="${signInUrl || siteProfile.url}">Go to ${name}</a></p>`;
  const contact = siteProfile.contact === '' ? siteProfile.url : contactLink(siteProfile.contact);
  const help = html`
      <p>Signing in again will not change that. <a href="${contact}">Tell us</a>: our log says why it was refused.</p>`;
  return framedPage({
    title: 'Sign in',
    viewer,
    notice: reason && { kind: 'refused', text: `Your sign-in at ${name} ${REFUSALS[reason]}` },
    body: reason === undefined || MENDED_BY_VISITORS.includes(reason) ? invitation : help,
  });
}

function nameOf({ name }: SiteProfile): string {
  return name || 'the catalogue’s website';
}
