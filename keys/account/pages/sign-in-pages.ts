/** The pages of signing in by a link that is e-mailed to an account's address. */
import { type Html, html } from '../html.ts';
import { makePage, type Notice, PATHS, tokenField, type Viewer } from './layout.ts';

export function signInPage(viewer: Viewer, notice?: Notice): Html {
  return makePage({
    title: 'Sign in',
    viewer,
    notice,
    body: html`
      <form class="wide narrow" method="post" action="${PATHS.signIn}">
        ${tokenField(viewer)}
        <label for="email">E-mail address of your account</label>
        <p class="hint" id="email-hint">You get a link to sign in with. It holds for 15 minutes and works once.</p>
        <input id="email" name="email" type="email" maxlength="320" required autocomplete="email" aria-describedby="email-hint">
        <button>Send the link</button>
      </form>`,
  });
}

/** The same for every address: whether it is an account's is nobody's business. */
export function linkSentPage(viewer: Viewer): Html {
  return makePage({
    title: 'Look into your mailbox',
    viewer,
    body: html`
      <p>If the address belongs to an account, a link is on its way to it. It holds for 15 minutes.</p>
      <p><a href="${PATHS.signIn}">Ask for another link</a></p>`,
  });
}

/** What the e-mailed link opens. Looking at it uses nothing up: scanners of mail open links too. */
export function linkPage(viewer: Viewer, link: string): Html {
  return makePage({
    title: 'Sign in',
    viewer,
    body: html`
      <p>Press the button to sign in with the link from your mail. Do so only if you asked for it.</p>
      <form method="post" action="${PATHS.link}">
        ${tokenField(viewer)}
        <input type="hidden" name="link" value="${link}">
        <button>Sign in</button>
      </form>`,
  });
}

/** Where the site itself says who is logged in. */
export function siteSignInPage(viewer: Viewer, siteUrl: string): Html {
  return makePage({
    title: 'Sign in',
    viewer,
    body: html`<p>These pages are for accounts of <a href="${siteUrl}">the catalogue’s web site</a>: sign in there, then come back.</p>`,
  });
}
