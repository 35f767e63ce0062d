/** The form to request a key, and the page to edit a request that waits for review. */
import { LARGEST_LIMIT } from '../../../format/keys-file.ts';
import { type Html, html } from '../../../pages/html.ts';
import { shownNumber } from '../../../pages/shown-values.ts';
import { LONGEST_ADDRESS } from '../../lifecycle/own-requests.ts';
import { LONGEST_KEY_NAME, LONGEST_TEXT } from '../../lifecycle/typed-text.ts';
import { ownKeyPath, PATHS } from '../../paths.ts';
import { makePage, type Notice, tokenField, type Viewer } from './layout.ts';

/** What the fields of the form contain, as people typed it. */
export interface Draft {
  readonly name: string;
  readonly purpose: string;
  readonly websiteUrl: string;
  readonly wantedLimit: string;
}

export interface RequestForm {
  readonly viewer: Viewer;
  /** The path to which the form is sent. */
  readonly action: string;
  readonly button: string;
  /** In requests per minute. */
  readonly defaultLimit: number;
  readonly draft?: Draft | undefined;
}

export function requestForm(form: RequestForm): Html {
  const { viewer, action, button, defaultLimit, draft } = form;
  return html`<form class="wide" method="post" action="${action}">
          ${tokenField(viewer)}
          <label for="purpose">What are you building?</label>
          <p class="hint" id="purpose-hint">A moderator reads this to decide.</p>
          <textarea id="purpose" name="purpose" rows="5" maxlength="${LONGEST_TEXT}" required aria-describedby="purpose-hint">
${draft?.purpose ?? ''}</textarea>
          <label for="website-url">Website of the project</label>
          <p class="hint" id="website-hint">For example https://example.org. A code repository is fine.</p>
          <input id="website-url" name="website_url" type="url" maxlength="${LONGEST_ADDRESS}" required autocomplete="url" aria-describedby="website-hint" value="${draft?.websiteUrl ?? ''}">
          <label for="wanted-limit">Requests per minute</label>
          <p class="hint" id="limit-hint">${shownNumber(defaultLimit)} are enough for most projects. If you need more, say why above.</p>
          <input id="wanted-limit" name="wanted_limit" type="number" inputmode="numeric" min="1" max="${LARGEST_LIMIT}" required aria-describedby="limit-hint" value="${draft?.wantedLimit ?? defaultLimit}">
          <label for="name">Name of the key (optional)</label>
          <p class="hint" id="name-hint">For you, to tell your keys apart. For example: Shelf app, production.</p>
          <input id="name" name="name" maxlength="${LONGEST_KEY_NAME}" autocomplete="off" aria-describedby="name-hint" value="${draft?.name ?? ''}">
          <button>${button}</button>
        </form>`;
}

/** The page with the form to edit a request. */
export function editPage({
  viewer,
  id,
  notice,
  ...form
}: Pick<RequestForm, 'viewer' | 'defaultLimit' | 'draft'> & {
  readonly id: number;
  readonly notice?: Notice | undefined;
}): Html {
  return makePage({
    title: `Edit request ${id}`,
    viewer,
    notice,
    body: html`
      <p>Moderators see the new text at once.</p>
      ${requestForm({ viewer, ...form, action: ownKeyPath(id, 'edit'), button: 'Save changes' })}
      <p class="back"><a href="${PATHS.keys}">Back to your keys, without changes</a></p>`,
  });
}
