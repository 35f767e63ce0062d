/** The pages to sign in by an e-mailed link, and the page that sends visitors to the site instead. */
import { PATHS } from '../../paths.ts';
import { type Html, html } from './html.ts';
import { makePage, type Notice, tokenField, type Viewer } from './layout.ts';

export function signInPage(viewer: Viewer, notice?: Notice): Html {
  return makePage({
    title: 'Sign in',
    viewer,
    notice,
    body: html`
      <form class="wide narrow" method="post" action="${PATHS.signIn}">
        ${tokenField(viewer)}
        <label for="email">E-mail address of your account</label>
        <p class="hint" id="email-hint">We send you a link to sign in with. It works once, within 15 minutes.</p>
        <input id="email" name="email" type="email" maxlength="320" required autocomplete="email" aria-describedby="email-hint">
        <button>Send the link</button>
      </form>`,
  });
}

/** The same page for every address, so that nobody learns whether the address has an account. */
export function linkSentPage(viewer: Viewer): Html {
  return makePage({
    title: 'Check your inbox',
    viewer,
    body: html`
      <p>If the address belongs to an account, a link is on its way. It works for 15 minutes.</p>
      <p><a href="${PATHS.signIn}">Request another link</a></p>`,
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
      <p>Press the button to sign in. If you did not request this link, close the page.</p>
      <form method="post" action="${PATHS.link}">
        ${tokenField(viewer)}
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
    body: html`<p>You need an account of <a href="${siteUrl}">the catalogue’s web site</a>. Sign in there, then come back.</p>`,
  });
}
