/** The form to request a key. */
import { type Html, html } from '../../../pages/html.ts';
import { shownNumber } from '../../../pages/shown-values.ts';
import { LONGEST_ADDRESS } from '../../lifecycle/own-requests.ts';
import { LONGEST_KEY_NAME, LONGEST_TEXT } from '../../lifecycle/typed-text.ts';
import { PATHS } from '../../paths.ts';
import { tokenField, type Viewer } from './layout.ts';

/** What the fields of the form contain, as people typed it. */
export interface Draft {
  readonly name: string;
  readonly purpose: string;
  readonly websiteUrl: string;
}

export interface RequestForm {
  readonly viewer: Viewer;
  /** In requests per minute. */
  readonly defaultLimit: number;
  readonly draft?: Draft | undefined;
}

export function requestForm(form: RequestForm): Html {
  const { viewer, defaultLimit, draft } = form;
  return html`<form class="wide" method="post" action="${PATHS.keys}">
          ${tokenField(viewer)}
          <label for="purpose">What are you building?</label>
          <p class="hint" id="purpose-hint">A moderator reads this to decide. A key allows ${shownNumber(defaultLimit)} requests per minute, enough for most projects. If you need more, say how many, and why.</p>
          <textarea id="purpose" name="purpose" rows="5" maxlength="${LONGEST_TEXT}" required aria-describedby="purpose-hint">
${draft?.purpose ?? ''}</textarea>
          <label for="website-url">Website of the project</label>
          <p class="hint" id="website-hint">For example https://example.org. A code repository is fine.</p>
          <input id="website-url" name="website_url" type="url" maxlength="${LONGEST_ADDRESS}" required autocomplete="url" aria-describedby="website-hint" value="${draft?.websiteUrl ?? ''}">
          <label for="name">Name of the key (optional)</label>
          <p class="hint" id="name-hint">For you, to tell your keys apart. For example: Shelf app, production.</p>
          <input id="name" name="name" maxlength="${LONGEST_KEY_NAME}" autocomplete="off" aria-describedby="name-hint" value="${draft?.name ?? ''}">
          <button>Request a key</button>
        </form>`;
}
