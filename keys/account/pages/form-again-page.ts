/**
 * The page that gives back a form whose visitor has signed in or out since it was opened. It contains
 * what was typed, so that nothing is lost, and the visitor's present token.
 */
import { type Html, html } from '../../../pages/html.ts';
import { PATHS } from '../../paths.ts';
import { descriptions, makePage, TOKEN_FIELD, tokenField, type Viewer } from './layout.ts';

/** The fields that people type into, with the names that the page shows. */
const TYPED = new Map([
  ['purpose', 'What are you building?'],
  ['website_url', 'Website'],
  ['limit', 'Requests per minute'],
  ['name', 'Name'],
  ['email', 'E-mail address'],
  ['reason', 'Reason'],
]);

/** Whether somebody has typed anything into a form. */
export function hasTypedText(form: URLSearchParams): boolean {
  return [...form].some(([name, value]) => TYPED.has(name) && value !== '');
}

export interface RefusedForm {
  /** The path to which the form was sent. */
  readonly action: string;
  readonly form: URLSearchParams;
  /** Whether the visitor must sign in before the form can be sent again. */
  readonly needsSignIn: boolean;
}

export function formAgainPage(viewer: Viewer, { action, form, needsSignIn }: RefusedForm): Html {
  const fields = [...form].filter(([name]) => name !== TOKEN_FIELD);
  return makePage({
    title: needsSignIn ? 'Sign in again' : 'Send it again',
    viewer,
    body: html`
      <p>${
        needsSignIn
          ? html`You are no longer signed in, so nothing was changed. Your text is still here: <a href="${PATHS.signIn}" target="_blank">sign in on another tab</a>, then come back to this one and send it.`
          : 'You have signed in or out since you opened the form, so nothing was changed. Check what you typed, then send it again.'
      }</p>
      <form class="wide" method="post" action="${action}">
        ${tokenField(viewer)}
        ${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
        ${descriptions(
          fields.flatMap(([name, value]) => {
            const shown = TYPED.get(name);
            return shown === undefined ? [] : [[shown, value]];
          }),
        )}
        <button>Send it again</button>
      </form>`,
  });
}
