/** The page of an account: its keys with what can be done to each, and the form that asks for one. */
import type { KeyRow } from '../../lifecycle/key-lists.ts';
import { LONGEST_ADDRESS, MOST_PENDING } from '../../lifecycle/own-keys.ts';
import { LONGEST_TEXT } from '../../lifecycle/requests.ts';
import { type Html, html } from '../html.ts';
import {
  day,
  descriptions,
  makePage,
  moment,
  type Notice,
  PATHS,
  tokenField,
  type Viewer,
  webLink,
} from './layout.ts';

export const STATE_NAMES: Readonly<Record<KeyRow['state'], string>> = {
  pending: 'Pending review',
  approved: 'Approved',
  rejected: 'Rejected',
  revoked: 'Revoked',
};

/** What stood in the form when it was refused. */
export interface Draft {
  readonly purpose: string;
  readonly websiteUrl: string;
}

export interface AccountPage {
  readonly viewer: Viewer;
  readonly keys: readonly KeyRow[];
  readonly notice?: Notice | undefined;
  readonly draft?: Draft | undefined;
}

export function accountPage({ viewer, keys, notice, draft }: AccountPage): Html {
  const newestFirst = keys.toSorted((a, b) => b.id - a.id);
  return makePage({
    title: 'API keys',
    viewer,
    path: PATHS.keys,
    notice,
    body: html`
      <section aria-labelledby="your-keys">
        <h2 id="your-keys">Your keys and requests</h2>
        ${
          keys.length === 0
            ? html`<p>You have none yet. Ask for one below.</p>`
            : html`<ul class="cards">${newestFirst.map((key) => keyCard(key, viewer))}</ul>`
        }
      </section>
      <section aria-labelledby="request">
        <h2 id="request">Request a key</h2>
        ${requestForm(viewer, keys, draft)}
      </section>`,
  });
}

/** A key is called a request until it is there. */
export function nameOf({ id, revealed_at }: KeyRow): string {
  return `${revealed_at === null ? 'Request' : 'Key'} ${id}`;
}

/** The state of a key as a badge. */
export function stateBadge(state: KeyRow['state']): Html {
  return html`<span class="state ${state}">${STATE_NAMES[state]}</span>`;
}

function keyCard(key: KeyRow, viewer: Viewer): Html {
  const isRevealed = key.revealed_at !== null;
  const wasApproved = key.state === 'approved' || key.state === 'revoked';
  return html`<li class="card" id="key-${key.id}">
          <h3>${nameOf(key)} ${stateBadge(key.state)}</h3>
          ${descriptions([
            ['Reason', key.reason ?? undefined],
            [
              'Starts with',
              key.key_prefix === null ? undefined : html`<code>${key.key_prefix}…</code>`,
            ],
            ['Limit', wasApproved ? `${key.limit_per_minute} requests a minute` : undefined],
            ['Last use', day(key.last_used_on)],
            ['Purpose', key.purpose],
            ['Website', key.website_url === '' ? undefined : webLink(key.website_url)],
            ['Requested', moment(key.requested_at)],
            ['Revoked', moment(key.revoked_at)],
          ])}
          ${key.state === 'approved' && actions(key, viewer, isRevealed)}
        </li>`;
}

function actions(key: KeyRow, viewer: Viewer, isRevealed: boolean): Html {
  const form = (action: string, inside: Html) =>
    html`<form method="post" action="${PATHS.keys}/${key.id}/${action}">${tokenField(viewer)}${inside}</form>`;
  const reveal = form(
    'reveal',
    html`<p id="reveal-${key.id}">The key is made when you press the button, and shown once: have a safe place for it ready.</p>
            <button aria-describedby="reveal-${key.id}">Reveal key<span class="unseen"> ${key.id}</span></button>`,
  );
  const rotate = html`<details>
            <summary>Rotate<span class="unseen"> key ${key.id}</span></summary>
            ${form(
              'rotate',
              html`<input type="hidden" name="prefix" value="${key.key_prefix ?? ''}">
              <p>You get a new key at once, shown once. The old one stops working within seconds.</p>
              <button>Rotate key ${key.id}</button>`,
            )}
          </details>`;
  return html`<div class="actions">
          ${isRevealed ? rotate : reveal}
          <details>
            <summary>Revoke<span class="unseen"> key ${key.id}</span></summary>
            ${form(
              'revoke',
              html`<p>It stops working for good within seconds. This cannot be undone.</p>
              <button class="danger">Revoke key ${key.id}</button>`,
            )}
          </details>
          </div>`;
}

function requestForm(viewer: Viewer, keys: readonly KeyRow[], draft: Draft | undefined): Html {
  const pending = keys.filter(({ state }) => state === 'pending').length;
  if (pending >= MOST_PENDING) {
    return html`<p>You have ${pending} requests under review. When one of them is decided you can ask for another key.</p>`;
  }
  return html`<form class="wide" method="post" action="${PATHS.keys}">
          ${tokenField(viewer)}
          <label for="purpose">What are you building?</label>
          <p class="hint" id="purpose-hint">A moderator reads this. If you need a higher limit of requests a minute, say so here, and why.</p>
          <textarea id="purpose" name="purpose" rows="5" maxlength="${LONGEST_TEXT}" required aria-describedby="purpose-hint">
${draft?.purpose ?? ''}</textarea>
          <label for="website-url">Website of the project</label>
          <p class="hint" id="website-hint">An address such as https://example.org; a code repository will do.</p>
          <input id="website-url" name="website_url" type="url" maxlength="${LONGEST_ADDRESS}" required autocomplete="url" aria-describedby="website-hint" value="${draft?.websiteUrl ?? ''}">
          <button>Request a key</button>
        </form>`;
}
